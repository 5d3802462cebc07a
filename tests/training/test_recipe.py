"""Recipes: those of the package are whole, and mistakes in one's own are explained."""

import pytest

from tests.training.small import tiny, write_table
from treetext.models import DocumentClassifier, PairClassifier
from treetext.text import BadInput, Vocabulary
from treetext.training import (
    Recipe,
    load_recipe,
    load_template,
    parse_overrides,
    recipe_names,
    to_toml,
    to_values,
)


def packaged(name):
    """A recipe of the package, with a path where it needs one to be whole."""
    for path in ({}, {"data.path": "somewhere"}):
        try:
            return load_recipe(name, path)
        except BadInput as error:
            problem = error
    raise problem


def untrained(recipe, words=98, labels=("a", "b")):
    vocabulary = Vocabulary(["<pad>", "<unk>", *(f"w{i}" for i in range(words))])
    cls = PairClassifier if recipe.model.task == "pairs" else DocumentClassifier
    return cls(recipe.model, vocabulary, list(labels))


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_whole(name):
    recipe = packaged(name)
    assert recipe.name == name
    assert recipe.about
    assert untrained(recipe).size > 0
    assert load_recipe(recipe) == recipe


def test_there_are_few_recipes():
    """Those that a user picks from; what reproduces a paper is a study."""
    assert {name.partition("/")[0] for name in recipe_names()} == {"documents", "pairs", "hidden-trees"}
    assert len(recipe_names()) <= 12


def test_overrides():
    recipe = load_recipe("hidden-trees/both", {"model.hidden": 125, "data.hidden_trees.train": 7, "seed": 3})
    assert (recipe.model.hidden, recipe.data.hidden_trees.train, recipe.seed) == (125, 7, 3)
    assert recipe.data.hidden_trees.dev == load_recipe("hidden-trees/both").data.hidden_trees.dev
    again = load_recipe(recipe, {"model.words.attention": "projective"})
    assert (again.model.words.attention, again.model.hidden) == ("projective", 125)


def test_overrides_are_written_as_in_toml():
    found = parse_overrides(["a.b=125", "c=0.5", 'd="none"', "e=none", "f=true", "g = [1, 2]", "h=a=b", "i="])
    assert found == {
        "a.b": 125, "c": 0.5, "d": "none", "e": "none", "f": True, "g": [1, 2], "h": "a=b", "i": "",
    }  # fmt: skip


@pytest.mark.parametrize("setting", ["model.hidden", "=5", " = 5"])
def test_overrides_that_are_none(setting):
    with pytest.raises(BadInput, match=r"expected key=value, as in model\.hidden=125"):
        parse_overrides([setting])


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("sed", "seed"),
        ("trainning.epochs", "training"),
        ("model.hiden", "hidden"),
        ("model.words.atention", "attention"),
        ("model.sentences.poolling", "pooling"),
        ("training.learning_rat", "learning_rate"),
        ("vocabulary.mincount", "min_count"),
        ("data.frmat", "format"),
        ("data.hidden_trees.sentnces", "sentences"),
    ],
)
def test_misspelt_keys(key, right):
    with pytest.raises(BadInput) as caught:
        load_recipe("hidden-trees/both", {key: 1})
    wrong = key if right != "training" else "trainning"
    assert str(caught.value) == f"hidden-trees/both: {wrong}: unknown; did you mean {right}?"


def test_a_misspelt_key_instead_of_one_that_is_needed(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[data]\nfromat = "csv"\n[model]\ntask = "documents"\n')
    with pytest.raises(BadInput, match=r"mine\.toml: data\.fromat: unknown; did you mean format\?$"):
        load_recipe(path)


def test_a_key_like_no_other():
    with pytest.raises(BadInput, match=r"vocabulary\.qqqq: unknown; expected one of deviation, epochs, min_count, "):
        load_recipe("hidden-trees/both", {"vocabulary.qqqq": 1})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("training.epochs", 0, "training.epochs: Input should be greater than or equal to 1; got 0"),
        ("training.optimizer", "adamm", "training.optimizer: Input should be 'adagrad', 'adam', 'adamw' or 'sgd'"),
        ("model.words.attention", "trees", "model.words.attention: Input should be 'none', 'simple'"),
        ("model.dropout", 1.0, "model.dropout: Input should be less than 1; got 1.0"),
        ("model.structure", 0, "structure: attention nonprojective of words needs structure vectors"),
        ("model.task", "pairs", "model.layers: unknown; expected one of aggregation, dropout, "),
        ("model.task", "trees", "model: "),
        ("vocabulary.vectors", "", "vocabulary.vectors: String should have at least 1 character; got ''"),
        ("model.words", {"gated": True, "activation": "product"}, "gated: not with the activation product"),
        ("seed", -1, "seed: Input should be greater than or equal to 0"),
        ("model", 5, "model: "),
        ("model.hidden.size", 5, "hidden is a value, not a section"),
        ("data.path", "x", "hidden-trees are generated, not read"),
        ("training.learning_rate", float("nan"), "training.learning_rate: "),
    ],
)
def test_wrong_values(key, value, message):
    with pytest.raises(BadInput) as caught:
        load_recipe("hidden-trees/both", {key: value})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_documents_are_no_pairs(tmp_path):
    data = {"format": "csv", "path": write_table(tmp_path / "x.csv", [("a", "b")])}
    with pytest.raises(ValueError, match="the data are documents, got a model of pairs"):
        tiny(data, "pairs")


def test_files_with_bases(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = ["documents/both", "_none"]\n[data]\npath = "x"\n[training]\nepochs = 3\n')
    mine, theirs = load_recipe(path), packaged("documents/both")
    assert mine.name == "mine"
    assert mine.model == packaged("documents/none").model
    assert (mine.training.epochs, mine.training.optimizer) == (3, "adamw")
    path.write_text('base = "documents/both"\n[data]\npath = "somewhere"\n')
    assert load_recipe(path).model_copy(update={"name": "documents/both"}) == theirs


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_round_trip_as_toml(name, tmp_path):
    path, recipe = tmp_path / "recipe.toml", packaged(name)
    path.write_text(to_toml(recipe), encoding="utf-8")
    assert load_recipe(path) == recipe
    template = to_values(load_template(name))
    assert template["data"].get("path") is None
    assert {**to_values(recipe)["data"], "path": None} == {**template["data"], "path": None}


def test_templates_may_lack_a_path_and_nothing_else():
    with pytest.raises(BadInput, match="unknown; did you mean hidden"):
        load_template("documents/both", {"model.hiden": 1})
    assert load_template("documents/both", {"data.path": "x"}).data.path == "x"


def test_recipes_round_trip_as_json(tmp_path):
    path, recipe = tmp_path / "recipe.json", packaged("pairs/projective")
    path.write_text(recipe.model_dump_json())
    assert load_recipe(path) == recipe


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[data\n", "expected a recipe in TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "data: missing; expected a value in the recipe or by --set data="),
        (b'base = "documents/all"', "base: no recipe 'documents/all'"),
        (b"base = 5", "base: no recipe 5"),
        (b"base = [5]", "base: no recipe 5"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        load_recipe(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_such_recipe(tmp_path):
    with pytest.raises(BadInput, match=r"documents/boht: no such recipe; did you mean documents/both\?"):
        load_recipe("documents/boht")
    with pytest.raises(BadInput, match=r"zzz: no such recipe; `treetext recipes` lists"):
        load_recipe("zzz")
    with pytest.raises(BadInput, match=r"none\.toml: No such file or directory"):
        load_recipe(tmp_path / "none.toml")
    with pytest.raises(BadInput, match="Is a directory"):
        load_recipe(tmp_path)
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(BadInput, match="expected a recipe, got list"):
        load_recipe(tmp_path / "list.json")


def test_recipes_do_not_change():
    recipe = packaged("documents/both")
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 5
    assert isinstance(recipe, Recipe)
