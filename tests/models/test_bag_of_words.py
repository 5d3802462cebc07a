"""The bag of words: against scikit-learn on the same counts."""

import json
from itertools import chain

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from tests.models.model_test import ModelTest
from treetext.data import BadInput, open_corpus, reader
from treetext.models.bag_of_words import BagOfWords, BagOfWordsPairs, BagOfWordsPairsSettings, BagOfWordsSettings


class TestBagOfWords(ModelTest):
    model = BagOfWords
    settings = BagOfWordsSettings()


class TestBagOfWordsPairs(ModelTest):
    model = BagOfWordsPairs
    settings = BagOfWordsPairsSettings(min_count=2, strength=10.0)


SYSTEMS = {"text": (BagOfWords, BagOfWordsSettings), "premise": (BagOfWordsPairs, BagOfWordsPairsSettings)}


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
                text = {"text": ["", " ".join(words[:5]), " ".join(words[5:])]} if column == "text" else sides
                rows.append(json.dumps({**text, "label": label}))
            (tmp_path / f"{split}.jsonl").write_text("\n".join(rows))
        more = {"text": "premise", "second": "hypothesis"} if column == "premise" else {}
        files = {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "dev", "test")}
        return open_corpus(reader("jsonl", tokenized=True, **files, **more))

    return write


@pytest.mark.parametrize("column", SYSTEMS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("min_count", "strength"), [(1, 1.0), (3, 0.2)])
def test_as_scikit_learn(write, column, classes, min_count, strength):
    corpus = write(column, classes)
    system, settings = SYSTEMS[column]
    model = system.for_corpus(settings(min_count=min_count, strength=strength), corpus)
    told = []
    model.fit(corpus, lambda *args: told.append(args))
    assert told == [("counting words: texts", 90)]

    texts = {s: [corpus.encoded.document(r) for r in corpus.rows[s].tolist()] for s in ("train", "test")}
    flat = {
        split: [list(chain.from_iterable(document)) for document in documents] for split, documents in texts.items()
    }
    times = dict(zip(corpus.encoded.lexicon, corpus.encoded.counts(corpus.rows["train"]).tolist(), strict=True))
    assert set(times.values()) >= {0, 1, 2, 3}, "there are words to leave out"
    words = [word for word, n in times.items() if n >= min_count]
    vectorizer = CountVectorizer(analyzer=list, vocabulary=words)
    regression = LogisticRegression(C=strength, max_iter=2000)
    labels = [corpus.encoded.label(row) for row in corpus.rows["train"].tolist()]
    regression.fit(vectorizer.transform(flat["train"]), labels)

    predicted = model.predict_tokens(texts["test"], batch_size=7)
    assert [p.label for p in predicted] == regression.predict(vectorizer.transform(flat["test"])).tolist()
    expected = regression.predict_proba(vectorizer.transform(flat["test"]))
    np.testing.assert_allclose([list(p.probabilities.values()) for p in predicted], expected, atol=1e-4)
    right = [p.label == corpus.encoded.label(r) for p, r in zip(predicted, corpus.rows["test"].tolist(), strict=True)]
    assert 0.5 < np.mean(right) < 1, "neither too hard nor too easy to tell"


def test_unknown_words_count_nothing(write):
    corpus = write("text", 2)
    model = BagOfWords.for_corpus(BagOfWordsSettings(min_count=3), corpus)
    model.fit(corpus)
    some, more = model.predict(["c0 w1", "c0 w1 unheard of\nnever seen"])
    assert some.probabilities == pytest.approx(more.probabilities, abs=1e-12)
    assert not model.weight[:2].any()


def test_facts(write):
    corpus = write("text", 2)
    model = BagOfWords.for_corpus(BagOfWordsSettings(), corpus)
    words = len(model.vocabulary)
    assert model.size == 2 * words + 2
    assert model.facts() == {"Parameters": f"{model.size:,}", "Vocabulary": f"{words:,} words"}
    assert list(model.known_words) == model.vocabulary.words


def test_one_class_is_refused(write):
    with pytest.raises(BadInput, match="the training data have 1 classes; expected two or more"):
        BagOfWords.for_corpus(BagOfWordsSettings(), write("text", 1))
