"""Training on lists and tables in memory."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.cli.running import invoke, refusal
from tests.training.small import SIZES, VOCABULARY
from treetext.data import BadInput
from treetext.models import load_model
from treetext.training import to_toml, train

TEXTS = [f"The {'fine' if i % 2 else 'dull'} film number {i}. I saw it." for i in range(40)]
LABELS = ["bad", "good"] * 20
PAIRS = [(f"Tea {i} is hot.", "Is it hot?" if i % 2 else "It is cold.") for i in range(40)]
SMALL = {f"model.{name}": size for name, size in SIZES.items()} | {
    "model.wide": None,
    "model.vocabulary": VOCABULARY,
    "training.epochs": 1,
}


@pytest.fixture(scope="module")
def out(tmp_path_factory, cache_path):
    """A model of texts in memory."""
    place = tmp_path_factory.mktemp("memory") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(cache_path))
        train("documents/majority", place, texts=TEXTS, labels=LABELS)
    return place


def test_lists_are_split_and_the_model_is_whole(out):
    model = load_model(out)
    assert model.labels == ["bad", "good"]
    assert model.about["documents"] == {"train": 32, "dev": 4, "test": 4}
    assert "| Data | in memory |" in (out / "README.md").read_text()
    assert model.predict([TEXTS[0]])[0].label in model.labels


def test_the_same_lists_have_the_same_fingerprint_and_others_another(out, tmp_path):
    same = train("documents/majority", tmp_path / "same", texts=np.array(TEXTS), labels=pd.Series(LABELS))
    other = train("documents/majority", tmp_path / "other", texts=[*TEXTS[1:], "New."], labels=LABELS)
    assert same.about["fingerprint"] == load_model(out).about["fingerprint"] != other.about["fingerprint"]


def test_the_model_is_evaluated_on_its_own_data_and_on_another_file(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the copy is found from anywhere
    assert json.loads(invoke("evaluate", out, "--json").stdout)["documents"] == 4
    (tmp_path / "other.csv").write_text("text,label\nA new film.,good\nAnother one.,bad\n")
    assert json.loads(invoke("evaluate", out, "--data", "other.csv", "--json").stdout)["documents"] == 2


def test_without_the_copy_evaluate_says_that_the_data_were_in_memory(out, tmp_path):
    shutil.copytree(out, tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["about"]["recipe"]["data"]["path"] = str(tmp_path / "gone" / "all.jsonl")
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    said = f"the model was trained on data in memory, and their copy is not in {tmp_path / 'gone'}; expected --data"
    assert refusal("evaluate", tmp_path / "model") == said


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"id": range(40), "review": TEXTS, "stars": pd.Categorical(LABELS)}, index=range(40, 0, -1)),
        pa.table({"review": TEXTS, "stars": LABELS}),
        {"review": TEXTS, "stars": np.array(LABELS)},
    ],
    ids=["pandas", "arrow", "dictionary"],
)
def test_the_columns_of_a_table_are_recognised(table, tmp_path):
    said = []
    model = train("documents/majority", tmp_path / "model", data=table, say=said.append)
    assert any("text in column 'review', label in column 'stars'" in line for line in said)
    assert model.about["recipe"]["data"]["label"] == "stars"
    assert "__index_level" not in (tmp_path / "model" / "training" / "data" / "all.jsonl").read_text()


def test_columns_may_be_named(tmp_path):
    table = {"a": TEXTS, "b": TEXTS[::-1], "stars": LABELS}
    with pytest.raises(BadInput, match="may each be the text"):
        train("documents/majority", tmp_path / "model", data=table)
    model = train("documents/majority", tmp_path / "model", data=table, set={"data.text": "b"})
    assert model.about["recipe"]["data"]["text"] == "b"


def test_missing_numbers_and_dates_in_a_table(tmp_path):
    table = pd.DataFrame(
        {
            "text": TEXTS,
            "label": pd.array([1, 2] * 20, dtype="Int64"),
            "when": pd.to_datetime(["2020-01-01", None] * 20),
            "n": [0.5, None] * 20,
        }
    )
    assert train("documents/majority", tmp_path / "model", data=table).labels == ["1", "2"]


def test_pairs_with_dev_and_test(tmp_path):
    model = train(
        "pairs/default", tmp_path / "model", texts=PAIRS[:30], labels=LABELS[:30], dev=(PAIRS[30:34], LABELS[30:34]),
        test=(PAIRS[34:], LABELS[34:]), set=SMALL,
    )  # fmt: skip
    assert model.about["documents"] == {"train": 30, "dev": 4, "test": 6}
    assert sorted(file.name for file in (tmp_path / "model" / "training" / "data").iterdir()) == [
        "dev.jsonl", "test.jsonl", "train.jsonl",
    ]  # fmt: skip
    again = load_model(tmp_path / "model")
    assert again.predict([PAIRS[0]])[0].probabilities == model.predict([PAIRS[0]])[0].probabilities


def test_without_dev_a_share_of_train_becomes_dev(tmp_path):
    model = train("documents/majority", tmp_path / "m", texts=TEXTS, labels=LABELS, test=(["a", "b"], ["bad", "good"]))
    assert model.about["documents"] == {"train": 36, "dev": 4, "test": 2}


def test_texts_may_be_sentences_or_words_and_labels_numbers(tmp_path):
    texts = [[["a", "good", "film"], [str(i)]] for i in range(40)]
    model = train("documents/majority", tmp_path / "model", texts=texts, labels=np.arange(40) % 2 == 0)
    assert model.labels == ["false", "true"]


def test_a_training_can_be_repeated_from_its_recipe(out, tmp_path):
    from treetext.training import load_recipe

    recipe = load_recipe(load_model(out).about["recipe"])
    (tmp_path / "recipe.toml").write_text(to_toml(recipe))
    again = train(tmp_path / "recipe.toml", tmp_path / "model")
    assert again.about["fingerprint"] == load_model(out).about["fingerprint"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"texts": TEXTS}, "labels: missing; expected both texts and labels"),
        ({"labels": LABELS}, "texts: missing; expected both"),
        ({"texts": TEXTS, "labels": LABELS, "data": {}}, "data: expected either it, or texts and labels, got both"),
        ({"dev": (TEXTS, LABELS)}, "dev: expected also texts and labels to train on, or data"),
        ({"texts": TEXTS, "labels": LABELS[1:]}, "40 texts and 39 labels; expected as many of both"),
        ({"texts": [], "labels": []}, "0 texts and 0 labels; expected as many of both, and some"),
        ({"texts": "a text", "labels": LABELS}, "texts: expected a list, got 'a text'"),
        ({"texts": TEXTS, "labels": [*LABELS[1:], None]}, r"labels\[39\]: missing; expected one for each text"),
        ({"texts": TEXTS, "labels": [*LABELS[1:], 1]}, "labels: expected values of one kind: "),
        ({"texts": TEXTS, "labels": LABELS, "test": (TEXTS,)}, "test: expected a tuple of texts and labels, got 1"),
        ({"data": 5}, "data: expected a DataFrame, an Arrow table or a dictionary of columns of equal length"),
    ],
)
def test_refusals(given, complaint, tmp_path):
    with pytest.raises(BadInput, match=complaint):
        train("documents/majority", tmp_path / "model", **given)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_pairs_of_another_number_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"texts\[1\]: expected a pair of sentences, got 'b'"):
        train("pairs/majority", tmp_path / "model", texts=[("a", "b"), "b"], labels=[1, 2])
