"""A whole level: the parts put together, and what holds of all of it."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from treetext.nn import ENCODERS, KINDS, TREES, Buckets, Level, pool
from treetext.trees import Marginals, TreeDistribution

every_encoder = pytest.mark.parametrize("encoder", list(ENCODERS))
every_attention = pytest.mark.parametrize("attention", KINDS)
LENGTHS = torch.tensor([7, 5, 2, 1])


def inputs(dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(4, 7, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)


def level(**options: Any) -> Level:
    torch.manual_seed(0)
    return Level(6, 4, 3, **options)


@every_encoder
@every_attention
def test_is_the_sum_of_its_parts(encoder: str, attention: str) -> None:
    whole = level(encoder=encoder, attention=attention)
    x = inputs()
    vectors, words, marginals, _ = whole(x, LENGTHS)
    assert type(whole.encoder) is ENCODERS[encoder]
    attended = whole.attention(*whole.encoder(x, LENGTHS), LENGTHS)
    assert torch.equal(words, attended[0])
    assert torch.equal(vectors, pool(words, LENGTHS))
    assert (marginals is None) == (attention == "none")
    assert vectors.shape == (4, whole.size) == (4, 8)


@every_encoder
@every_attention
def test_padding_is_invisible(encoder: str, attention: str) -> None:
    whole, x = level(encoder=encoder, attention=attention), inputs()
    for b, n in enumerate(LENGTHS.tolist()):
        x[b, n:] = 1e4
    vectors, words, marginals, _ = whole(x, LENGTHS)
    vectors.square().sum().backward()
    padded = [p.grad.clone() for p in whole.parameters() if p.grad is not None]
    whole.zero_grad()
    for b, n in enumerate(LENGTHS.tolist()):
        alone = whole(x[b : b + 1, :n])
        torch.testing.assert_close(vectors[b], alone.vectors[0], rtol=0, atol=1e-6)
        torch.testing.assert_close(words[b, :n], alone.words[0], rtol=0, atol=1e-6)
        if marginals is not None and alone.marginals is not None:
            torch.testing.assert_close(marginals.arcs[b, :n, :n], alone.marginals.arcs[0], rtol=0, atol=1e-6)
        alone.vectors.square().sum().backward()
    for a, b in zip(padded, (p.grad for p in whole.parameters() if p.grad is not None), strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", ["max", "mean", "sum", "root"])
def test_pooling(pooling: str) -> None:
    vectors, words, marginals, _ = level(pooling=pooling)(inputs(), LENGTHS)
    assert marginals is not None
    weights = marginals.roots if pooling == "root" else None
    assert torch.equal(vectors, pool(words, LENGTHS, pooling, weights))


@pytest.mark.parametrize("pooling", ["max", "mean", "sum", "root"])
def test_other_marginals(pooling: str) -> None:
    """The attention gathers by them, and the pooling by root weighs by them."""
    whole, x = level(pooling=pooling), inputs()
    own = whole(x, LENGTHS)

    def other(trees: TreeDistribution) -> Marginals:
        return Marginals(trees.marginals.arcs.mT, trees.marginals.roots.square())

    found = whole(x, LENGTHS, other)
    assert torch.equal(found.marginals.arcs, own.marginals.arcs.mT)
    assert torch.equal(found.marginals.roots, own.marginals.roots.square())
    attended = whole.attention(*whole.encoder(x, LENGTHS), LENGTHS, other)
    assert torch.equal(found.words, attended[0])
    assert not torch.allclose(found.words[0], own.words[0], atol=1e-3)
    weights = found.marginals.roots if pooling == "root" else None
    assert torch.equal(found.vectors, pool(found.words, LENGTHS, pooling, weights))
    assert torch.equal(found.trees.arcs, own.trees.arcs)
    for same in (whole(x, LENGTHS, lambda trees: trees.marginals), whole(x, LENGTHS)):
        assert torch.equal(same.vectors, own.vectors)


@every_attention
def test_has_trees(attention: str) -> None:
    whole = level(attention=attention)
    assert whole.has_trees == (whole(inputs(), LENGTHS).trees is not None) == (attention in TREES)


@every_encoder
@every_attention
def test_buckets_together_as_one_by_one(encoder: str, attention: str) -> None:
    """Values, trees and gradients; sequences of a bucket have other neighbours in each of the two."""
    whole, x = level(encoder=encoder, attention=attention), inputs()
    parts = [x[:2], x[2:, :2]]
    buckets = Buckets.of([part.shape[:2] for part in parts], [LENGTHS[:2], LENGTHS[2:]])
    together = whole.compose(torch.cat([part.transpose(0, 1).flatten(0, 1) for part in parts]), buckets)
    sum(bucket.vectors.square().sum() for bucket in together).backward()
    gradients = [p.grad.clone() for p in whole.parameters()]
    whole.zero_grad()
    for found, part, lengths in zip(together, parts, (LENGTHS[:2], LENGTHS[2:]), strict=True):
        alone = whole(part, lengths)
        torch.testing.assert_close(found.vectors, alone.vectors, rtol=0, atol=1e-6)
        for b, n in enumerate(lengths.tolist()):
            torch.testing.assert_close(found.words[b, :n], alone.words[b, :n], rtol=0, atol=1e-6)
        if found.marginals is not None:
            torch.testing.assert_close(tuple(found.marginals), tuple(alone.marginals), rtol=0, atol=1e-6)
        alone.vectors.square().sum().backward()
    for a, b in zip(gradients, (p.grad for p in whole.parameters()), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_options_reach_the_attention() -> None:
    whole = level(children=False, activation="leaky_relu", single_root=False, temperature=3.0, gated=True)
    found = whole.attention
    options = (found.with_children, found.activation, found.single_root, found.temperature, found.gated)
    assert options == (False, "leaky_relu", False, 3.0, True)
    assert whole.attention.combine.weight.shape == (8, 16)


def test_no_structure_for_no_attention() -> None:
    assert Level(6, 4, 0, attention="none")(inputs(), LENGTHS).vectors.shape == (4, 8)


@every_encoder
@every_attention
def test_learns(encoder: str, attention: str) -> None:
    """Each parameter that is used gets a gradient that is not 0."""
    whole = level(encoder=encoder, attention=attention)
    whole(inputs(), LENGTHS).vectors.square().sum().backward()
    assert whole.parameters()
    for name, parameter in whole.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


@every_attention
def test_saved_and_loaded(attention: str) -> None:
    whole, other = level(attention=attention), Level(6, 4, 3, attention=attention)
    other.load_state_dict(load(save(whole.state_dict())))
    assert torch.equal(whole(inputs(), LENGTHS).vectors, other(inputs(), LENGTHS).vectors)


def test_made_without_memory() -> None:
    with torch.device("meta"):
        whole = Level(6, 4, 3)
    assert {p.device.type for p in whole.parameters()} == {"meta"}
    whole.to_empty(device="cpu").load_state_dict(level().state_dict())
    assert torch.equal(whole(inputs(), LENGTHS).vectors, level()(inputs(), LENGTHS).vectors)


@every_attention
@pytest.mark.parametrize(
    ("encoder", "dtype"),
    [("bilstm", torch.bfloat16), ("feedforward", torch.bfloat16), ("feedforward", torch.float16)],
)
def test_autocast(attention: str, encoder: str, dtype: torch.dtype) -> None:
    whole = level(attention=attention, encoder=encoder)
    full = whole(inputs(), LENGTHS).vectors
    with torch.autocast("cpu", dtype):
        mixed = whole(inputs(), LENGTHS).vectors
    torch.testing.assert_close(mixed.float(), full, rtol=0, atol=0.05)
    mixed.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in whole.parameters() if p.grad is not None)


@every_encoder
@every_attention
def test_any_integers_as_lengths(encoder: str, attention: str) -> None:
    whole = level(encoder=encoder, attention=attention)
    assert torch.equal(whole(inputs(), LENGTHS.int()).vectors, whole(inputs(), LENGTHS).vectors)


def test_inference_mode() -> None:
    with torch.inference_mode():
        found = level()(inputs(), LENGTHS).vectors
    assert torch.equal(found, level()(inputs(), LENGTHS).vectors)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "gru"}, "encoder: expected one of bilstm, feedforward, affine, local, got 'gru'"),
        ({"attention": "full"}, "attention: expected one of none, simple, projective, nonprojective, got 'full'"),
        ({"pooling": "min"}, "pooling: expected one of max, mean, sum, root, got 'min'"),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        level(**options)


@pytest.mark.parametrize("attention", ["none", "simple"])
def test_no_root_to_pool_by(attention: str) -> None:
    with pytest.raises(ValueError, match=f"pooling: root needs .*, got attention '{attention}'"):
        level(attention=attention, pooling="root")


def test_compiles() -> None:
    """In a process of its own, since torch cannot compile the checks of types that the tests add."""
    program = """
import torch
from treetext.nn import Level
x, lengths = torch.randn(3, 7, 6), torch.tensor([7, 4, 1])
# Torch leaves LSTMs uncompiled, and we leave trees.
for encoder, attention, whole in (("feedforward", "simple", True), ("bilstm", "nonprojective", False)):
    level = Level(6, 4, 3, encoder=encoder, attention=attention)
    found = []
    for run in (level, torch.compile(level, backend="aot_eager", fullgraph=whole)):
        level.zero_grad()
        vectors = run(x, lengths).vectors
        vectors.square().sum().backward()
        found.append([vectors, *(p.grad.clone() for p in level.parameters())])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_imports_nothing_heavy() -> None:
    program = "import sys, treetext.nn; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"lightning", "datasets", "spacy", "gensim", "sklearn", "torch._dynamo", "treetext.data"} & set(
        done.stdout.split()
    )
