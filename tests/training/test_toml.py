"""Recipes as TOML: what is printed is what is read."""

import tomllib

import pytest

from treetext.data import BadInput
from treetext.models import find_model, models
from treetext.training import load_recipe, load_template, recipe_names, to_toml, to_values


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_round_trip(name, tmp_path):
    path, recipe = tmp_path / "recipe.toml", load_template(name)
    path.write_text(to_toml(recipe), encoding="utf-8")
    assert load_template(path) == recipe
    placed = {} if recipe.data.generated else {"data.path": "somewhere"}
    whole = load_recipe(name, placed)
    path.write_text(to_toml(whole), encoding="utf-8")
    assert load_recipe(path) == whole
    assert tomllib.loads(to_toml(whole)) == without_none(to_values(whole))


def without_none(values):
    return {
        key: without_none(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value is not None
    }


@pytest.mark.parametrize("name", recipe_names())
def test_templates_have_no_place(name):
    recipe = load_template(name)
    assert to_values(recipe)["data"].get("path") is None
    assert "path" not in tomllib.loads(to_toml(recipe))["data"]
    placed = {} if recipe.data.generated else {"data.path": "somewhere"}
    whole = to_values(load_recipe(name, placed))
    assert {**whole, "data": {**whole["data"], "path": None}} == {
        **to_values(recipe),
        "data": {**to_values(recipe)["data"], "path": None},
    }


def test_templates_may_lack_a_path_and_nothing_else():
    with pytest.raises(BadInput, match="unknown; did you mean hidden"):
        load_template("documents/both", {"model.hiden": 1})
    with pytest.raises(BadInput, match=r"^documents/both: data\.format: expected one of "):
        load_template("documents/both", {"data.format": "cvs"})
    assert load_template("documents/both", {"data.path": "x"}).data.path == "x"
    split = load_template("documents/both", {"data.train": "a", "data.test": "b"})
    assert split.data.places == {"train": "a", "test": "b"}
    assert to_values(split)["data"]["path"] is None
    assert load_template("hidden-trees/both") == load_recipe("hidden-trees/both")


@pytest.mark.parametrize("kind", models())
def test_every_kind_of_model(kind, tmp_path):
    second = {"second": "b"} if find_model({"kind": kind}).task.name == "pairs" else {}
    recipe = load_recipe({"data": {"format": "csv", "path": "x", **second}, "model": {"kind": kind}})
    path = tmp_path / "recipe.toml"
    path.write_text(to_toml(recipe), encoding="utf-8")
    assert load_recipe(path) == recipe


STRANGE = 'a "quoted" \\ back\nslash\ttab \x7f \x01 ünï \u2028 \U0001f333 # no comment'


def test_strange_strings_and_keys(tmp_path):
    classes = {"a b": "one", "ü": "two", STRANGE: STRANGE, "plain-key_1": "1", "1.5": "dot", "": "empty"}
    values = {
        "name": STRANGE,
        "data": {"format": "csv", "path": STRANGE, "classes": classes, "split": (0.5, 0.25, 0.25)},
        "model": {"kind": "majority"},
        "training": {"clip": None, "l2": 1e-7, "objectives": {"cross_entropy": 2}},
    }
    recipe = load_recipe(values)
    path = tmp_path / "recipe.toml"
    path.write_text(to_toml(recipe), encoding="utf-8")
    again = load_recipe(path)
    assert again == recipe
    assert again.data.classes == classes
    assert again.training.l2 == 1e-7
