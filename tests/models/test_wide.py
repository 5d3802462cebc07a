"""The wide part: n-grams with weights, and what it says of them."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from tests.models.toy import toy_corpus
from treetext.data import DOCUMENTS, PAIRS
from treetext.data.batches import Batches, Texts
from treetext.models.wide import WideSettings, new_wide


@pytest.fixture(params=[DOCUMENTS, PAIRS], ids=str)
def corpus(request, tmp_path):
    return toy_corpus(request.param, tmp_path / "toy")


@pytest.fixture
def wide(corpus):
    """Fitted, and as it is used after training."""
    part = new_wide(WideSettings(), corpus, corpus.classes)
    part.strength = part.fit(corpus, corpus.classes)
    part.known = None
    return part


def texts_of(corpus, split):
    return [corpus.encoded.document(row) for row in corpus.whole(split).tolist()]


def logits(wide, texts):
    """By `forward`, in one batch."""
    return wide(batch_of(wide, Texts.from_words(texts)))


def batch_of(wide, texts):
    return Batches(texts, np.arange(len(texts.lexicon)), ngrams=wide.ngrams)(range(len(texts)))


def test_ngrams_of_the_training_texts(corpus):
    for settings in (WideSettings(), WideSettings(min_count=4, characters=False)):
        ngrams = new_wide(settings, corpus, corpus.classes).ngrams
        pair = corpus.task == PAIRS
        assert (ngrams.pair, ngrams.characters) == (pair, settings.characters and not pair)
        texts = texts_of(corpus, "train")
        counts = (ngrams.vectors(texts) > 0).sum(0)
        assert counts.min() == settings.min_count


def test_logits_are_products_with_weights(wide, corpus):
    texts = [*texts_of(corpus, "test"), [["unheard"], ["of"]]]
    expected = wide.ngrams.vectors(texts) @ wide.weight.numpy() + wide.bias.numpy()
    np.testing.assert_allclose(logits(wide, texts), expected, atol=1e-5)
    np.testing.assert_allclose(logits(wide, texts[::-1]), expected[::-1], atol=1e-5)


def test_as_scikit_learn(wide, corpus):
    train, dev = (texts_of(corpus, split) for split in ("train", "dev"))
    labels = corpus.targets(corpus.classes)[corpus.whole("train")]
    theirs = LogisticRegression(C=wide.strength, max_iter=5000).fit(wide.ngrams.vectors(train), labels)
    expected = theirs.predict_proba(wide.ngrams.vectors(dev))
    np.testing.assert_allclose(logits(wide, dev).softmax(-1), expected, atol=0.05)  # nearly separable


def test_training_texts_have_logits_that_are_held_out(corpus):
    part, told = new_wide(WideSettings(), corpus, corpus.classes), []
    part.fit(corpus, corpus.classes, lambda *each: told.append(each))
    assert told == [("n-grams: texts", 48), ("n-grams: texts", 12)]
    batches = {split: batch_of(part, Texts.from_corpus(corpus, corpus.whole(split))) for split in ("train", "dev")}
    before = {split: part(batch) for split, batch in batches.items()}
    part.known = None
    torch.testing.assert_close(part(batches["dev"]), before["dev"], atol=1e-3, rtol=1e-3)
    assert (part(batches["train"]) - before["train"]).abs().max() > 0.1


def test_evidence(wide, corpus):
    """All of it together is the logit, compared with the mean logit. The cue of a class speaks for it."""
    for text, row in zip(texts_of(corpus, "test"), corpus.whole("test").tolist(), strict=True):
        scores = (logits(wide, [text]) - wide.bias)[0].numpy()
        found = []
        for label in range(3):
            evidence = wide.evidence(text, label, most=10**6)
            sizes = [abs(each.weight) for each in evidence]
            assert sizes == sorted(sizes, reverse=True)
            assert sum(each.weight for each in evidence) == pytest.approx(scores[label] - scores.mean(), abs=1e-4)
            assert wide.evidence(text, label) == evidence[:10]
            found.append(evidence)
        truth = corpus.encoded.label(row)
        assert any(each.ngram == truth and each.weight > 0.1 for each in found[corpus.classes.index(truth)])
        assert {each.kind for each in found[0]} <= {"words", "characters"} or corpus.task == PAIRS


def test_unknown_words_are_no_evidence(wide):
    assert all("number" in each.kind for each in wide.evidence([["unheard"], ["xyz"]], 0) if wide.ngrams.pair)
