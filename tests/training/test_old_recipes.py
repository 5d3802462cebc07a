"""Recipes of earlier versions are read."""

import pytest

from tests.training.recipes import CSV, OLD, message
from treetext.data import PAIRS, find_reader
from treetext.training import load_recipe, recipe_values


def test_whole_recipes_of_earlier_versions_keep_their_random_split():
    values = load_recipe({**CSV, "model": {"kind": "majority"}}).model_dump(mode="json")
    assert load_recipe(values).data.stratify
    del values["data"]["stratify"], values["data"]["encoding"]
    assert not load_recipe(values).data.stratify
    assert load_recipe(values, {"data.stratify": True}).data.stratify


def test_old_names(tmp_path):
    """As models of earlier versions carry them, with all options of all formats."""
    recipe = load_recipe(OLD)
    assert recipe.model.kind == "structured-documents"
    assert (recipe.model.hidden, recipe.model.vocabulary.min_count, recipe.model.vocabulary.vectors) == (
        99,
        3,
        "random",
    )
    assert recipe.training.objectives == {"cross_entropy": 1.0, "entropy": 0.15}
    assert (recipe.data.text, recipe.data.label, recipe.training.epochs) == ("review", "stars", 3)
    today = {
        "name": "old",
        "data": {"format": "csv", "path": "x.csv", "text": "review", "label": "stars"},
        "model": {
            "kind": "structured-documents",
            "hidden": 99,
            "vocabulary": {"min_count": 3, "vectors": "random"},
        },
        "training": {"epochs": 3, "objectives": {"entropy": 0.15}},
    }
    assert recipe == load_recipe(today)
    assert OLD["model"] == {"task": "documents", "hidden": 99}, "what was given is as it was"
    path = tmp_path / "old.toml"
    path.write_text(
        'base = "documents/both"\npaper = 5.0\n[data]\npath = "x"\n[model]\ntask = "documents"\n'
        "[vocabulary]\nmin_count = 7\n[training]\nentropy = 0.5\n"
    )
    mine = load_recipe(path)
    assert (mine.model.vocabulary.min_count, mine.training.objectives["entropy"]) == (7, 0.5)
    assert mine.model.vocabulary.vectors == "word2vec", "the rest is that of the base"


def test_old_names_of_generated_and_published_data():
    block = {**OLD["data"], "path": None}
    generated = load_recipe({**OLD, "data": {**block, "format": "hidden-trees"}}).data
    assert generated == find_reader("hidden-trees")(hidden_trees={"train": 6000, "dev": 1000, "test": 1000})
    hub = load_recipe({**OLD, "data": {**block, "format": "hub", "path": "owner/name", "subset": "plain"}}).data
    assert (hub.subset, hub.text, hub.label) == ("plain", "review", "stars")
    snli = {**block, "format": "snli", "path": "snli"}
    pairs = load_recipe({**OLD, "data": snli, "model": {"task": "pairs"}})
    assert (pairs.data.task, pairs.model.kind) == (PAIRS, "structured-pairs")
    unknown = {**OLD, "data": {**block, "format": "cvs"}}
    assert message(unknown).startswith("old: data.format: expected one of csv, ")


@pytest.mark.parametrize("weight", [0, 0.0, None])
def test_an_old_recipe_without_entropy(weight):
    recipe = load_recipe({**OLD, "training": {"entropy": weight}})
    assert recipe.training.objectives == {"cross_entropy": 1.0}


def test_old_names_replace_values_too():
    """Of an old name and today's, what is given last counts."""
    recipe = load_recipe({**OLD, "training": {"objectives": {"entropy": 0.3}}})
    assert load_recipe(recipe, {"training.entropy": 0.0}).training.objectives["entropy"] == 0
    assert load_recipe(recipe, {"training.entropy": 0.2}).training.objectives["entropy"] == 0.2
    assert load_recipe(OLD, {"training.objectives.entropy": 0.4}).training.objectives["entropy"] == 0.4
    assert load_recipe(recipe, {"vocabulary.min_count": 9}).model.vocabulary.min_count == 9
    assert load_recipe(OLD, {"model.vocabulary.min_count": 8}).model.vocabulary.min_count == 8
    both = {"vocabulary.min_count": 9, "model.vocabulary.min_count": 8}
    assert load_recipe(recipe, both).model.vocabulary.min_count == 8
    assert load_recipe(recipe, dict(reversed(both.items()))).model.vocabulary.min_count == 9
    assert message(recipe, {"model.task": "pairs"}) == "old: model.kind: the data are documents, got a model of pairs"
    old = {**OLD, "model": {"task": "documents"}, "training": {}}
    del old["vocabulary"]
    assert load_recipe(old, {"model.kind": "majority"}).model.kind == "majority"


def test_values_before_they_are_checked():
    values = recipe_values(OLD, {"model.nonsense": [1]})
    assert values["model"]["nonsense"] == [1]
    assert not {"paper", "vocabulary"} & set(values)
    recipe = load_recipe("hidden-trees/both")
    assert load_recipe(recipe_values(recipe)) == recipe
    assert recipe_values("hidden-trees/both")["name"] == "hidden-trees/both"
