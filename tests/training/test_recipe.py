"""Recipes: those of the package say what the paper says, and mistakes in one's own are explained."""

import pytest
from treetext.text import BadInput, Vocabulary

from tests.training.small import tiny, write_table
from treetext.models import DocumentClassifier, PairClassifier
from treetext.training import Recipe, load_recipe, parse_overrides, recipe_names

ROWS = ("none", "simple", "sentence", "document", "both")
PAPER = {
    **{f"yelp/{row}": score for row, score in zip(ROWS, (66.7, 67.7, 68.0, 67.8, 68.6), strict=True)},
    **{f"imdb/{row}": score for row, score in zip(ROWS, (47.5, 48.2, 48.8, 48.6, 49.2), strict=True)},
    **{f"czech/{row}": score for row, score in zip(ROWS, (80.5, 81.4, 81.5, 81.1, 82.1), strict=True)},
    **{f"debates/{row}": score for row, score in zip(ROWS, (73.7, 75.3, 74.6, 75.2, 76.5), strict=True)},
    **{"snli/none": 85.3, "snli/simple": 86.2, "snli/projective": 86.8, "snli/nonprojective": 86.9},
}
ATTENTION = {
    "none": ("none", "none"),
    "simple": ("simple", "simple"),
    "sentence": ("nonprojective", "none"),
    "document": ("none", "nonprojective"),
    "both": ("nonprojective", "nonprojective"),
}


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
    assert recipe.paper == PAPER.get(name.removesuffix("-125").removesuffix("-175"))
    assert load_recipe(recipe) == recipe


def test_every_row_of_the_paper_has_a_recipe():
    assert set(PAPER) <= set(recipe_names())


@pytest.mark.parametrize("name", [name for name in PAPER if not name.startswith("snli")])
def test_the_paper_s_sizes_for_documents(name):
    recipe, row = packaged(name), name.split("/")[1]
    model, training = recipe.model, recipe.training
    assert model.embedding == 200
    assert model.semantic == 75
    assert model.structure == (0 if row == "none" else 25)
    assert (model.words.attention, model.sentences.attention) == ATTENTION[row]
    assert model.dropout == 0.3
    assert (training.optimizer, training.learning_rate, training.l2, training.batch_size) == ("adagrad", 0.05, 1e-4, 32)
    assert recipe.vocabulary.min_count == 6, "more than five times"
    assert (recipe.vocabulary.vectors, recipe.vocabulary.skip_gram, recipe.vocabulary.window) == ("word2vec", False, 5)
    for level in (model.words, model.sentences):
        assert (level.encoder, level.pooling, level.children, level.activation) == ("bilstm", "max", True, "tanh")
    assert (model.layers, model.hidden) == (2, 150)
    assert recipe.data.folds == (10 if name.startswith("czech") else None)


@pytest.mark.parametrize("name", [name for name in PAPER if name.startswith("snli")])
def test_the_paper_s_sizes_for_pairs(name):
    recipe = packaged(name)
    model, training = recipe.model, recipe.training
    assert (model.embedding, model.semantic, model.hidden, model.dropout) == (300, 100, 200, 0.2)
    assert model.structure == 50 or name == "snli/none"
    assert (training.optimizer, training.learning_rate, training.batch_size) == ("adagrad", 0.05, 32)
    assert model.words.attention == name.split("/")[1]


def test_numbers_of_parameters():
    sizes = {name: untrained(packaged(name)).size for name in PAPER}
    for name, size in sizes.items():
        print(f"{name:20} {size:,}")
    assert 594_000 <= sizes["debates/both"] <= 640_000
    wider = load_recipe(packaged("debates/both"), {"model.structure": 50})
    assert 830_000 <= untrained(wider).size <= 860_000, "as the paper's table says: 75 + 50 with children"


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
    path.write_text('base = ["debates/both", "_quick"]\n[data]\npath = "x"\n[training]\nepochs = 3\n')
    mine, theirs = load_recipe(path), packaged("debates/both")
    assert mine.name == "mine"
    assert mine.model == theirs.model
    assert (mine.training.epochs, mine.training.optimizer) == (3, "adamw")
    path.write_text('base = "debates/both"\n[data]\npath = "somewhere"\n')
    assert load_recipe(path).model_copy(update={"name": "debates/both", "paper": 76.5}) == theirs
    assert load_recipe(path).paper is None, "which is the score of theirs"


def test_recipes_round_trip_as_json(tmp_path):
    path, recipe = tmp_path / "recipe.json", packaged("czech/both")
    path.write_text(recipe.model_dump_json())
    assert load_recipe(path) == recipe


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[data\n", "expected a recipe in TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "data: missing; expected a value in the recipe or by --set data="),
        (b'base = "debates/all"', "base: no recipe 'debates/all'"),
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
    with pytest.raises(BadInput, match=r"debates/boht: no such recipe; did you mean debates/both\?"):
        load_recipe("debates/boht")
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
    recipe = packaged("debates/both")
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 5
    assert isinstance(recipe, Recipe)
