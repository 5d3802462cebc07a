"""The bag of words: against scikit-learn on the same n-grams."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from tests.models.model_test import ModelTest
from treetext.data import BadInput, open_corpus, reader
from treetext.models import load_model, save_model
from treetext.models.bag_of_words import BagOfWords, BagOfWordsPairs, BagOfWordsPairsSettings, BagOfWordsSettings


class TestBagOfWords(ModelTest):
    model = BagOfWords
    settings = BagOfWordsSettings()


class TestBagOfWordsPairs(ModelTest):
    model = BagOfWordsPairs
    settings = BagOfWordsPairsSettings(min_count=3, strength=30.0)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a corpus of random words that lean to their class, which a regression gets wrong here and there."""
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path / "cache"))

    def write(column, classes):
        random = np.random.default_rng(0)
        for split, size in (("train", 90), ("dev", 10), ("test", 60)):
            rows = []
            for i in range(size):
                label = f"c{i % classes}"
                words = [f"{label if random.random() < 0.3 else 'w'}{int(random.pareto(1))}" for _ in range(12)]
                sides = {"premise": " ".join(words[:5]), "hypothesis": " ".join(words[5:])}
                text = {"text": ["", " ".join(words)]} if column == "text" else sides
                rows.append(json.dumps({**text, "label": label}))
            (tmp_path / f"{split}.jsonl").write_text("\n".join(rows))
        more = {"text": "premise", "second": "hypothesis"} if column == "premise" else {}
        files = {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "dev", "test")}
        return open_corpus(reader("jsonl", tokenized=True, **files, **more))

    return write


def texts_of(corpus, split):
    return [corpus.encoded.document(row) for row in corpus.rows[split].tolist()]


def labels_of(corpus, split):
    return [corpus.encoded.label(row) for row in corpus.rows[split].tolist()]


def fitted(corpus, **settings):
    system = BagOfWords if len(corpus.task.columns) == 1 else BagOfWordsPairs
    model = system.for_corpus(system.Settings(**settings), corpus)
    model.fit(corpus)
    return model


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("min_count", "strength"), [(1, 1.0), (3, 5.0)])
def test_documents_as_scikit_learn(write, classes, min_count, strength):
    corpus = write("text", classes)
    model = fitted(corpus, min_count=min_count, strength=strength)
    flat = {split: [" ".join(text[0]) for text in texts_of(corpus, split)] for split in ("train", "test")}
    vectorizer = TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), min_df=min_count, sublinear_tf=True)
    # With two classes, scikit-learn has one column of weights instead of two.
    regression = LogisticRegression(C=strength * (2 if classes == 2 else 1), max_iter=2000)
    regression.fit(vectorizer.fit_transform(flat["train"]), labels_of(corpus, "train"))

    predicted = model.predict_tokens(texts_of(corpus, "test"), batch_size=7)
    expected = regression.predict_proba(vectorizer.transform(flat["test"]))
    np.testing.assert_allclose([list(p.probabilities.values()) for p in predicted], expected, atol=2e-3)
    right = [each.label == label for each, label in zip(predicted, labels_of(corpus, "test"), strict=True)]
    assert 0.5 < np.mean(right) < 1, "neither too hard nor too easy to tell"


def test_pairs_as_scikit_learn(write):
    corpus = write("premise", 3)
    model = fitted(corpus, strength=1.0)
    train, test = (model.wide.ngrams.vectors(texts_of(corpus, split)) for split in ("train", "test"))
    regression = LogisticRegression(C=1.0, max_iter=2000).fit(train, labels_of(corpus, "train"))
    predicted = model.predict_tokens(texts_of(corpus, "test"))
    expected = regression.predict_proba(test)
    np.testing.assert_allclose([list(p.probabilities.values()) for p in predicted], expected, atol=2e-3)


def test_the_strength_is_chosen(write):
    """One that is far too low or too high has a larger loss on other texts."""
    corpus = write("text", 3)
    columns = corpus.targets(corpus.classes)[corpus.rows["test"]]

    def loss(**settings):
        predicted = fitted(corpus, **settings).predict_tokens(texts_of(corpus, "test"))
        chosen = [list(p.probabilities.values())[i] for p, i in zip(predicted, columns.tolist(), strict=True)]
        return -np.mean(np.log(chosen))

    assert loss() < min(loss(strength=0.001), loss(strength=10_000.0))


def test_unknown_words_count_nothing(write):
    model = fitted(write("text", 2))
    some, more = model.predict(["c0 w1", "c0 w1\nunheard of\nnever seen"])
    assert some.probabilities == pytest.approx(more.probabilities, abs=1e-12)


def test_evidence(write):
    """Words of a class speak for it, and against others."""
    corpus = write("text", 2)
    model = fitted(corpus)
    for label in (0, 1):
        found = {each.ngram: each.weight for each in model.evidence([["c00", "w0", "c10"]], label)}
        assert found[f"c{label}0"] > 0 > found[f"c{1 - label}0"]
        assert {each.kind for each in model.evidence([["c00", "w0", "c10"]], label)} == {"words"}
    [parsed] = model.parse(["c00 C00 w0"])
    assert parsed.label == "c0"
    assert parsed.evidence[0].ngram in ("c00", "c00 c00")
    assert parsed.evidence == model.evidence([["c00", "c00", "w0"]], 0)


def test_facts_and_progress(write):
    corpus, told = write("text", 2), []
    model = BagOfWords.for_corpus(BagOfWordsSettings(), corpus)
    ngrams = len(model.wide.ngrams)
    assert model.size == 2 * ngrams + 2
    assert model.facts() == {"Parameters": f"{model.size:,}", "N-grams": f"{ngrams:,}"}
    model.fit(corpus, lambda *each: told.append(each))
    assert told == [("n-grams: texts", 90), ("n-grams: texts", 10)]


def test_one_class_is_refused(write):
    with pytest.raises(BadInput, match="the training data have 1 class; expected two or more"):
        BagOfWords.for_corpus(BagOfWordsSettings(), write("text", 1))


def test_a_model_without_its_ngrams_is_refused(write, tmp_path):
    save_model(fitted(write("text", 2)), tmp_path / "model")
    (tmp_path / "model" / "ngrams.txt").unlink()
    with pytest.raises(BadInput, match=r"ngrams.txt: missing; expected a whole model"):
        load_model(tmp_path / "model")
