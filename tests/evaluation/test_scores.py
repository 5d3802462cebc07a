"""Accuracy, F1, confusions, log loss and calibration."""

import json

import numpy as np
import pytest
from sklearn import metrics

from tests.evaluation.conftest import make_model
from treetext.data import BadInput, open_corpus, reader
from treetext.evaluation import baseline, evaluate, predictions, probabilities, score
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


LETTERS = ["a", "b", "c", "d", "e"]


@pytest.fixture
def made():
    """Probabilities of five classes for 300 texts: c is never predicted, d has no texts, e has neither."""
    chance = np.random.default_rng(0)
    shares = chance.dirichlet([2, 1, 0.5, 0.5, 0.5], 300)
    shares[:, 2] *= 0.01
    shares[:, 4] = 0
    shares /= shares.sum(1, keepdims=True)
    return chance.choice(3, 300, p=[0.5, 0.3, 0.2]), shares


def test_against_scikit_learn(made):
    targets, shares = made
    found, predicted = score("test", LETTERS, targets, shares), shares.argmax(1)
    assert found.accuracy == metrics.accuracy_score(targets, predicted)
    assert found.confusion == metrics.confusion_matrix(targets, predicted, labels=range(5)).tolist()
    assert found.macro_f1 == pytest.approx(metrics.f1_score(targets, predicted, average="macro"))
    assert found.log_loss == pytest.approx(metrics.log_loss(targets, shares, labels=range(5)))
    expected = metrics.precision_recall_fscore_support(targets, predicted, labels=range(5), zero_division=np.nan)
    for each, label, *others, texts in zip(found.classes, LETTERS, *expected, strict=True):
        assert (each.label, each.texts, each.predicted) == (label, texts, (predicted == LETTERS.index(label)).sum())
        got = [each.precision, each.recall, each.f1]
        assert [np.nan if value is None else value for value in got] == pytest.approx(others, nan_ok=True)
    assert [each.f1 for each in found.classes[2:]] == [0, 0, None]
    assert found.never_predicted == ["c"], "not d, which no text has"


def test_calibration_by_hand(made):
    targets, shares = made
    found, error = score("test", LETTERS, targets, shares), 0.0
    assert len(found.reliability) == 15
    for i, each in enumerate(found.reliability):
        inside = [t for t in range(300) if i / 15 < shares[t].max() <= (i + 1) / 15]
        assert (each.low, each.high, each.texts) == (pytest.approx(i / 15), pytest.approx((i + 1) / 15), len(inside))
        if not inside:
            assert (each.confidence, each.accuracy) == (None, None)
            continue
        confidence = sum(shares[t].max() for t in inside) / len(inside)
        accuracy = sum(shares[t].argmax() == targets[t] for t in inside) / len(inside)
        assert (each.confidence, each.accuracy) == (pytest.approx(confidence), pytest.approx(accuracy))
        error += abs(confidence - accuracy) * len(inside) / 300
    assert found.ece == pytest.approx(error)
    assert sum(each.texts for each in found.reliability) == 300


def test_ends_of_bins():
    sure = score("test", ["a", "b"], np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert [each.texts for each in sure.reliability] == [0] * 14 + [2]
    assert sure.ece == 0.5
    assert sure.log_loss == pytest.approx(-np.log(2.2e-16) / 2, rel=0.001), "finite, as JSON has no infinity"
    thirds = score("test", ["a", "b", "c"], np.array([0]), np.full((1, 3), 1 / 3))
    assert [each.texts for each in thirds.reliability].index(1) == 4, "a bin includes its upper end"


def test_largest_confusions(made):
    found = score("test", LETTERS, *made)
    pairs = [(LETTERS.index(each.label), LETTERS.index(each.predicted), each.texts) for each in found.confusions]
    assert pairs[0][2] == max(found.confusion[i][j] for i in range(5) for j in range(5) if i != j)
    assert [count for *_, count in pairs] == sorted((count for *_, count in pairs), reverse=True)
    assert sum(count for *_, count in pairs) == round(300 * (1 - found.accuracy))
    for (i, j, count), each in zip(pairs, found.confusions, strict=True):
        assert found.confusion[i][j] == count
        assert each.share == count / sum(found.confusion[i])


def test_scores_for_programs(made):
    plain = score("test", LETTERS, *made).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["classes"][2]["precision"] is None
    assert set(plain) >= {"accuracy", "macro_f1", "ece", "log_loss", "confusion", "reliability", "never_predicted"}


def test_probabilities_are_those_of_predict(data):
    corpus = open_corpus(data)
    model = fitted("bag-of-words", corpus)
    expected = [list(each.probabilities.values()) for each in model.predict([text for text, _ in TEST])]
    found = probabilities(model, corpus, "test")
    assert found.tolist() == [pytest.approx(each) for each in expected]
    right = [found[i][["bad", "good"].index(label)] for i, (_, label) in enumerate(TEST)]
    assert evaluate(model, corpus).log_loss == pytest.approx(-np.mean(np.log(right)))


def test_baselines_are_of_the_same_texts(data):
    corpus = open_corpus(data)
    splits = {split: corpus.split_fingerprint(split) for split in corpus.rows}
    about = {"fingerprints": splits, "baselines": {"bag of words": {"dev": 0.5}}}
    assert baseline("bag of words", about, corpus, "dev") == (0.5, "")
    assert baseline("bag of words", about, corpus, "test") == (None, "not measured on test")
    assert baseline("majority", about, corpus, "dev") == (None, "not measured in training")
    assert baseline("majority", {}, corpus, "dev") == (None, "not measured in training")
    other = {**about, "fingerprints": {**splits, "dev": splits["test"]}}
    assert baseline("bag of words", other, corpus, "dev") == (None, "not measured on these texts")


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
