"""Recipes for tests, and the messages of those that are refused."""

import pytest

from treetext.data import BadInput
from treetext.training import load_recipe

CSV = {"data": {"format": "csv", "path": "x.csv", "text": "text"}}
PAIRS_CSV = {"data": {"format": "csv", "path": "x.csv", "text": "first", "second": "second"}}


def packaged(name):
    """A recipe of the package, with a path where it needs one to be whole."""
    for path in ({}, {"data.path": "somewhere"}):
        try:
            return load_recipe(name, path)
        except BadInput as error:
            problem = error
    raise problem


def message(source, overrides=None, load=load_recipe):
    """The one line that refuses a recipe."""
    with pytest.raises(BadInput) as caught:
        load(source, overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


OLD = {
    "name": "old",
    "paper": 68.6,
    "data": {
        "format": "csv", "path": "x.csv", "text": "review", "second": None, "label": "stars", "delimiter": None,
        "quoting": True, "subset": None, "hidden_trees": {"train": 6000, "dev": 1000, "test": 1000},
    },
    "model": {"task": "documents", "hidden": 99},
    "vocabulary": {"min_count": 3, "vectors": "random"},
    "training": {"epochs": 3, "entropy": 0.15},
}  # fmt: skip
