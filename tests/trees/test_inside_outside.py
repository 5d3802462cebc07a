"""Projective trees: against enumeration where that is possible, and against themselves where it is not."""

import functools
import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.testing import assert_close

from tests.trees.brute import all_trees
from treetext.trees.decoding import eisner
from treetext.trees.inference import projective_derivatives, projective_marginals
from treetext.trees.kernels import inside_outside_torch as on_device
from treetext.trees.kernels.exponential import exp
from treetext.trees.kernels.items import with_root
from treetext.trees.sampling import sample_projective, uniforms_needed
from treetext.trees.tree import PAD, Tree

single_or_many_roots = pytest.mark.parametrize("single_root", [True, False], ids=["single", "many"])


@functools.cache
def trees(n: int, single_root: bool) -> Tensor:
    """The heads of all projective trees of n words, (trees, n)."""
    return torch.tensor(all_trees(n, True, single_root))


def incidence(n: int, single_root: bool) -> Tensor:
    """Which arcs each tree has: (trees, n + 1, n), the root as the first head."""
    return torch.nn.functional.one_hot(trees(n, single_root) + 1, n + 1).mT.double()


def tree_scores(arcs: Tensor, roots: Tensor, single_root: bool) -> Tensor:
    """(batch, trees)"""
    heads = trees(roots.shape[1], single_root)
    scores = torch.cat([roots[:, None], arcs], 1)
    return scores[:, heads + 1, torch.arange(roots.shape[1])].sum(-1)


def problems(batch: int, n: int, scale: float = 1.0, forbid: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """Random arcs, roots and full lengths. Forbidden arcs always leave the chain from left to right."""
    random = torch.Generator().manual_seed(0)
    arcs = scale * torch.randn(batch, n, n, generator=random, dtype=torch.float64)
    roots = scale * torch.randn(batch, n, generator=random, dtype=torch.float64)
    forbidden = torch.rand(batch, n, n, generator=random) < forbid
    forbidden.diagonal(1, 1, 2).fill_(False)
    return arcs.masked_fill(forbidden, -math.inf), roots, torch.full((batch,), n)


def direction(arcs: Tensor, roots: Tensor) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    return (
        torch.randn(arcs.shape, generator=random, dtype=torch.float64),
        torch.randn(roots.shape, generator=random, dtype=torch.float64),
    )


def joined(arcs: Tensor, roots: Tensor) -> Tensor:
    """(batch, n + 1, n), the root as the first head."""
    return torch.cat([roots[:, None], arcs], 1)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
def test_log_partition_counts_trees(n: int) -> None:
    # The trees with a single root are sequence A006013 of the OEIS, those with many are A001764.
    zeros = torch.zeros(1, n, n), torch.zeros(1, n), torch.tensor([n])
    counts = math.comb(3 * n - 2, n - 1) // n, math.comb(3 * n, n) // (2 * n + 1)
    for single_root, count in zip((True, False), counts, strict=True):
        assert math.isclose(projective_marginals(*zeros, single_root)[0].item(), math.log(count), abs_tol=1e-12)
        if n <= 3:
            assert len(trees(n, single_root)) == count


@single_or_many_roots
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (30.0, 0.0), (1.0, 0.4)])
def test_against_enumeration(n: int, scale: float, forbid: float, single_root: bool) -> None:
    arcs, roots, lengths = problems(5, n, scale, forbid)
    log_z, *marginals = projective_marginals(arcs, roots, lengths, single_root)
    scores = tree_scores(arcs, roots, single_root)
    assert_close(log_z, scores.logsumexp(1), rtol=1e-13, atol=1e-13)
    expected = torch.einsum("bt,thj->bhj", scores.softmax(1), incidence(n, single_root))
    assert_close(joined(*marginals), expected, rtol=1e-11, atol=1e-300)

    d_arcs, d_roots = direction(arcs, roots)
    derivatives = projective_derivatives(arcs, roots, lengths, single_root, d_arcs, d_roots)
    along = tree_scores(d_arcs, d_roots, single_root)
    covariances = pairwise_covariances(scores.softmax(1), incidence(n, single_root), along)
    assert_close(joined(*derivatives), covariances, rtol=1e-9, atol=1e-14 if scale == 1.0 else 1e-100)


def pairwise_covariances(p: Tensor, has: Tensor, along: Tensor) -> Tensor:
    """Σ p(t) p(u) (d(t) - d(u)) over trees t with an arc and u without it: nothing large cancels."""
    weights = p[:, :, None] * p[:, None] * (along[:, :, None] - along[:, None])
    return torch.einsum("btu,thj,uhj->bhj", weights, has, 1 - has)


@single_or_many_roots
def test_small_derivatives_have_all_their_digits(single_root: bool) -> None:
    arcs, roots, lengths = problems(5, 4)
    arcs[:, 1, 2] += 50  # so the head of word 2 is all but certain, and hardly anything depends on it
    d_arcs, d_roots = direction(arcs, roots)
    d_arcs[:, :, [0, 1, 3]] = d_roots[:, [0, 1, 3]] = 0
    derivatives = joined(*projective_derivatives(arcs, roots, lengths, single_root, d_arcs, d_roots))
    p = tree_scores(arcs, roots, single_root).softmax(1)
    along = tree_scores(d_arcs, d_roots, single_root)
    covariances = pairwise_covariances(p, incidence(4, single_root), along)
    assert 0 < covariances.abs().max() < 1e-17
    assert_close(derivatives, covariances, rtol=1e-9, atol=1e-33)


@single_or_many_roots
def test_derivatives_against_finite_differences(single_root: bool) -> None:
    arcs, roots, lengths = problems(4, 12)
    lengths = torch.tensor([12, 5, 9, 1])
    d_arcs, d_roots = direction(arcs, roots)
    step = 1e-5
    higher, lower = (
        joined(*projective_marginals(arcs + h * d_arcs, roots + h * d_roots, lengths, single_root)[1:])
        for h in (step, -step)
    )
    derivatives = joined(*projective_derivatives(arcs, roots, lengths, single_root, d_arcs, d_roots))
    assert_close(derivatives, (higher - lower) / (2 * step), rtol=0, atol=1e-8)


@single_or_many_roots
@pytest.mark.parametrize("n", [2, 20, 60])
@pytest.mark.parametrize("root_score", [None, 1000.0, -1000.0])
def test_extreme_scores(n: int, root_score: float | None, single_root: bool) -> None:
    arcs, roots, lengths = problems(4, n, 1000.0, 0.1)
    if root_score is not None:
        roots.fill_(root_score)
    log_z, *marginals = projective_marginals(arcs, roots, lengths, single_root)
    assert log_z.isfinite().all()
    marginals = joined(*marginals)
    assert ((marginals >= 0) & (marginals <= 1)).all()
    assert_close(marginals.sum(1), torch.ones(4, n, dtype=torch.float64), rtol=0, atol=1e-9)
    if single_root:
        assert_close(marginals[:, 0].sum(1), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-9)
    assert (marginals[:, 1:][arcs == -math.inf] == 0).all()
    derivatives = joined(*projective_derivatives(arcs, roots, lengths, single_root, *direction(arcs, roots)))
    assert derivatives.isfinite().all()
    assert_close(derivatives.sum(1), torch.zeros(4, n, dtype=torch.float64), rtol=0, atol=1e-9)


@single_or_many_roots
def test_no_tree(single_root: bool) -> None:
    arcs, roots, lengths = problems(3, 4)
    roots[0] = -math.inf
    arcs[1, :, 2] = roots[1, 2] = -math.inf
    log_z, *marginals = projective_marginals(arcs, roots, lengths, single_root)
    derivatives = projective_derivatives(arcs, roots, lengths, single_root, *direction(arcs, roots))
    heads = eisner(arcs, roots, lengths, single_root)
    samples = sample_projective(arcs, roots, lengths, single_root, torch.rand(2, 3, 8, dtype=torch.float64))
    assert log_z[:2].tolist() == [-math.inf, -math.inf]
    assert log_z[2].isfinite()
    for numbers in (*marginals, *derivatives):
        assert (numbers[:2] == 0).all()
        assert numbers[2].isfinite().all()
    assert (heads[:2] == PAD).all()
    assert (samples[:, :2] == PAD).all()
    assert (heads[2] != PAD).all()
    assert (samples[:, 2] != PAD).all()


@single_or_many_roots
def test_padding_and_neighbours_are_invisible(single_root: bool) -> None:
    arcs, roots, _ = problems(6, 40)
    d_arcs, d_roots = direction(arcs, roots)
    lengths = torch.tensor([40, 1, 17, 2, 33, 39])
    uniforms = torch.rand(2, 6, 80, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for scores in (arcs, d_arcs):
        scores.diagonal(0, 1, 2).fill_(math.nan)
    for b, n in enumerate(lengths.tolist()):
        for numbers in (arcs, d_arcs, roots, d_roots):
            numbers[b, n:] = math.nan
        arcs[b, :, n:] = d_arcs[b, :, n:] = math.nan
    together = all_results(arcs, roots, lengths, single_root, d_arcs, d_roots, uniforms)
    for b, n in enumerate(lengths.tolist()):
        one = slice(b, b + 1)
        alone = all_results(
            arcs[one, :n, :n], roots[one, :n], lengths[one], single_root,
            d_arcs[one, :n, :n], d_roots[one, :n], uniforms[:, one],
        )  # fmt: skip
        for batched, single in zip(together, alone, strict=True):
            padded = torch.full_like(batched[b], 0 if batched.is_floating_point() else PAD)
            padded[tuple(map(slice, single.shape[1:]))] = single[0]
            assert torch.equal(batched[b], padded)


def all_results(arcs, roots, lengths, single_root, d_arcs, d_roots, uniforms) -> list[Tensor]:  # type: ignore[no-untyped-def]
    """All that there is to compute, batch first: two samples are two results."""
    scores = arcs, roots, lengths, single_root
    return [
        *projective_marginals(*scores),
        *projective_derivatives(*scores, d_arcs, d_roots),
        eisner(*scores),
        *sample_projective(*scores, uniforms),
    ]


def test_diagonal_is_zero() -> None:
    arcs, roots, lengths = problems(3, 6)
    scores = arcs, roots, lengths, False
    for numbers in (projective_marginals(*scores)[1], projective_derivatives(*scores, *direction(arcs, roots))[0]):
        assert (numbers.diagonal(0, 1, 2) == 0).all()


def test_any_dtype_in_and_out_but_log_z_in_float64() -> None:
    arcs, roots, lengths = problems(2, 5)
    arcs, roots = arcs.bfloat16(), roots.bfloat16()
    exact = projective_marginals(arcs.double(), roots.double(), lengths, True)
    results = projective_marginals(arcs.requires_grad_(), roots, lengths, True)
    for result, expected in zip(results, exact, strict=True):
        assert not result.requires_grad
        assert torch.equal(result, expected if result is results[0] else expected.bfloat16())


def test_empty_batch() -> None:
    arcs, roots, lengths = problems(0, 3)
    log_z, p_arcs, p_roots = projective_marginals(arcs, roots, lengths, True)
    assert (log_z.shape, p_arcs.shape, p_roots.shape) == ((0,), (0, 3, 3), (0, 3))
    assert eisner(arcs, roots, lengths, True).shape == (0, 3)


@single_or_many_roots
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (1.0, 0.5), (1000.0, 0.2)])
def test_tensor_operations_agree_with_kernels(scale: float, forbid: float, single_root: bool) -> None:
    arcs, roots, _ = problems(5, 13, scale, forbid)
    lengths = torch.tensor([13, 1, 7, 12, 13])
    roots[4] = -math.inf  # no tree
    arcs[2, 7:] = roots[2, 7:] = math.nan
    d_arcs, d_roots = direction(arcs, roots)
    d_arcs[2, 7:] = math.nan
    scores = with_root(arcs, roots)
    log_z, *marginals = projective_marginals(arcs, roots, lengths, single_root)
    derivatives = projective_derivatives(arcs, roots, lengths, single_root, d_arcs, d_roots)
    other_log_z, other_marginals = on_device.marginals(scores, lengths, single_root)
    other_derivatives = on_device.marginals_jvp(scores, lengths, single_root, with_root(d_arcs, d_roots))
    close = functools.partial(assert_close, rtol=1e-10, atol=1e-11)
    close(other_log_z, log_z)
    close(other_marginals[:, :, 1:], joined(*marginals))
    close(other_derivatives[:, :, 1:], joined(*derivatives))


@single_or_many_roots
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_best_tree_against_enumeration(n: int, single_root: bool) -> None:
    arcs, roots, lengths = problems(200, n, forbid=0.1)
    best = tree_scores(arcs, roots, single_root).argmax(1)
    assert torch.equal(eisner(arcs, roots, lengths, single_root), trees(n, single_root)[best])


@single_or_many_roots
def test_ties_are_broken_always_alike(single_root: bool) -> None:
    arcs, roots, lengths = problems(100, 5)
    arcs, roots = arcs.round(), roots.round()
    heads = eisner(arcs, roots, lengths, single_root)
    scores = joined(arcs, roots).gather(1, heads[:, None] + 1)[:, 0].sum(1)
    assert torch.equal(scores, tree_scores(arcs, roots, single_root).amax(1))
    assert torch.equal(heads, eisner(arcs.flip(0), roots.flip(0), lengths, single_root).flip(0))


@pytest.mark.parametrize("n", [300, 500])
def test_best_tree_of_a_long_sentence(n: int) -> None:
    arcs, roots, lengths = problems(1, n)
    heads = eisner(arcs, roots, lengths, True)
    assert Tree.from_heads(heads[0]).projective
    uniforms = torch.rand(1, 1, uniforms_needed(n), dtype=torch.float64)
    sample = sample_projective(arcs, roots, lengths, True, uniforms)[0]
    assert Tree.from_heads(sample[0]).projective
    score, sampled = (joined(arcs, roots).gather(1, h[:, None] + 1).sum() for h in (heads, sample))
    assert score > sampled


@single_or_many_roots
def test_samples_follow_the_distribution(single_root: bool) -> None:
    count, n = 20_000, 4
    arcs, roots, lengths = problems(1, n, 0.5)
    random = torch.Generator().manual_seed(0)
    uniforms = torch.rand(count, 1, uniforms_needed(n), dtype=torch.float64, generator=random)
    samples = sample_projective(arcs, roots, lengths, single_root, uniforms)[:, 0]
    found = (samples[:, None] == trees(n, single_root)).all(2)
    assert (found.sum(1) == 1).all()
    expected = tree_scores(arcs, roots, single_root)[0].softmax(0).numpy() * count
    assert expected.min() > 5  # as the test requires
    assert stats.chisquare(found.sum(0).numpy(), expected).pvalue > 1e-3
    wrong = tree_scores(1.1 * arcs, roots, single_root)[0].softmax(0).numpy() * count
    assert stats.chisquare(found.sum(0).numpy(), wrong).pvalue < 1e-3


@single_or_many_roots
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_extreme_uniforms_give_possible_trees(scale: float, single_root: bool) -> None:
    arcs, roots, lengths = problems(50, 8, scale, 0.7)
    for uniform in (0.0, np.nextafter(1.0, 0.0)):
        uniforms = torch.full((1, 50, uniforms_needed(8)), uniform, dtype=torch.float64)
        heads = sample_projective(arcs, roots, lengths, single_root, uniforms)[0]
        assert joined(arcs, roots).gather(1, heads[:, None] + 1).isfinite().all()
        assert all(Tree.from_heads(h, single_root=single_root).projective for h in heads)


def test_too_few_uniforms() -> None:
    with pytest.raises(ValueError, match="uniforms: expected at least 6 for each tree, got 5"):
        sample_projective(*problems(1, 3), True, torch.rand(1, 1, 5))


def test_exponential() -> None:
    assert exp(0.0) == 1.0
    assert exp(-math.inf) == exp(-1e300) == exp(-745.0) == 0.0
    for x in np.linspace(-708.0, 1e-9, 10_001):
        assert math.isclose(exp(x), math.exp(x), rel_tol=5e-16)
