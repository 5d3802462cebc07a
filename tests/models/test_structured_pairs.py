"""Structured models of pairs: against the same model written with loops, alone and in any batch, with gradients."""

import pytest
import torch
from hypothesis import strategies as st
from pydantic import ValidationError
from torch.nn.functional import relu, softmax

from tests.models.building import PAIRS, TEXTS, WORDS, batch_of, pairs, scored
from tests.models.model_test import ModelTest, gradients, uniform
from tests.models.test_structured_documents import RANDOM, SIZES, check_autocast, check_company
from treetext.models import LevelSettings, StructuredPairs, StructuredPairsSettings, TreeKind
from treetext.models.structured_pairs import sides
from treetext.nn import KINDS

every_kind = pytest.mark.parametrize("kind", KINDS)


class TestStructuredPairs(ModelTest):
    """As the settings are if none is given but sizes."""

    model = StructuredPairs
    settings = StructuredPairsSettings(**SIZES)


class TestProjective(ModelTest):
    model = StructuredPairs
    settings = StructuredPairsSettings(
        **SIZES,
        words=LevelSettings(attention="projective", encoder="affine", activation="product"),
        vocabulary=RANDOM,
        enhanced=True,
        aggregation="mean",
    )


class TestWithoutTrees(ModelTest):
    model = StructuredPairs
    settings = StructuredPairsSettings(**SIZES, words=LevelSettings(attention="simple"), vocabulary=RANDOM)


@every_kind
@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_scores_and_learns(kind, aggregation):
    model = pairs(kind, aggregation=aggregation).train()
    scored(model, PAIRS).logits.square().sum().backward()
    for name, gradient in gradients(model).items():
        assert gradient.isfinite().all(), name


def perceptron(layers, x):
    """Two layers, each with a ReLU; dropout does nothing here."""
    for layer in (layers[1], layers[4]):
        x = relu(layer.weight @ x + layer.bias)
    return x


def plain_pair(model, text):
    """Parikh et al. (2016): attend, compare, aggregate; compared, if `enhanced`, as by Chen et al. (2017)."""
    both = []
    for words in text:
        ids = torch.tensor([model.vocabulary.index.get(word, 1) for word in words])
        both.append(model.words(model.embedding.weight[ids][None]).words[0])
    a, b = both
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


@every_kind
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


@every_kind
@pytest.mark.parametrize("double", [False, True])
def test_the_same_in_any_company(kind, double):
    """To 1e-6 as models are when training starts; and in double precision, where large weights leave no doubt."""
    model, tolerance = (pairs(kind).double(), 1e-10) if double else (pairs(kind, grow=False), 1e-6)
    sentence = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=9)
    check_company(model, st.lists(sentence, min_size=2, max_size=2), tolerance)


@every_kind
def test_double_precision(kind):
    with torch.no_grad():
        single, double = scored(pairs(kind), PAIRS).logits, scored(pairs(kind).double(), PAIRS).logits
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)
    assert len(pairs(kind).double().parse(PAIRS)) == 2


@every_kind
def test_autocast(kind):
    check_autocast(pairs(kind))


def test_the_sides_of_pairs():
    model = pairs()
    texts = [[["the", "dog", "slept"], ["a"]], [["it"], ["i", "saw", "it", "."]], PAIRS[0]]
    batch = batch_of(model, texts)
    ids = torch.cat([words.flatten() for words in batch.words])
    for which, side in enumerate(sides(batch)):
        found = [ids[row[real]].tolist() for row, real in zip(side.words, side.real, strict=True)]
        assert found == [model.vocabulary.ids(text[which]) for text in texts]
        assert side.words.shape == side.real.shape == (3, max(len(text[which]) for text in texts))


@torch.no_grad()
def test_words_are_reused():
    model = pairs()
    batch = batch_of(model, PAIRS)
    own, other = model(batch), model(batch, {"words": uniform})
    assert not torch.allclose(own.logits, other.logits)
    assert torch.equal(model(batch, {"words": uniform}, other).logits, other.logits)
    assert torch.equal(model(batch, {"words": uniform}, own).logits, own.logits), "those that are given"
    assert torch.equal(model(batch, {"sentences": uniform}).logits, own.logits), "a pair has no such level"


@every_kind
def test_which_levels_have_trees(kind):
    model = pairs(kind)
    trees = kind in ("projective", "nonprojective")
    assert model.trees == ({"words": TreeKind(kind == "projective", True)} if trees else {})
    assert model.settings.has_trees == trees
    assert list(scored(model, PAIRS).levels) == ["words"]


def test_attention_needs_structure():
    assert StructuredPairsSettings(structure=0, words={"attention": "none"})
    with pytest.raises(ValidationError, match="structure: attention nonprojective of words needs structure vectors"):
        StructuredPairsSettings(structure=0)
