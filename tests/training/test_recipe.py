"""Recipes: those of the package are whole, and those of users are read."""

import pytest

from tests.training.recipes import OLD, message, packaged
from treetext.data import BadInput, Vocabulary, find_reader
from treetext.data.ngrams import Ngrams
from treetext.models import find_model
from treetext.training import Recipe, load_reader, load_recipe, needs_data, parse_overrides, recipe_names


def untrained(recipe, words=98, labels=("a", "b")):
    vocabulary = Vocabulary(["<pad>", "<unk>", *(f"w{i}" for i in range(words))])
    cls = find_model({"kind": recipe.model.kind})
    parts = {"vocabulary": vocabulary} if "vocabulary.txt" in cls.files else {}
    if "ngrams.txt" in cls.files or getattr(recipe.model, "wide", None) is not None:
        parts["ngrams"] = Ngrams.of([[["some", "words"]]] * 2)
    return cls(recipe.model, list(labels), **parts)


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_whole(name):
    recipe = packaged(name)
    assert recipe.name == name
    assert recipe.about
    assert (untrained(recipe).size > 0) == (not recipe.model.kind.startswith("majority"))
    assert load_recipe(recipe) == recipe


def test_there_are_few_recipes():
    """Those that a user picks from; what reproduces a paper is a study."""
    assert {name.partition("/")[0] for name in recipe_names()} == {"documents", "pairs", "hidden-trees"}
    assert len(recipe_names()) <= 17


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


def test_readers_by_the_keys_of_recipes():
    data = load_reader("csv", {"data.path": "x.csv", "data.label": "stars", "data.folds": 5, "data.fold": 2})
    assert data == find_reader("csv")(path="x.csv", label="stars", folds=5, fold=2)
    assert load_reader("hidden-trees", {"data.hidden_trees.train": 7}).hidden_trees.train == 7
    assert load_reader("hidden-trees") == find_reader("hidden-trees")()


@pytest.mark.parametrize(
    ("format", "overrides", "problem"),
    [
        ("cvs", {}, "cvs: data.format: expected one of csv, "),
        ("csv", {}, "csv: data: path: expected either it, or files for train, dev and test, got none"),
        ("csv", {"data.paht": "x"}, "csv: data.paht: unknown; did you mean path?"),
        ("csv", {"path": "x"}, "path: no setting of data; expected a key like data.label"),
        ("csv", {"model.hidden": 5}, "model.hidden: no setting of data; expected a key like data.label"),
        ("csv", {"data.path": "x", "data.path.y": 5}, "data.path.y: path is a value, not a section"),
        ("csv", {"data.path": "x", "data.folds": 1}, "x: data.folds: Input should be greater than or equal to 2"),
        (
            "snli",
            {"data.path": "x", "data.text": "y"},
            "x: data.text: does not go with snli; expected it only for csv, ",
        ),
    ],
)
def test_readers_that_are_refused(format, overrides, problem):  # noqa: A002
    assert message(format, overrides, load_reader).startswith(problem)


def test_the_word_none_unsets_a_value():
    """Where it is no value itself."""
    unset = {"data.path": "x", "data.max_words": "none", "model.wide": "none", "training.clip": "none"}
    recipe = load_recipe("documents/default", unset | {"model.words.attention": "none", "data.text": "none"})
    assert (recipe.data.max_words, recipe.model.wide, recipe.training.clip) == (None, None, None)
    assert (recipe.model.words.attention, recipe.data.text) == ("none", "none")
    assert message("documents/default", {"data.path": "x", "training.epochs": "none"}).endswith(
        "training.epochs: Input should be a valid integer, unable to parse string as an integer; got 'none'"
    )
    assert "model.wide.x: unknown; " in message("documents/default", {"data.path": "x", "model.wide.x": 3})


@pytest.mark.parametrize(
    ("source", "overrides", "needed"),
    [
        ("documents/both", {}, True),
        ("documents/both", {"data.path": ""}, True),
        ("documents/both", {"data.path": "x"}, False),
        ("documents/both", {"data.train": "x"}, False),
        ("documents/both", {"data.test": "x"}, False),
        ("pairs/none", {"data.format": "snli"}, True),
        ("hidden-trees/both", {}, False),
        ("documents/both", {"data.format": "hidden-trees"}, False),
        (OLD, {}, False),
        (OLD, {"data.path": None}, True),
        ({"data": {"format": "cvs"}}, {}, False),
        ({"data": 5}, {}, False),
        ({}, {}, False),
    ],
)
def test_recipes_that_need_data(source, overrides, needed):
    assert needs_data(source, overrides) is needed


def test_recipes_that_need_data_by_their_files(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "documents/both"\n')
    assert needs_data(path)
    assert needs_data(str(path))
    assert not needs_data(load_recipe(path, {"data.path": "x"}))
    with pytest.raises(BadInput, match="no such recipe"):
        needs_data("documents/boht")


def test_files_with_bases(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = ["documents/both", "_none"]\n[data]\npath = "x"\n[training]\nepochs = 3\n')
    mine, theirs = load_recipe(path), packaged("documents/both")
    assert mine.name == "mine"
    assert mine.model == packaged("documents/none").model
    assert (mine.training.epochs, mine.training.optimizer) == (3, "adamw")
    path.write_text('base = "documents/both"\n[data]\npath = "somewhere"\n')
    assert load_recipe(path).model_copy(update={"name": "documents/both"}) == theirs


def test_recipes_round_trip_as_json(tmp_path):
    path, recipe = tmp_path / "recipe.json", packaged("pairs/projective")
    path.write_text(recipe.model_dump_json())
    assert load_recipe(path) == recipe


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[data\n", "expected a recipe in TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "data: missing; expected a section with a format"),
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
