"""Mistakes in recipes are explained in one line."""

import pytest

from tests.training.recipes import CSV, PAIRS_CSV, message
from tests.training.small import tiny, write_table
from treetext.data import DOCUMENTS, PAIRS, BadInput, corpus_formats, find_reader
from treetext.models import find_model, models
from treetext.training import Training, load_reader, load_recipe


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
        ("vocabulary", 5, "hidden-trees/both: vocabulary: unknown; expected one of about, auto, data, "),
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


def test_documents_are_no_pairs(tmp_path):
    data = {"format": "csv", "path": write_table(tmp_path / "x.csv", [("a", "b")]), "text": "text"}
    with pytest.raises(BadInput, match=r"^small: model\.kind: the data are documents, got a model of pairs$"):
        tiny(data, "pairs")


def test_columns_that_are_not_known_yet_go_with_any_model():
    for name in ("documents/none", "pairs/none"):
        data = load_recipe(name, {"data.path": "x.csv"}).data
        assert (data.text, data.second, data.label, data.stratify) == (None, None, None, True)


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
    ) == (f"{place.get('path', format)}: {expected}")


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


@pytest.mark.parametrize(("setting", "value"), [("class_weights", "balanced"), ("label_smoothing", 0.1)])
@pytest.mark.parametrize("kind", ["majority", "bag-of-words"])
def test_settings_of_gradients_without_gradients(tmp_path, setting, value, kind):
    with pytest.raises(
        BadInput, match=f"training.{setting}: {kind} is not trained by gradients; expected a model that"
    ):
        load_recipe(f"documents/{kind}", {"data.path": str(tmp_path), f"training.{setting}": value})
