"""Log partition functions, marginals and derivatives.

Projective: against enumeration. Non-projective: against many digits, for large scores, mutual attraction and far roots.
"""

import math
import tracemalloc

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.trees.brute import exact_derivative, exact_marginals
from tests.trees.problems import attracted, far_roots, noise
from tests.trees.projective import direction, incidence, joined, problems, tree_scores, trees
from treetext.trees import NonProjectiveTrees
from treetext.trees.decoding import eisner
from treetext.trees.inference import projective_derivatives, projective_marginals
from treetext.trees.kernels import nonprojective_torch
from treetext.trees.sampling import sample_projective
from treetext.trees.tree import PAD

single_or_many_roots = pytest.mark.parametrize("single_root", [True, False], ids=["single", "many"])
every_root = pytest.mark.parametrize("single_root", [True, False])


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


CASES = [
    *((noise, scale) for scale in (1, 10, 30, 100, 300, 1000)),
    *((attracted, strength) for strength in (10, 20, 40, 100, 1000)),
    *((far_roots, extent) for extent in (1, 1000)),
]
IDS = [f"{make_case.__name__}-{size}" for make_case, size in CASES]


def check(arcs: Tensor, roots: Tensor, single_root: bool) -> None:
    """Float32 scores: marginals within 1e-5, their derivatives within 1e-3 of the largest."""
    n = len(roots)
    arcs, roots = arcs.clone().requires_grad_(), roots.clone().requires_grad_()
    trees = NonProjectiveTrees(arcs, roots, single_root=single_root)
    log_z, p_arcs, p_roots = exact_marginals(arcs.detach(), roots.detach(), single_root)
    marginals = trees.marginals
    assert float(trees.log_partition.detach()) == pytest.approx(log_z, rel=1e-6, abs=1e-5)
    for p, exact in ((marginals.arcs.detach(), p_arcs), (marginals.roots.detach(), p_roots)):
        assert p.isfinite().all()
        assert float((p - exact).abs().max()) <= 1e-6
        assert float(p.min()) >= 0
        assert float(p.max()) <= 1
    on_device = nonprojective_torch.marginals(arcs.detach()[None], roots.detach()[None], torch.tensor([n]), single_root)
    assert float(on_device[0]) == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    assert float((on_device[1][0] - p_arcs).abs().max()) <= 1e-6
    assert float((marginals.arcs.sum(-2) + marginals.roots - 1).detach().abs().max()) <= 1e-6

    d_arcs, d_roots = noise(99, n, 1.0)
    ((marginals.arcs * d_arcs).sum() + (marginals.roots * d_roots).sum()).backward()
    assert arcs.grad is not None
    assert roots.grad is not None
    exact_arcs, exact_roots = exact_derivative(arcs.detach(), roots.detach(), d_arcs, d_roots, single_root)
    largest = max(float(exact_arcs.abs().max()), float(exact_roots.abs().max()))
    tiny = 1e-44  # what float32 does not hold
    also_arcs, also_roots = (x[0] for x in on_device[3](d_arcs[None], d_roots[None]))
    for grad, exact in (
        (arcs.grad, exact_arcs),
        (roots.grad, exact_roots),
        (also_arcs, exact_arcs),
        (also_roots, exact_roots),
    ):
        assert grad.isfinite().all()
        assert float((grad - exact).abs().max()) <= 1e-4 * largest + tiny


class TestAgainstManyDigits:
    @every_root
    @pytest.mark.parametrize(("make_case", "size"), CASES, ids=IDS)
    @pytest.mark.parametrize("n", [2, 6])
    def test_small(self, make_case, size: float, single_root: bool, n: int) -> None:  # type: ignore[no-untyped-def]
        for seed in range(2):
            check(*make_case(seed, n, size), single_root)

    @pytest.mark.parametrize(("make_case", "size"), CASES, ids=IDS)
    def test_twenty_nodes(self, make_case, size: float) -> None:  # type: ignore[no-untyped-def]
        check(*make_case(0, 20, size), single_root=True)

    @pytest.mark.slow
    @every_root
    @pytest.mark.parametrize(("make_case", "size"), CASES, ids=IDS)
    def test_twenty_nodes_of_many_seeds(self, make_case, size: float, single_root: bool) -> None:  # type: ignore[no-untyped-def]
        for seed in range(1, 6):
            check(*make_case(seed, 20, size), single_root)


class TestForbidden:
    """Arcs that are not there, in all ways that make float weights vanish."""

    @every_root
    @pytest.mark.parametrize("scale", [1.0, 100.0])
    def test_chain_and_star(self, single_root: bool, scale: float) -> None:
        n = 9
        arcs = torch.full((2, n, n), -torch.inf, dtype=torch.float64)
        roots = torch.full((2, n), -torch.inf, dtype=torch.float64)
        for j in range(1, n):
            arcs[0, j - 1, j] = scale * j
            arcs[1, 0, j] = -scale * j
        roots[:, 0] = scale
        trees = NonProjectiveTrees(arcs, roots, single_root=single_root)
        assert torch.equal(trees.marginals.arcs, (arcs > -torch.inf).double())
        assert trees.marginals.roots[:, 0].tolist() == [1.0, 1.0]
        torch.testing.assert_close(trees.log_partition, scale * torch.tensor([37.0, -35.0], dtype=torch.float64))

    def test_two_islands_have_no_tree_with_a_single_root(self) -> None:
        arcs = torch.full((1, 4, 4), -torch.inf)
        arcs[0, 0, 1] = arcs[0, 1, 0] = arcs[0, 2, 3] = arcs[0, 3, 2] = 0.0
        roots = torch.zeros(1, 4)
        assert NonProjectiveTrees(arcs, roots, single_root=False).log_partition.exp().item() == pytest.approx(9)
        with pytest.raises(ValueError, match=r"batch element \(0,\) has no tree"):
            NonProjectiveTrees(arcs, roots).marginals  # noqa: B018


class TestUnusualInputs:
    def test_finite_masks(self) -> None:
        """A large negative number is a common way to forbid something; what is left must not suffer."""
        for mask in (-1e9, -1e20, float(torch.finfo(torch.float32).min)):
            trees = NonProjectiveTrees(torch.zeros(3, 3), torch.tensor([0.0, 1.0, mask]))
            assert trees.marginals.roots.tolist() == pytest.approx([0.268941, 0.731059, 0.0], abs=1e-6)
            samples = trees.sample(2000, generator=torch.Generator().manual_seed(0))
            assert float((samples[:, 1] == -1).double().mean()) == pytest.approx(0.731, abs=0.04)
            arcs, roots = torch.zeros(4, 4), torch.arange(4.0)
            arcs[0, 1] = mask
            wanted = exact_marginals(arcs.clamp(min=-2000), roots, True)[2]
            torch.testing.assert_close(
                NonProjectiveTrees(arcs, roots).marginals.roots.double(), wanted, rtol=0, atol=1e-6
            )

    def test_strides(self) -> None:
        arcs, roots = torch.randn(9, 5, 5), torch.randn(9, 5)
        for odd in (arcs.mT, arcs.permute(2, 1, 0)[:, :5, :5], arcs[0].expand(9, 5, 5), arcs[:, :4, :4].flip(0)):
            odd_roots = roots[: len(odd), : odd.shape[-1]]
            given = odd.detach().requires_grad_()
            marginals = NonProjectiveTrees(given, odd_roots).marginals.arcs
            assert torch.equal(
                marginals,
                NonProjectiveTrees(odd.clone(memory_format=torch.contiguous_format), odd_roots).marginals.arcs,
            )
            (marginals * torch.randn(9, 1, 1)[: len(odd)]).sum().backward()

    def test_lengths_are_ours(self) -> None:
        arcs, roots, lengths = torch.randn(2, 4, 4, requires_grad=True), torch.randn(2, 4), torch.tensor([4, 3])
        loss = NonProjectiveTrees(arcs, roots, lengths).marginals.arcs.square().sum()
        lengths.fill_(2)
        loss.backward()
        assert arcs.grad is not None
        assert arcs.grad.isfinite().all()
        assert arcs.grad[0, 3].abs().sum() > 0

    def test_gradients_survive_a_look_without_them(self) -> None:
        arcs, roots = torch.randn(2, 4, 4, requires_grad=True), torch.randn(2, 4)
        trees = NonProjectiveTrees(arcs, roots)
        with torch.no_grad():
            trees.mbr()
        trees.log_partition.sum().backward()
        assert arcs.grad is not None
        with torch.inference_mode():
            assert NonProjectiveTrees(arcs, roots).marginals.arcs.isfinite().all()


class TestLarge:
    @every_root
    def test_columns_sum_to_one(self, single_root: bool) -> None:
        for n, scale in ((150, 1.0), (150, 20.0), (300, 3.0)):
            generator = torch.Generator().manual_seed(n)
            arcs = scale * torch.randn(2, n, n, generator=generator)
            roots = scale * torch.randn(2, n, generator=generator)
            marginals = NonProjectiveTrees(arcs, roots, single_root=single_root).marginals
            torch.testing.assert_close(marginals.arcs.sum(-2) + marginals.roots, torch.ones(2, n), rtol=0, atol=1e-5)
            if single_root:
                torch.testing.assert_close(marginals.roots.sum(-1), torch.ones(2), rtol=0, atol=1e-5)

    def test_memory_grows_with_the_square(self) -> None:
        def peak(n: int) -> int:
            arcs, roots = torch.randn(1, n, n, requires_grad=True), torch.randn(1, n)
            NonProjectiveTrees(arcs, roots).marginals.arcs.sum().backward()  # compiled before it is measured
            tracemalloc.start()
            NonProjectiveTrees(arcs, roots).marginals.arcs.sum().backward()
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return most

        assert peak(400) < 4.5 * peak(200)
