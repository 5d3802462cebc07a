"""Accuracy and confusions."""

import numpy as np
import pytest

from tests.evaluation.conftest import make_model
from treetext.data import BadInput, open_corpus, reader
from treetext.evaluation import evaluate, predictions
from treetext.models import find_model

TRAIN = [("a good film", "good"), ("a bad film", "bad"), ("good", "good"), ("bad", "bad"), ("fine", "good")]
TEST = [("good", "good"), ("bad", "bad"), ("bad film", "good"), ("", "bad"), ("good good", "bad")]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    for name, rows in (("train", TRAIN), ("dev", TRAIN), ("test", TEST)):
        lines = [f"{text},{label}" for text, label in [("text", "label"), *rows]]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return reader("csv", **{name: str(tmp_path / f"{name}.csv") for name in ("train", "dev", "test")})


def fitted(kind, corpus):
    cls = find_model({"kind": kind})
    model = cls.for_corpus(cls.Settings(), corpus)
    model.fit(corpus)
    return model


def test_the_confusion_matrix(data):
    model = fitted("bag-of-words", open_corpus(data))
    found = evaluate(model, data)
    predicted = [p.label for p in model.predict([text for text, _ in TEST])]
    assert predicted == ["good", "bad", "bad", "good", "good"], "the prior's where there are no words"
    assert found.labels == ["bad", "good"]
    assert found.confusion == [[1, 2], [1, 1]], "a row for each true label"
    assert (found.split, found.documents, found.empty) == ("test", 5, 1)
    assert found.accuracy == np.trace(found.confusion) / 5
    assert evaluate(model, open_corpus(data)) == found, "of a corpus as of its reader"


def test_another_split(data):
    found = evaluate(fitted("bag-of-words", open_corpus(data)), data, "dev")
    assert (found.split, found.documents, found.empty, found.accuracy) == ("dev", 5, 0, 1)


def test_majority(data):
    model = fitted("majority", open_corpus(data))
    assert evaluate(model, data).confusion == [[0, 3], [0, 2]]
    assert predictions(model, open_corpus(data), "dev").tolist() == [1] * 5


def test_majority_and_words_tell_nothing_of_hidden_trees(hidden_trees):
    assert evaluate(fitted("majority", hidden_trees), hidden_trees).accuracy == 0.5
    assert evaluate(fitted("bag-of-words", hidden_trees), hidden_trees).accuracy < 0.8  # of 40 documents


def test_progress_is_told_of_every_text(data):
    done = []
    evaluate(fitted("majority", open_corpus(data)), data, progress=lambda *each: done.append(each))
    assert sum(n for what, n in done if what == "scoring texts") == 5


def test_refusals(data, hidden_trees):
    model = fitted("majority", open_corpus(data))
    with pytest.raises(BadInput, match="no trial data; expected one of these splits: train, dev, test"):
        evaluate(model, data, "trial")
    with pytest.raises(BadInput, match=r"label 'good' is not among those of the training data; expected one of "):
        evaluate(make_model(hidden_trees), data)
