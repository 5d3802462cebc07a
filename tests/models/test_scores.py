"""Scores: against the same model written with loops, alone and in any batch, with gradients."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import leaky_relu, relu, softmax
from treetext.text import batch

from tests.models.building import WORDS, documents, pairs
from treetext.nn import ENCODERS, KINDS, POOLINGS

TREES = ("projective", "nonprojective")
LEVELS = [
    {"attention": attention, "encoder": encoder, "pooling": pooling}
    for attention, encoder, pooling in product(KINDS, ENCODERS, POOLINGS)
    if pooling != "root" or attention in TREES
]
sentence = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=9)
document = st.lists(sentence, min_size=1, max_size=5)
TEXTS = [
    [["the", "dog", "slept", "."], ["it", "was", "good"], ["very"]],
    [["a", "film"]],
    [["i", "saw", "the", "unknown", "cat", "and", "it", "slept", "."], ["not", "bad"]],
]


def scored(model, texts):
    tensors = model.batch(batch([model._ids(text) for text in texts], [0] * len(texts), range(len(texts))))
    return model.score(tensors)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: "-".join(level.values()))
def test_every_level_scores_and_learns(level):
    for words, sentences in ((level, {}), ({}, level)):
        model = documents(words, sentences).train()
        logits = scored(model, TEXTS).logits
        assert logits.shape == (3, 3)
        logits.square().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            gradient = parameter.grad.coalesce().values() if parameter.grad.is_sparse else parameter.grad
            assert gradient.isfinite().all(), name
            assert gradient.abs().max() > 0, name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_every_pair_model_scores_and_learns(kind, aggregation):
    model = pairs(kind, aggregation=aggregation).train()
    logits = scored(model, [text[:2] for text in TEXTS if len(text) > 1]).logits
    logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        gradient = parameter.grad.coalesce().values() if parameter.grad.is_sparse else parameter.grad
        assert gradient.isfinite().all(), name


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


def perceptron(layers, x):
    """Two layers, each with a ReLU; dropout does nothing here."""
    for layer in (layers[1], layers[4]):
        x = relu(layer.weight @ x + layer.bias)
    return x


def plain_pair(model, text):
    """Parikh et al. (2016): attend, compare, aggregate; compared, if `enhanced`, as by Chen et al. (2017)."""
    sides = []
    for words in text:
        ids = torch.tensor([model.vocabulary.index.get(word, 1) for word in words])
        sides.append(model.words(model.embedding.weight[ids][None]).words[0])
    a, b = sides
    e = torch.tensor([[perceptron(model.align, x) @ perceptron(model.align, y) for y in b] for x in a])
    beta = [sum(p * y for p, y in zip(softmax(e[i], 0), b, strict=True)) for i in range(len(a))]
    alpha = [sum(p * x for p, x in zip(softmax(e[:, j], 0), a, strict=True)) for j in range(len(b))]

    def compared(x, y):
        more = [x - y, x * y] if model.settings.enhanced else []
        return perceptron(model.compare, torch.cat([x, y, *more]))

    v1 = sum(compared(x, y) for x, y in zip(a, beta, strict=True))
    v2 = sum(compared(y, x) for y, x in zip(b, alpha, strict=True))
    if model.settings.aggregation == "mean":
        v1, v2 = v1 / len(a), v2 / len(b)
    last = model.classifier[1]
    return last.weight @ perceptron(model.classifier[0], torch.cat([v1, v2])) + last.bias


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"aggregation": "mean"}, {"enhanced": True}], ids=str)
@torch.no_grad()
def test_pairs_one_by_one(kind, options):
    model = pairs(kind, **options)
    texts = [
        [["the", "dog", "slept"], ["a", "cat", "is", "very", "good", "."]],
        [["it"], ["i"]],
        TEXTS[2],
        TEXTS[0][:2],
    ]
    expected = torch.stack([plain_pair(model, text) for text in texts])
    torch.testing.assert_close(scored(model, texts).logits, expected, rtol=1e-5, atol=1e-5)


MAKERS = [
    *(
        partial(documents, {"attention": a}, {"attention": b})
        for a, b in zip(KINDS, KINDS[1:] + KINDS[:1], strict=True)
    ),
    *(partial(pairs, kind) for kind in KINDS),
]
every_model = pytest.mark.parametrize(
    "make", MAKERS, ids=[*(f"documents-{k}" for k in KINDS), *map("pairs-{}".format, KINDS)]
)


@every_model
@pytest.mark.parametrize("double", [False, True])
def test_the_same_in_any_company(make, double):
    """To 1e-6 as models are when training starts; and in double precision, where large weights leave no doubt."""
    model, tolerance = (make().double(), 1e-10) if double else (make(grow=False), 1e-6)

    @settings(max_examples=5, deadline=None, derandomize=True)
    @given(data=st.data())
    def check(data):
        one = st.lists(sentence, min_size=2, max_size=2) if model.settings.task == "pairs" else document
        texts = data.draw(st.lists(one, min_size=1, max_size=6))
        order = data.draw(st.permutations(range(len(texts))))
        size = data.draw(st.integers(1, 6))
        together = model.parse([texts[i] for i in order], batch_size=size)
        for i, found in zip(order, together, strict=True):
            assert [s.words for s in found.sentences] == texts[i]
            same(found, model.parse([texts[i]])[0], tolerance)
        with torch.no_grad():
            logits = scored(model, texts).logits
            for i, text in enumerate(texts):
                torch.testing.assert_close(logits[i], scored(model, [text]).logits[0], rtol=tolerance, atol=tolerance)

    check()


def same(found, alone, tolerance):
    """Probabilities and weights, and trees that are equally good (where two are, rounding chooses)."""
    assert list(found.prediction.probabilities) == list(alone.prediction.probabilities)
    assert found.prediction.probabilities == pytest.approx(alone.prediction.probabilities, abs=tolerance)
    for mine, theirs in [(found, alone), *zip(found.sentences, alone.sentences, strict=True)]:
        assert (mine.weights is None) == (theirs.weights is None)
        if mine.weights is not None:
            for x, y in zip(mine.weights, theirs.weights, strict=True):
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-6)
        assert (mine.tree is None) == (theirs.tree is None)
        if mine.tree is not None:
            assert value(mine.tree, theirs.weights) == pytest.approx(value(theirs.tree, theirs.weights), abs=1e-5)


def value(tree, weights):
    """The sum of the marginals of a tree."""
    return sum(weights.roots[j] if i < 0 else weights.arcs[i, j] for j, i in enumerate(tree.heads))


@every_model
def test_double_precision(make):
    texts = [text[:2] for text in TEXTS if len(text) > 1]
    with torch.no_grad():
        single, double = scored(make(), texts).logits, scored(make().double(), texts).logits
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)
    assert len(make().double().parse(texts)) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_autocast(kind):
    for model in (documents({"attention": kind}, {"attention": kind}), pairs(kind)):
        texts = [text[:2] for text in TEXTS if len(text) > 1]
        with torch.autocast("cpu", torch.bfloat16):
            logits = scored(model, texts).logits
            parsed = model.parse(texts)
        assert logits.isfinite().all()
        logits.float().sum().backward()
        expected = model.predict(texts)
        for found, exact in zip(parsed, expected, strict=True):
            assert found.prediction.probabilities == pytest.approx(exact.probabilities, abs=0.25)


def test_padding_has_no_vector():
    model = documents().train()
    scored(model, TEXTS).logits.sum().backward()
    assert (
        0 not in model.embedding.weight.grad.coalesce().indices() or not model.embedding.weight.grad.to_dense()[0].any()
    )
    assert not model.embedding.weight[0].any()
