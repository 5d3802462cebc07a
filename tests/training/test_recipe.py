"""Recipes: those of the package are whole, old names are read, and mistakes in one's own are explained."""

import pytest

from tests.training.small import tiny, write_table
from treetext.data import DOCUMENTS, PAIRS, BadInput, Vocabulary, corpus_formats, find_reader
from treetext.models import find_model, models
from treetext.training import (
    Recipe,
    Training,
    load_reader,
    load_recipe,
    needs_data,
    parse_overrides,
    recipe_names,
    recipe_values,
)

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


def untrained(recipe, words=98, labels=("a", "b")):
    vocabulary = Vocabulary(["<pad>", "<unk>", *(f"w{i}" for i in range(words))])
    cls = find_model({"kind": recipe.model.kind})
    return cls(recipe.model, list(labels), **({"vocabulary": vocabulary} if cls.files else {}))


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


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("sed", "seed"),
        ("trainning.epochs", "training"),
        ("model.hiden", "hidden"),
        ("model.words.atention", "attention"),
        ("model.sentences.poolling", "pooling"),
        ("training.learning_rat", "learning_rate"),
        ("model.vocabulary.mincount", "min_count"),
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
    with pytest.raises(BadInput, match=r"^recipe: model\.kindd: unknown; did you mean kind\?$"):
        load_recipe({**CSV, "model": {"kindd": "majority"}})


def test_a_key_like_no_other():
    with pytest.raises(BadInput, match=r"vocabulary\.qqqq: unknown; expected one of deviation, epochs, min_count, "):
        load_recipe("hidden-trees/both", {"model.vocabulary.qqqq": 1})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("training.epochs", 0, "training.epochs: Input should be greater than or equal to 1; got 0"),
        ("training.optimizer", "adamm", "training.optimizer: Input should be 'adagrad', 'adam', 'adamw' or 'sgd'"),
        ("training.accumulate", 0, "training.accumulate: Input should be greater than or equal to 1; got 0"),
        ("training.class_weights", "equal", "training.class_weights: Input should be 'balanced'; got 'equal'"),
        ("training.label_smoothing", 1.0, "training.label_smoothing: Input should be less than 1; got 1.0"),
        ("model.words.attention", "trees", "model.words.attention: Input should be 'none', 'simple'"),
        ("model.dropout", 1.0, "model.dropout: Input should be less than 1; got 1.0"),
        ("model.structure", 0, "structure: attention nonprojective of words needs structure vectors"),
        ("model.kind", "structured-pairs", "model.layers: unknown; expected one of aggregation, dropout, "),
        ("model.kind", "trees", "model.kind: expected one of bag-of-words, "),
        ("model.vocabulary.vectors", "", "model.vocabulary.vectors: String should have at least 1 character; got ''"),
        ("model.words", {"gated": True, "activation": "product"}, "gated: not with the activation product"),
        ("seed", -1, "seed: Input should be greater than or equal to 0"),
        ("model", 5, "hidden-trees/both: model: got 5; expected a section with a kind"),
        ("data", [], "hidden-trees/both: data: got []; expected a section with a format"),
        ("vocabulary", 5, "hidden-trees/both: vocabulary: unknown; expected one of about, data, model, "),
        ("model.hidden.size", 5, "hidden is a value, not a section"),
        ("data.path", "x", "hidden-trees are generated, not read"),
        ("training.learning_rate", float("nan"), "training.learning_rate: "),
        ("training.learning_rate", 1e39, "training.learning_rate: Input should be less than 1000"),
    ],
)
def test_wrong_values(key, value, message):
    with pytest.raises(BadInput) as caught:
        load_recipe("hidden-trees/both", {key: value})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def message(source, overrides=None, load=load_recipe):
    """The one line that refuses a recipe."""
    with pytest.raises(BadInput) as caught:
        load(source, overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_documents_are_no_pairs(tmp_path):
    data = {"format": "csv", "path": write_table(tmp_path / "x.csv", [("a", "b")]), "text": "text"}
    with pytest.raises(BadInput, match=r"^small: model\.kind: the data are documents, got a model of pairs$"):
        tiny(data, "pairs")


def test_columns_that_are_not_known_yet_go_with_any_model():
    for name in ("documents/none", "pairs/none"):
        data = load_recipe(name, {"data.path": "x.csv"}).data
        assert (data.text, data.second, data.label, data.stratify) == (None, None, None, True)


def test_whole_recipes_of_earlier_versions_keep_their_random_split():
    values = load_recipe({**CSV, "model": {"kind": "majority"}}).model_dump(mode="json")
    assert load_recipe(values).data.stratify
    del values["data"]["stratify"], values["data"]["encoding"]
    assert not load_recipe(values).data.stratify
    assert load_recipe(values, {"data.stratify": True}).data.stratify


@pytest.mark.parametrize("kind", models())
def test_models_go_with_data_of_their_task(kind):
    right, wrong = (CSV, PAIRS_CSV) if find_model({"kind": kind}).task is DOCUMENTS else (PAIRS_CSV, CSV)
    recipe = load_recipe({**right, "model": {"kind": kind}})
    assert recipe.model == find_model({"kind": kind}).Settings()
    assert load_recipe(recipe.model_dump(mode="json")) == recipe
    assert message({**wrong, "model": {"kind": kind}}) == (
        f"recipe: model.kind: the data are {task(wrong)}, got a model of {recipe.data.task}"
    )


def task(values):
    return PAIRS if "second" in values["data"] else DOCUMENTS


def test_unknown_kinds_and_formats():
    said = message("hidden-trees/both", {"model.kind": "structured-trees"})
    assert said == f"hidden-trees/both: model.kind: expected one of {', '.join(models())}, got 'structured-trees'"
    assert message({**CSV, "model": {}}) == f"recipe: model.kind: expected one of {', '.join(models())}, missing"
    said = message("hidden-trees/both", {"data.format": "cvs"})
    assert said == f"hidden-trees/both: data.format: expected one of {', '.join(corpus_formats())}, got 'cvs'"
    assert message({**CSV, "model": {"kind": ["majority"]}}).startswith("recipe: model.kind: expected one of ")
    assert message({"data": {"format": ["csv"]}, "model": {}}).startswith("recipe: data.format: expected one of ")


@pytest.mark.parametrize("section", ["data", "model"])
def test_missing_sections(section):
    values = {**CSV, "model": {"kind": "majority"}, "name": "mine"}
    del values[section]
    key = {"data": "format", "model": "kind"}[section]
    assert message(values) == f"mine: {section}: missing; expected a section with a {key}"


@pytest.mark.parametrize(
    ("format", "option", "only"),
    [
        ("snli", "text", "csv, jsonl, parquet, tsv, hub"),
        ("hidden-trees", "second", "csv, jsonl, parquet, tsv, hub"),
        ("csv", "hidden_trees", "hidden-trees"),
        ("jsonl", "delimiter", "csv, tsv"),
        ("csv", "subset", "hub"),
    ],
)
def test_an_option_of_another_format(format, option, only):  # noqa: A002
    place = {} if find_reader(format).generated else {"path": "x"}
    values = {"data": {"format": format, **place, option: "x"}, "model": {"kind": "majority"}}
    expected = f"data.{option}: does not go with {format}; expected it only for {only}"
    assert message(values) == f"recipe: {expected}"
    assert message(
        format, {**{f"data.{key}": value for key, value in place.items()}, f"data.{option}": 1}, load_reader
    ) == (f"{format}: {expected}")


@pytest.mark.parametrize(
    ("objectives", "problem"),
    [
        ({"entropi": 1}, "training.objectives: expected some of cross_entropy, entropy, got 'entropi'"),
        ({"entropy": -0.5}, "training.objectives: expected weights of 0 or more, got -0.5 for entropy"),
        ({"cross_entropy": 0}, "training.objectives: expected at least one weight above 0"),
        ({"cross_entropy": 0, "entropy": 0}, "training.objectives: expected at least one weight above 0"),
        ({"entropy": "much"}, "training.objectives.entropy: Input should be a valid number, "),
        ({"entropy": float("inf")}, "training.objectives.entropy: Input should be a finite number"),
        (["entropy"], "training.objectives: Input should be a valid dictionary; got ['entropy']"),
    ],
)
def test_objectives_that_are_refused(objectives, problem):
    assert message("hidden-trees/both", {"training.objectives": objectives}).startswith(f"hidden-trees/both: {problem}")


def test_objectives():
    def of(objectives):
        return load_recipe("hidden-trees/both", {"training.objectives": objectives}).training.objectives

    assert Training().objectives == load_recipe("hidden-trees/both").training.objectives == {"cross_entropy": 1.0}
    assert of({"entropy": 0.15}) == {"cross_entropy": 1.0, "entropy": 0.15}, "labels count unless they are left out"
    assert of({"entropy": 0}) == {"cross_entropy": 1.0, "entropy": 0.0}
    assert of({"cross_entropy": 0, "entropy": 1}) == {"cross_entropy": 0.0, "entropy": 1.0}
    assert of({}) == {"cross_entropy": 1.0}


def test_the_entropy_of_no_trees():
    said = "training.objectives.entropy: the model has no trees; expected 0, or attention over trees"
    none = {"model.words.attention": "none", "model.sentences.attention": "simple", "model.sentences.pooling": "max"}
    assert message("hidden-trees/both", {**none, "training.objectives.entropy": 0.1}) == f"hidden-trees/both: {said}"
    assert (
        load_recipe("hidden-trees/both", {**none, "training.objectives.entropy": 0}).training.objectives["entropy"] == 0
    )
    for kind in ("majority", "bag-of-words"):
        values = {**CSV, "model": {"kind": kind}, "training": {"objectives": {"entropy": 0.1}}}
        assert message(values) == f"recipe: {said}"


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
        ("csv", {"data.path": "x", "data.folds": 1}, "csv: data.folds: Input should be greater than or equal to 2"),
        (
            "snli",
            {"data.path": "x", "data.text": "y"},
            "snli: data.text: does not go with snli; expected it only for csv, ",
        ),
    ],
)
def test_readers_that_are_refused(format, overrides, problem):  # noqa: A002
    assert message(format, overrides, load_reader).startswith(problem)


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
