"""Recipes and fitting."""

from treetext.training._corpus import Corpus, open_corpus
from treetext.training._evaluate import Evaluation, evaluate, predictions
from treetext.training._machine import machine
from treetext.training._recipe import Recipe, load_recipe, parse_overrides, recipe_names
from treetext.training._train import Interrupted, new_model, train
from treetext.training.toml import load_template, to_toml, to_values

__all__ = [
    "Corpus",
    "Evaluation",
    "Interrupted",
    "Recipe",
    "evaluate",
    "load_recipe",
    "load_template",
    "machine",
    "new_model",
    "open_corpus",
    "parse_overrides",
    "predictions",
    "recipe_names",
    "to_toml",
    "to_values",
    "train",
]
