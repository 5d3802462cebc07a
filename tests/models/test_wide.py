"""The wide part: n-grams with weights, what it says of them, and how much it weighs beside trees."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tests.models.building import documents_with_ngrams
from tests.models.toy import toy_corpus
from treetext.data import DOCUMENTS, PAIRS
from treetext.data.batches import Batches, Texts
from treetext.data.ngrams import Ngrams
from treetext.models.logistic import STRENGTHS, best_temperature, fit_logistic, smoothed_loss
from treetext.models.wide import Wide, WideSettings


@pytest.fixture(params=[DOCUMENTS, PAIRS], ids=str)
def corpus(request, tmp_path):
    return toy_corpus(request.param, tmp_path / "toy")


@pytest.fixture
def wide(corpus):
    return Wide.fitted(WideSettings(), corpus, corpus.classes)[0]


def texts_of(corpus, split):
    return [corpus.encoded.document(row) for row in corpus.whole(split).tolist()]


def logits(wide, texts):
    """By `forward`, in one batch."""
    return wide(batch_of(wide, Texts.from_words(texts)))


def batch_of(wide, texts):
    return Batches(texts, np.arange(len(texts.lexicon)), ngrams=wide.ngrams)(range(len(texts)))


@pytest.mark.parametrize("characters", [True, False])
def test_ngrams_of_the_training_texts(corpus, characters):
    for least in (2, 4):
        settings = WideSettings(min_count=least, characters=characters)
        wide, remark = Wide.fitted(settings, corpus, corpus.classes)
        pair = corpus.task == PAIRS
        assert (wide.ngrams.pair, wide.ngrams.characters) == (pair, characters and not pair)
        counts = (wide.ngrams.vectors(texts_of(corpus, "train")) > 0).sum(0)
        assert counts.min() == least
        kinds = "words and characters" if wide.ngrams.characters else "words"
        assert remark.startswith(f"n-grams: {len(wide.ngrams):,} of {kinds}, strength ")


def test_what_is_not_set_has_the_least_loss(corpus):
    """Of all strengths, with and without characters."""
    losses = {}
    train, dev = (corpus.whole(split) for split in ("train", "dev"))
    targets = corpus.targets(corpus.classes)
    for characters in (True, False):
        ngrams = Wide.fitted(WideSettings(characters=characters), corpus, corpus.classes)[0].ngrams
        x, dev_x = (ngrams.vectors(texts_of(corpus, split)) for split in ("train", "dev"))
        for strength in STRENGTHS:
            fit = fit_logistic(x, targets[train], 3, dev_x, targets[dev], [strength])
            losses[ngrams.characters, strength] = fit.loss
    wide, remark = Wide.fitted(WideSettings(), corpus, corpus.classes)
    chosen = wide.ngrams.characters, float(remark.rpartition(" ")[2])
    assert losses[chosen] == pytest.approx(min(losses.values()), abs=2e-3)
    assert max(losses.values()) - min(losses.values()) > 0.1, "there is something to choose"


def test_logits_are_products_with_weights(wide, corpus):
    texts = [*texts_of(corpus, "test"), [["unheard"], ["of"]]]
    expected = wide.ngrams.vectors(texts) @ wide.weight.numpy() + wide.bias.numpy()
    np.testing.assert_allclose(logits(wide, texts), expected, atol=1e-5)
    np.testing.assert_allclose(logits(wide, texts[::-1]), expected[::-1], atol=1e-5)


def test_as_scikit_learn(corpus):
    train, dev = (texts_of(corpus, split) for split in ("train", "dev"))
    labels = corpus.targets(corpus.classes)[corpus.whole("train")]
    wide, _ = Wide.fitted(WideSettings(strength=3.0), corpus, corpus.classes)
    theirs = LogisticRegression(C=3.0, max_iter=5000).fit(wide.ngrams.vectors(train), labels)
    expected = theirs.predict_proba(wide.ngrams.vectors(dev))
    np.testing.assert_allclose(logits(wide, dev).softmax(-1), expected, atol=2e-3)


def test_progress(corpus):
    told = []
    Wide.fitted(WideSettings(), corpus, corpus.classes, lambda *each: told.append(each))
    assert told == [("n-grams: texts", 48), ("n-grams: texts", 12)]


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
            few = wide.evidence(text, label)
            assert few == [each for each in evidence if each in few], "in the same order"
            for sign in (1, -1):
                side = [[each for each in some if sign * each.weight > 0] for some in (few, evidence)]
                assert side[0] == side[1][:5], "the largest of each side, if there are any"
            found.append(evidence)
        truth = corpus.encoded.label(row)
        assert any(each.ngram == truth and each.weight > 0.1 for each in found[corpus.classes.index(truth)])
        assert {each.kind for each in found[0]} <= {"words", "characters"} or corpus.task == PAIRS


def test_some_evidence_for_a_label_among_much_against_it():
    wide = Wide(Ngrams([f"w {letter}" for letter in "abcdefghijklmnop"], np.ones(16, np.float32)), 2)
    wide.weight[:, 0] = torch.tensor([0.1, 0.2] + [-5.0] * 14)
    signs = [each.weight > 0 for each in wide.evidence([list("abcdefghijklmnop")], 0)]
    assert signs == [False] * 5 + [True] * 2


@pytest.mark.parametrize("corpus", [PAIRS], indirect=True)
def test_counts_of_words_are_evidence_in_the_singular_and_the_plural(wide):
    for words, expected in (1, "1 word in the second"), (2, "2 words in the second"), (11, "11 words in the second"):
        wide.ngrams = Ngrams([f"n {words} words in the second"], np.ones(1, np.float32))
        wide.weight = torch.tensor([[1.0, 0.0, 0.0]])
        assert [each.ngram for each in wide.evidence([["a"], ["b"] * words], 0)] == [expected]


def test_unknown_words_are_no_evidence(wide):
    assert all("number" in each.kind for each in wide.evidence([["unheard"], ["xyz"]], 0) if wide.ngrams.pair)


def test_evidence_counts_by_the_weight_of_the_part(wide, corpus):
    [text] = texts_of(corpus, "test")[:1]
    before = wide.evidence(text, 1)
    wide.scales.copy_(torch.tensor([0.25, 2.0]))
    assert [each.ngram for each in wide.evidence(text, 1)] == [each.ngram for each in before]
    assert [each.weight for each in wide.evidence(text, 1)] == pytest.approx([each.weight / 4 for each in before])


def draw(seed, texts, classes, right):
    """Scores of two parts, each of which knows the labels to some degree, and the labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (texts,), generator=generator)
    hot = torch.nn.functional.one_hot(labels, classes)
    return *(torch.randn(texts, classes, generator=generator) * heat + r * hot for heat, r in right), labels


def empty():
    return Wide(Ngrams([], np.zeros(0, np.float32)), 3)


part = st.tuples(st.floats(0.01, 30), st.floats(-3, 30))


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40), part, part)
def test_the_sum_is_never_worse_than_a_part(seed, texts, one, other):
    """By the log loss on the data that the weights are chosen on, each with its best temperature."""
    wide = empty()
    *parts, labels = draw(seed, texts, 3, [one, other])
    share = wide.balance(*parts, labels)

    def loss(logits):
        return smoothed_loss(logits / best_temperature(logits, labels), labels)

    mixed = wide.scales[0] * parts[0] + wide.scales[1] * parts[1]
    ranges = [np.ptp((part / best_temperature(part, labels)).numpy()) for part in parts]
    assert loss(mixed) <= min(map(loss, parts)) + 0.01 * sum(ranges) + 1e-4  # a part weighs at least 1%
    assert 0 < share < 1
    assert (wide.scales > 0).all()


@pytest.mark.parametrize("knowing", [0, 1])
def test_what_knows_nothing_weighs_next_to_nothing(knowing):
    right = [(1.0, 0.0), (1.0, 0.0)]
    right[knowing] = (1.0, 5.0)
    wide = empty()
    wide.balance(*draw(0, 2000, 3, right))
    assert wide.scales[1 - knowing] < 0.02 * wide.scales[knowing]


def test_parts_that_know_different_things_weigh_both():
    wide, other = empty(), empty()
    *parts, labels = draw(0, 2000, 3, [(1.0, 1.0), (1.0, 1.0)])
    assert 0.2 < wide.balance(*parts, labels) < 0.8
    parts[1] *= 16
    assert other.balance(*parts, labels) == wide.balance(parts[0], parts[1] / 16, labels), "whatever their scale"
    torch.testing.assert_close(other.scales, wide.scales / torch.tensor([1.0, 16.0]))


def test_weights_of_ngrams_are_those_in_calibrated_logits():
    model = documents_with_ngrams()
    words = [[name[2:] for name in model.wide.ngrams.names if name[0] == "w"][:1]]
    [before, *_] = model.evidence(words, 0)
    model.temperature = 0.5
    assert model.evidence(words, 0)[0].weight == pytest.approx(2 * before.weight)
