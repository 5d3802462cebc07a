"""Recipes and corpora."""

import json
import tomllib
from typing import get_args

import pytest
from treetext.corpora import Data

from tests.cli.running import CORPUS, invoke, options, refusal
from treetext.cli._data import FORMATS
from treetext.training import load_recipe, recipe_names


def test_recipes_are_listed():
    found = {recipe["name"]: recipe for recipe in json.loads(invoke("recipes", "--json").stdout)}
    assert list(found) == recipe_names()
    [line] = [line for line in invoke("recipes").stdout.splitlines() if line.startswith("documents/both ")]
    assert line.split(maxsplit=1) == ["documents/both", found["documents/both"]["about"]]


@pytest.mark.parametrize("name", recipe_names())
def test_a_printed_recipe_is_the_recipe(name, tmp_path):
    """As TOML, which then works as a file, and as JSON."""
    place = {} if name.startswith("hidden-trees") else {"data.path": "here"}
    printed = invoke("recipes", name).stdout
    path = tmp_path / "recipe.toml"
    path.write_text(printed)
    assert load_recipe(path, place).model_dump(exclude={"data": {"path"}}) == load_recipe(name, place).model_dump(
        exclude={"data": {"path"}}
    )
    values = json.loads(invoke("recipes", name, "--json").stdout)
    assert "PATH" not in printed
    assert values["model"]["embedding"] == tomllib.loads(printed)["model"]["embedding"]


def test_a_recipe_with_settings():
    settings = options({"model.hidden": 77, "data.classes": '{"a b" = "c\\u007f", d = "é"}'})
    values = tomllib.loads(invoke("recipes", "documents/both", *settings).stdout)
    assert values["model"]["hidden"] == 77
    assert values["data"]["classes"] == {"a b": "c\x7f", "d": "é"}


def test_recipe_refusals():
    assert "did you mean hidden?" in refusal("recipes", "hidden-trees/both", "--set", "model.hiden=3")
    assert "did you mean documents/both?" in refusal("recipes", "documents/bot")


def test_every_format_is_listed():
    assert set(FORMATS) == set(get_args(Data.model_fields["format"].annotation))
    printed = invoke("data").stdout
    assert all(any(line.startswith(f"{name} ") for line in printed.splitlines()) for name in FORMATS)
    assert json.loads(invoke("data", "--json").stdout) == FORMATS


def test_counts_of_a_recipes_data():
    result = json.loads(invoke("data", "hidden-trees/both", "--json", *options(CORPUS)).stdout)
    assert {part["split"]: part["documents"] for part in result["splits"]} == {
        "train": 60, "dev": 20, "test": 30, "all": 110
    }  # fmt: skip
    assert result["splits"][-1]["classes"] == {"p1": 55, "p2": 55}
    printed = invoke("data", "hidden-trees", *options(CORPUS)).stdout
    assert printed.splitlines()[1].split()[:2] == ["train", "60"]
    assert result["fingerprint"].startswith(printed.split()[-1])


def test_counts_of_own_files(tmp_path, pair_file):
    path = tmp_path / "mine.csv"
    path.write_text('body,stars\n"One two. Three.",5\n\n"",1\nfour,5\n')
    settings = options({"data.text": "body", "data.label": "stars", "data.split": [1, 0, 0]})
    for name in ("csv", "documents/none"):
        result = json.loads(invoke("data", name, "--data", path, "--json", *settings).stdout)
        [train, _] = result["splits"]
        assert (train["documents"], train["words"], train["sentences"], train["empty"]) == (3, 2.0, 1.0, 1)
        assert train["classes"] == {"5": 2, "1": 1}
        assert result["notes"] == [f"{path}: 1 blank line left out"]
        assert result["vocabulary"] == 5
    done = invoke("data", "csv", "--data", path, *settings)
    assert done.stderr == f"{path}: 1 blank line left out\n"
    assert "2: 5 66.7%, 1 33.3%" in done.stdout
    pairs = ["--data", pair_file, "--set", "data.second=hypothesis"]
    assert json.loads(invoke("data", "csv", *pairs, "--json").stdout)["splits"][-1]["sentences"] == 2


def test_counts_of_snli(tmp_path):
    pairs = [{"sentence1": "A cat sleeps", "sentence2": "It rests", "gold_label": label} for label in "xyxyxyxyxy"]
    path = tmp_path / "snli_1.0_train.jsonl"
    path.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    splits = json.loads(invoke("data", "snli", "--data", path, "--json").stdout)["splits"]
    assert (splits[-1]["documents"], splits[-1]["sentences"], splits[-1]["words"]) == (10, 2.0, 5.0)


def test_data_refusals(tmp_path):
    assert "give it with --data" in refusal("data", "csv")
    assert "give it with --data" in refusal("data", "convote")
    assert "give it with --data" in refusal("data", "snli")
    assert "no such recipe" in refusal("data", "nonsense")
    assert "no such file or directory" in refusal("data", "convote", "--data", tmp_path / "none")
    assert "expected one of" in refusal("data", "hidden-trees", "--set", "data.language=nonsense", *options(CORPUS))
