"""The section [search] of a recipe is validated when the recipe is loaded."""

import tomllib

import pytest

from tests.training.recipes import CSV, message
from treetext.training import Range, load_recipe, load_template, recipe_names, to_toml

RECIPE = {"name": "mine", **CSV, "model": {"kind": "structured-documents"}}


def with_search(section):
    return {**RECIPE, "search": section}


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ({"training.lerning_rate": [1]}, "training.lerning_rate: unknown; did you mean learning_rate?"),
        ({"model.hiden": [1]}, "model.hiden: unknown; did you mean hidden?"),
        ({"data.seed": [1]}, "data.seed: all trials have the same data and seed; expected a key of model or"),
        ({"seed": [1, 2]}, "seed: all trials have the same data and seed; expected a key of model or training"),
        ({"model.dropout": []}, "model.dropout: expected one choice or more, each a value and not a list; got []"),
        ({"model.dropout": [[0.1]]}, "model.dropout: expected one choice or more"),
        ({"model.dropout": 0.3}, "model.dropout: expected a list of choices, or { low = …, high = … }; got 0.3"),
        ({"model.dropout": {}}, "model.dropout.low: Field required"),
        ({"model.dropout": {"low": 0.3}}, "model.dropout.high: Field required"),
        ({"model.dropout": {"low": 0.1, "hgh": 1}}, "model.dropout.h"),
        ({"model.dropout": {"low": 0.1, "high": 0.2, "most": 1}}, "model.dropout.most: unknown; expected low, "),
        ({"model.dropout": {"low": 0.3, "high": 0.3}}, "model.dropout: low is 0.3 and high is 0.3; expected a low"),
        ({"training.l2": {"low": 0, "high": 1, "log": True}}, "training.l2: log: expected a low above 0, and no"),
        ({"training.l2": {"low": 1, "high": 2, "log": True, "step": 1}}, "training.l2: log: expected a low"),
        ({"model.hidden": {"low": 1, "high": 8, "step": 2}}, "model.hidden: step: 2 does not lead from 1 to 8"),
        ({"model.hidden": {"low": 1, "high": 8, "step": 0}}, "model.hidden.step: Input should be greater than 0"),
        ({"model.hidden": {"low": 1, "high": 8, "step": 0.5}}, "model.hidden: Input should be a valid integer"),
        ({"model.hidden": {"low": 0, "high": 8}}, "model.hidden: Input should be greater than or equal to 1"),
        ({"model.dropout": [0.1, 1.5]}, "model.dropout: Input should be less than 1; got 1.5"),
        ({"training.optimizer": ["adam", "adan"]}, "training.optimizer: Input should be 'adagrad', 'adam'"),
        ([1], "expected a section of keys and ranges, got [1]"),
    ],
)  # fmt: skip
def test_mistakes(section, complaint):
    assert message(with_search(section)).startswith(f"mine: search: {complaint}")


def test_dotted_keys_without_quotes_are_the_same(tmp_path):
    path = tmp_path / "mine.toml"
    own = '[data]\nformat = "csv"\npath = "x.csv"\n[model]\nkind = "structured-documents"\n[search]\n'
    loaded = []
    for key in ('"training.learning_rate"', "training.learning_rate"):
        path.write_text(f"{own}{key} = {{ low = 5e-4, high = 4e-3, log = true }}\nmodel.dropout = [0.1, 0.3]\n")
        loaded.append(load_recipe(path))
    assert loaded[0] == loaded[1]
    assert loaded[0].search == {
        "training.learning_rate": Range(low=5e-4, high=4e-3, log=True),
        "model.dropout": [0.1, 0.3],
    }


def test_written_as_toml(tmp_path):
    section = {"model.hidden": {"low": 8, "high": 16, "step": 4}, "training.optimizer": ["adam", "sgd"]}
    recipe = load_recipe(with_search(section))
    assert load_recipe(recipe) == recipe
    path = tmp_path / "mine.toml"
    path.write_text(to_toml(recipe))
    assert tomllib.loads(to_toml(recipe))["search"]["model.hidden"] == {"low": 8, "high": 16, "log": False, "step": 4}
    assert load_recipe(path) == recipe


def test_values_that_are_set_are_not_searched():
    recipe = with_search({"model": {"hidden": [8, 9]}, "model.dropout": [0.1]})
    assert set(load_recipe(recipe, {"model.hidden": 9}).search) == {"model.dropout"}
    assert load_recipe(recipe, {"search.model.dropout": [0.2]}).search["model.dropout"] == [0.2]


def test_own_ranges_replace_those_of_the_base(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'base = "documents/default"\n[search]\n"training.learning_rate" = { low = 1, high = 2, step = 1 }\n'
    )
    assert load_template(path).search == {"training.learning_rate": Range(low=1, high=2, step=1)}
    path.write_text('base = "documents/default"\n')
    assert load_template(path).search == load_template("documents/default").search


def test_defaults_have_ranges_that_contain_their_values():
    assert "documents/default" in recipe_names()
    for name in ("documents/default", "pairs/default"):
        recipe = load_template(name)
        assert set(recipe.search) == {"training.learning_rate", "model.dropout", "model.semantic"}
        assert recipe.model.dropout in recipe.search["model.dropout"]
        assert recipe.model.semantic in recipe.search["model.semantic"]
        rates = recipe.search["training.learning_rate"]
        assert rates.low <= recipe.training.learning_rate <= rates.high
