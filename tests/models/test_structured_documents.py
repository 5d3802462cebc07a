"""Structured models of documents: against the same model written with loops, alone and in any batch, with gradients."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch.nn.functional import leaky_relu

from tests.models.building import PAIRS, TEXTS, WORDS, batch_of, documents, scored
from tests.models.model_test import ModelTest, assert_same_parse, gradients, uniform
from treetext.models import LevelSettings, StructuredDocuments, StructuredDocumentsSettings, TreeKind
from treetext.nn import ENCODERS, KINDS, POOLINGS

TREES = ("projective", "nonprojective")
SIZES = {"embedding": 8, "semantic": 5, "structure": 4, "hidden": 6}
RANDOM = {"min_count": 1, "vectors": "random"}
LEVELS = [
    {"attention": attention, "encoder": encoder, "pooling": pooling}
    for attention, encoder, pooling in product(KINDS, ENCODERS, POOLINGS)
    if pooling != "root" or attention in TREES
]
every_kind = pytest.mark.parametrize("kind", KINDS)


class TestStructuredDocuments(ModelTest):
    """As the settings are if none is given but sizes: with word2vec, bi-LSTMs and trees."""

    model = StructuredDocuments
    settings = StructuredDocumentsSettings(**SIZES)


class TestProjective(ModelTest):
    model = StructuredDocuments
    settings = StructuredDocumentsSettings(
        **SIZES,
        words=LevelSettings(attention="projective", encoder="feedforward", pooling="mean"),
        sentences=LevelSettings(attention="projective", single_root=False, pooling="root"),
        vocabulary=RANDOM,
        layers=0,
    )


class TestWithoutTrees(ModelTest):
    model = StructuredDocuments
    settings = StructuredDocumentsSettings(
        **SIZES,
        words=LevelSettings(attention="simple", gated=True),
        sentences=LevelSettings(attention="none"),
        vocabulary=RANDOM,
        layers=1,
    )


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: "-".join(level.values()))
def test_every_level_scores_and_learns(level):
    for words, sentences in ((level, {}), ({}, level)):
        model = documents(words, sentences).train()
        logits = scored(model, TEXTS).logits
        assert logits.shape == (3, 3)
        logits.square().sum().backward()
        for name, gradient in gradients(model).items():
            assert gradient.isfinite().all(), name
            assert gradient.abs().max() > 0, name


def plain_document(model, text):
    """One document, one sentence at a time."""
    vectors = []
    for words in text:
        ids = torch.tensor([model.vocabulary.index.get(word, 1) for word in words])
        vectors.append(model.words(model.embedding.weight[ids][None]).vectors[0])
    x = model.sentences(torch.stack(vectors)[None]).vectors[0]
    *hidden, last = (layer for layer in model.classifier if hasattr(layer, "weight"))
    for layer in hidden:
        x = leaky_relu(layer.weight @ x + layer.bias)
    return last.weight @ x + last.bias


@pytest.mark.parametrize("words", KINDS)
@pytest.mark.parametrize("sentences", KINDS)
@pytest.mark.parametrize("layers", [0, 2])
@torch.no_grad()
def test_documents_one_by_one(words, sentences, layers):
    model = documents({"attention": words}, {"attention": sentences}, layers=layers)
    expected = torch.stack([plain_document(model, text) for text in TEXTS])
    torch.testing.assert_close(scored(model, TEXTS).logits, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize(("words", "sentences"), list(zip(KINDS, KINDS[1:] + KINDS[:1], strict=True)))
@pytest.mark.parametrize("double", [False, True])
def test_the_same_in_any_company(words, sentences, double):
    """To 1e-6 as models are when training starts; and in double precision, where large weights leave no doubt."""
    levels = {"attention": words}, {"attention": sentences}
    model, tolerance = (documents(*levels).double(), 1e-10) if double else (documents(*levels, grow=False), 1e-6)
    sentence = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=9)
    check_company(model, st.lists(sentence, min_size=1, max_size=5), tolerance)


def check_company(model, text, tolerance):
    """Compare texts in batches with texts alone."""

    @settings(max_examples=5, deadline=None, derandomize=True)
    @given(data=st.data())
    def check(data):
        texts = data.draw(st.lists(text, min_size=1, max_size=6))
        order = data.draw(st.permutations(range(len(texts))))
        size = data.draw(st.integers(1, 6))
        together = model.parse([texts[i] for i in order], batch_size=size)
        for i, found in zip(order, together, strict=True):
            assert [s.words for s in found.sentences] == texts[i]
            assert_same_parse(found, model.parse([texts[i]])[0], tolerance)
        with torch.no_grad():
            logits = scored(model, texts).logits
            for i, each in enumerate(texts):
                torch.testing.assert_close(logits[i], scored(model, [each]).logits[0], rtol=tolerance, atol=tolerance)

    check()


@every_kind
def test_double_precision(kind):
    def make():
        return documents({"attention": kind}, {"attention": kind})

    with torch.no_grad():
        single, double = scored(make(), PAIRS).logits, scored(make().double(), PAIRS).logits
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)
    assert len(make().double().parse(PAIRS)) == 2


@every_kind
def test_autocast(kind):
    check_autocast(documents({"attention": kind}, {"attention": kind}))


def check_autocast(model):
    with torch.autocast("cpu", torch.bfloat16):
        logits = scored(model, PAIRS).logits
        parsed = model.parse(PAIRS)
    assert logits.isfinite().all()
    logits.float().sum().backward()
    for found, exact in zip(parsed, model.predict(PAIRS), strict=True):
        assert found.prediction.probabilities == pytest.approx(exact.probabilities, abs=0.25)


def test_padding_has_no_vector():
    model = documents().train()
    scored(model, TEXTS).logits.sum().backward()
    gradient = model.embedding.weight.grad
    assert gradient.is_sparse
    assert 0 not in gradient.coalesce().indices() or not gradient.to_dense()[0].any()
    assert not model.embedding.weight[0].any()


@torch.no_grad()
def test_other_marginals_of_sentences_leave_the_words_alone():
    """Against a model whose trees of sentences are all equally likely, since nothing tells them apart."""
    model, even = documents(), documents()
    for parameter in (even.sentences.attention.bilinear.weight, even.sentences.attention.root.weight):
        parameter.zero_()
    batch = batch_of(model, TEXTS)
    own, found = model(batch), model(batch, {"sentences": uniform})
    torch.testing.assert_close(found.logits, even(batch).logits)
    for mine, theirs in zip(own.levels["words"], found.levels["words"], strict=True):
        assert torch.equal(mine.words, theirs.words)
    reused = model(batch, {"sentences": uniform}, own)
    assert torch.equal(reused.logits, found.logits)
    assert reused.levels["words"] is own.levels["words"]
    both = model(batch, {"words": uniform, "sentences": uniform})
    again = model(batch, {"words": uniform, "sentences": uniform}, model(batch, {"words": uniform}))
    assert torch.equal(again.logits, both.logits)
    assert not torch.allclose(both.logits, found.logits)


def test_the_output():
    model = documents({"attention": "simple"}, {"attention": "projective"})
    batch = batch_of(model, TEXTS)
    output = model(batch)
    assert output.texts.shape == (3, model.sentences.size)
    torch.testing.assert_close(model.classifier(output.texts), output.logits)
    assert list(output.levels) == ["words", "sentences"]
    for level, lengths in (("words", batch.lengths), ("sentences", batch.counts)):
        assert [len(bucket.vectors) for bucket in output.levels[level]] == [len(n) for n in lengths]
    assert all(bucket.trees is None and bucket.marginals is not None for bucket in output.levels["words"])
    assert all(bucket.trees is not None for bucket in output.levels["sentences"])


@pytest.mark.parametrize("words", KINDS)
@pytest.mark.parametrize("sentences", KINDS)
def test_which_levels_have_trees(words, sentences):
    model = documents({"attention": words, "single_root": False}, {"attention": sentences})
    expected = {}
    if words in TREES:
        expected["words"] = TreeKind(words == "projective", False)
    if sentences in TREES:
        expected["sentences"] = TreeKind(sentences == "projective", True)
    assert model.trees == expected
    assert model.settings.has_trees == bool(expected)
    assert model.facts()["Attention over words"] == words
    assert model.facts()["Attention over sentences"] == sentences


@pytest.mark.parametrize("level", ["words", "sentences"])
def test_attention_needs_structure(level):
    levels = {"words": {"attention": "none"}, "sentences": {"attention": "none"}}
    assert StructuredDocumentsSettings(structure=0, **levels)
    with pytest.raises(ValidationError, match=f"structure: attention simple of {level} needs structure vectors"):
        StructuredDocumentsSettings(structure=0, **{**levels, level: {"attention": "simple"}})
