"""Both distributions through one set of tests: against enumeration, and for what holds of any distribution."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from tests.trees.brute import Enumeration
from tests.trees.problems import scores, with_forbidden
from treetext.trees import PAD, ROOT, NonProjectiveTrees, ProjectiveTrees, Tree, TreeDistribution, infer_together

Kind = type[TreeDistribution]

every_kind = pytest.mark.parametrize("kind", [NonProjectiveTrees, ProjectiveTrees])
every_root = pytest.mark.parametrize("single_root", [True, False])


@every_kind
@every_root
class TestAgainstEnumeration:
    @pytest.fixture(params=[1, 2, 3, 4, 5])
    def n(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)

    @pytest.fixture(params=[1.0, 10.0, 100.0, 1000.0, "forbidden"])
    def problem(self, request: pytest.FixtureRequest, n: int) -> tuple[Tensor, Tensor]:
        if request.param == "forbidden":
            return with_forbidden(*scores(20, n))
        return scores(20, n, scale=request.param)

    def enumerations(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> list[Enumeration]:
        return [Enumeration(kind, arcs, roots, single_root) for arcs, roots in zip(*problem, strict=True)]

    def test_log_partition_and_marginals(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> None:
        trees = kind(*problem, single_root=single_root)
        marginals = torch.cat([trees.marginals.arcs, trees.marginals.roots[:, None]], 1)
        for b, truth in enumerate(self.enumerations(kind, single_root, problem)):
            torch.testing.assert_close(trees.log_partition[b], truth.log_partition, rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(marginals[b], truth.marginals, rtol=0, atol=1e-9)

    def test_derivative_of_marginals(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> None:
        arcs, roots = (x.clone().requires_grad_() for x in problem)
        trees = kind(arcs, roots, single_root=single_root)
        d_arcs, d_roots = scores(*roots.shape, seed=1)
        ((trees.marginals.arcs * d_arcs).sum() + (trees.marginals.roots * d_roots).sum()).backward()
        assert arcs.grad is not None
        assert roots.grad is not None
        gradient = torch.cat([arcs.grad, roots.grad[:, None]], 1)
        for b, truth in enumerate(self.enumerations(kind, single_root, problem)):
            wanted = truth.derivative(torch.cat([d_arcs[b], d_roots[b, None]]))
            torch.testing.assert_close(gradient[b], wanted, rtol=0, atol=float(1e-4 * wanted.abs().max() + 1e-300))

    def test_log_prob(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> None:
        for arcs, roots, truth in zip(*problem, self.enumerations(kind, single_root, problem), strict=True):
            count = len(truth.trees)
            trees = kind(arcs.expand(count, -1, -1), roots.expand(count, -1), single_root=single_root)
            torch.testing.assert_close(trees.log_prob(truth.trees), truth.log_probs, rtol=1e-9, atol=1e-9)

    def test_entropy_and_divergence(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> None:
        trees = kind(*problem, single_root=single_root)
        others = [x.flip(0) for x in problem]
        other = kind(*others, single_root=single_root)
        entropy, cross, kl = trees.entropy, trees.cross_entropy(other), trees.kl(other)
        theirs = self.enumerations(kind, single_root, (others[0], others[1]))
        for b, (p, q) in enumerate(zip(self.enumerations(kind, single_root, problem), theirs, strict=True)):
            # 0 times an infinite log probability is 0.
            mine = torch.where(p.p > 0, p.log_probs, 0)
            wanted = torch.where(p.p > 0, q.log_probs, 0)
            torch.testing.assert_close(entropy[b], -p.expected(mine), rtol=1e-7, atol=1e-8)
            torch.testing.assert_close(cross[b], -p.expected(wanted), rtol=1e-7, atol=1e-9)
            torch.testing.assert_close(kl[b], p.expected(mine - wanted), rtol=1e-7, atol=1e-8)

    def test_mode_and_top(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> None:
        problem = (problem[0][:4], problem[1][:4])
        trees = kind(*problem, single_root=single_root)
        mode, top = trees.mode(), trees.top(8)
        for b, truth in enumerate(self.enumerations(kind, single_root, problem)):
            ranked, order = truth.log_probs.sort(descending=True, stable=True)
            ranked, order = ranked[ranked > -torch.inf][:8], order[ranked > -torch.inf][:8]
            assert mode[b].tolist() == truth.trees[order[0]].tolist()
            assert top.heads[: len(order), b].tolist() == truth.trees[order].tolist()
            torch.testing.assert_close(top.log_probs[: len(order), b], ranked, rtol=1e-9, atol=1e-9)
            assert (top.heads[len(order) :, b] == PAD).all()
            assert (top.log_probs[len(order) :, b] == -torch.inf).all()

    def test_mbr(self, kind: Kind, single_root: bool, problem: tuple[Tensor, Tensor]) -> None:
        mbr = kind(*problem, single_root=single_root).mbr()
        for b, truth in enumerate(self.enumerations(kind, single_root, problem)):
            right = torch.einsum("tij,ij->t", truth.parts, truth.marginals).masked_fill(truth.p == 0, 0)
            chosen = (truth.trees == mbr[b]).all(-1)
            assert chosen.sum() == 1
            assert float(right.max() - right[chosen]) < 1e-9


@every_kind
@every_root
class TestAnyDistribution:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
    def test_results_have_the_type_of_the_scores(self, kind: Kind, single_root: bool, dtype: torch.dtype) -> None:
        arcs, roots = (x.requires_grad_() for x in scores(2, 6, dtype=dtype))
        trees = kind(arcs, roots, single_root=single_root)
        exact = kind(arcs.double(), roots.double(), single_root=single_root)
        for result, wanted in (
            (trees.log_partition, exact.log_partition),
            (trees.marginals.arcs, exact.marginals.arcs),
            (trees.entropy, exact.entropy),
            (trees.log_prob(trees.mode()), exact.log_prob(trees.mode())),
        ):
            assert result.dtype == dtype
            torch.testing.assert_close(result, wanted.to(dtype))
        trees.marginals.arcs.square().sum().backward()
        assert arcs.grad is not None
        assert arcs.grad.dtype == dtype

    def test_batch_shapes(self, kind: Kind, single_root: bool) -> None:
        arcs, roots = scores(6, 4)
        flat = kind(arcs, roots, single_root=single_root)
        shaped = kind(arcs.reshape(2, 3, 4, 4), roots.reshape(2, 3, 4), single_root=single_root)
        alone = kind(arcs[5], roots[5], single_root=single_root)
        empty = kind(arcs[:0], roots[:0], single_root=single_root)
        assert shaped.marginals.arcs.shape == (2, 3, 4, 4)
        assert shaped.sample(7).shape == (7, 2, 3, 4)
        assert shaped.top(3).log_probs.shape == (3, 2, 3)
        assert torch.equal(shaped.entropy.flatten(), flat.entropy)
        assert torch.equal(alone.marginals.arcs, flat.marginals.arcs[5])
        assert alone.mode().shape == (4,)
        assert alone.log_partition.shape == ()
        assert empty.marginals.roots.shape == (0, 4)
        assert empty.mode().shape == (0, 4)
        assert empty.sample(2).shape == (2, 0, 4)

    @given(data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_padding_is_invisible(self, kind: Kind, single_root: bool, data: st.DataObject) -> None:
        lengths = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=20))
        extra = data.draw(st.integers(0, 20))
        scale = data.draw(st.sampled_from([0.1, 1.0, 10.0, 40.0, 1000.0]))
        dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
        n = max(lengths) + extra
        arcs, roots = scores(len(lengths), n, data.draw(st.integers(0, 1000)), scale, dtype)
        d_arcs, d_roots = scores(len(lengths), n, 1, 1.0, dtype)
        if data.draw(st.booleans()):
            arcs, roots = with_forbidden(arcs, roots)
        for b, length in enumerate(lengths):  # whatever stands in the padding and on the diagonal
            arcs[b, length:], arcs[b, :, length:], roots[b, length:] = torch.nan, torch.inf, torch.nan
            arcs[b].fill_diagonal_(torch.nan)

        def results(
            arcs: Tensor, roots: Tensor, lengths: Tensor | None, d_arcs: Tensor, d_roots: Tensor
        ) -> list[Tensor]:
            arcs, roots = arcs.clone().requires_grad_(), roots.clone().requires_grad_()
            trees = kind(arcs, roots, lengths, single_root)
            loss = (trees.marginals.arcs * d_arcs).sum() + (trees.marginals.roots * d_roots).sum()
            loss.backward()
            assert arcs.grad is not None
            assert roots.grad is not None
            return [
                trees.log_partition.detach(), trees.marginals.roots.detach(), trees.marginals.arcs.detach(),
                roots.grad, arcs.grad, trees.mode(), trees.entropy.detach(), trees.log_prob(trees.mode()).detach(),
            ]  # fmt: skip

        together = results(arcs, roots, torch.tensor(lengths), d_arcs, d_roots)
        for b, length in enumerate(lengths):
            cut = (slice(b, b + 1), slice(length), slice(length))
            alone = results(arcs[cut], roots[cut[:2]], None, d_arcs[cut], d_roots[cut[:2]])
            for padded, plain in zip(together, alone, strict=True):
                real = tuple(slice(length) for _ in range(padded.dim() - 1))
                assert torch.equal(padded[b][real], plain[0])
                rest = padded[b].clone()
                rest[real] = 0 if rest.is_floating_point() else PAD
                assert (rest == (0 if rest.is_floating_point() else PAD)).all()

    @given(seed=st.integers(0, 10_000), n=st.integers(1, 24), scale=st.sampled_from([0.1, 1.0, 10.0, 100.0]))
    @settings(max_examples=40, deadline=None)
    def test_shifting_a_column_changes_nothing(
        self, kind: Kind, single_root: bool, seed: int, n: int, scale: float
    ) -> None:
        arcs, roots = scores(2, n, seed, scale)
        shift = scores(2, n, seed + 1, scale)[1]
        trees = kind(arcs, roots, single_root=single_root)
        shifted = kind(arcs + shift[:, None], roots + shift, single_root=single_root)
        torch.testing.assert_close(trees.marginals.arcs, shifted.marginals.arcs, rtol=0, atol=1e-8)
        torch.testing.assert_close(trees.marginals.roots, shifted.marginals.roots, rtol=0, atol=1e-8)
        torch.testing.assert_close(trees.log_partition + shift.sum(-1), shifted.log_partition)
        torch.testing.assert_close(trees.entropy, shifted.entropy, rtol=1e-6, atol=1e-7)

    @given(seed=st.integers(0, 10_000), n=st.integers(1, 24), scale=st.sampled_from([0.1, 1.0, 10.0, 100.0]))
    @settings(max_examples=40, deadline=None)
    def test_order_of_nodes_and_batch(self, kind: Kind, single_root: bool, seed: int, n: int, scale: float) -> None:
        arcs, roots = scores(5, n, seed, scale)
        generator = torch.Generator().manual_seed(seed)
        batch = torch.randperm(5, generator=generator)
        # Projective trees know left from right, but stay projective in the mirror only with a single root.
        nodes = torch.randperm(n, generator=generator) if kind is NonProjectiveTrees else torch.arange(n)
        if kind is ProjectiveTrees and single_root:
            nodes = nodes.flip(0)
        trees = kind(arcs, roots, single_root=single_root)
        moved = kind(arcs[batch][:, nodes][:, :, nodes], roots[batch][:, nodes], single_root=single_root)
        wanted = trees.marginals.arcs[batch][:, nodes][:, :, nodes]
        torch.testing.assert_close(moved.marginals.arcs, wanted, rtol=0, atol=1e-8)
        torch.testing.assert_close(moved.entropy, trees.entropy[batch], rtol=1e-6, atol=1e-7)

    def test_samples_are_exact(self, kind: Kind, single_root: bool) -> None:
        arcs, roots = with_forbidden(*scores(3, 4, seed=3))
        arcs[2, 0, 1] = arcs[2, 1, 0] = 8.0  # attracted to each other
        count = 20_000
        trees = kind(arcs, roots, single_root=single_root)
        samples = trees.sample(count, generator=torch.Generator().manual_seed(5))
        for b in range(3):
            truth = Enumeration(kind, arcs[b], roots[b], single_root)
            times = (samples[:, b, None] == truth.trees).all(-1).sum(0)
            assert times.sum() == count
            assert times[truth.p == 0].sum() == 0
            assert p_value(times, truth.p * count) > 1e-3
            # The test can fail: with the probabilities of slightly different scores, it does.
            wrong = Enumeration(kind, arcs[b] * 1.2, roots[b] * 1.2, single_root)
            assert p_value(times, wrong.p * count) < 1e-3

    def test_samples_of_long_and_extreme_problems(self, kind: Kind, single_root: bool) -> None:
        lengths = torch.tensor([30, 17, 1, 30])
        arcs, roots = scores(4, 30)
        arcs[3], roots[3] = arcs[3] * 1000, roots[3] * 1000
        trees = kind(arcs, roots, lengths, single_root)
        samples = trees.sample(300, generator=torch.Generator().manual_seed(0))
        for heads in samples[:20]:
            assert (trees.log_prob(heads) > torch.tensor([-torch.inf, -torch.inf, -torch.inf, -30.0])).all()
        for heads in samples[:20].flatten(0, 1):
            tree = Tree.from_heads(heads, single_root=single_root)
            assert kind is NonProjectiveTrees or tree.projective
        share = (samples == ROOT).double().mean(0)
        torch.testing.assert_close(share, trees.marginals.roots, rtol=0, atol=0.12)
        assert torch.equal(samples, trees.sample(300, generator=torch.Generator().manual_seed(0)))
        assert not torch.equal(samples, trees.sample(300, generator=torch.Generator().manual_seed(1)))

    def test_what_is_no_tree_has_no_probability(self, kind: Kind, single_root: bool) -> None:
        arcs, roots = scores(1, 4)
        trees = kind(arcs, roots, single_root=single_root)
        for heads in (
            [1, 0, ROOT, 2],
            [0, ROOT, 1, 1],
            [ROOT, 0, 1, 7],
            [PAD, ROOT, 1, 1],
            [1, 2, 3, 0],
            [ROOT, 0, 1, -3],
        ):
            assert trees.log_prob(torch.tensor([heads])) == -torch.inf
        assert (trees.log_prob(torch.tensor([[ROOT, ROOT, 1, 1]])) == -torch.inf) == single_root
        crossing = torch.tensor([[2, 3, ROOT, 2]])
        assert (trees.log_prob(crossing) == -torch.inf) == (kind is ProjectiveTrees)

    def test_one_node(self, kind: Kind, single_root: bool) -> None:
        trees = kind(torch.zeros(1, 1), torch.tensor([3.0]), single_root=single_root)
        assert trees.log_partition == 3.0
        assert trees.marginals.roots.tolist() == [1.0]
        assert trees.entropy == 0.0
        assert trees.mode().tolist() == [ROOT]
        assert trees.sample(2).tolist() == [[ROOT], [ROOT]]


def p_value(times: Tensor, expected: Tensor) -> float:
    enough = expected >= 5
    observed = torch.cat([times[enough].double(), times[~enough].sum()[None].double()])
    wanted = torch.cat([expected[enough], expected[~enough].sum()[None]])
    if wanted[-1] < 5:
        observed, wanted = observed[:-1], wanted[:-1]
    return float(chisquare(observed.numpy(), (wanted * observed.sum() / wanted.sum()).numpy()).pvalue)


@every_kind
def test_together_as_one_by_one(kind: Kind) -> None:
    """Several distributions of different sizes: the same bits, and each gets its own gradient, or none."""
    batches = [(*scores(batch, n, seed=n, dtype=torch.float32), n) for batch, n in ((3, 5), (40, 12), (2, 40), (4, 1))]
    results = []
    for together in (True, False):
        leaves = [(arcs.clone().requires_grad_(), roots.clone().requires_grad_()) for arcs, roots, _ in batches]
        trees = [kind(*pair) for pair in leaves]
        if together:
            infer_together(trees)
        loss = trees[0].log_partition.sum() + trees[1].marginals.arcs.square().sum() + trees[2].marginals.roots[0, 0]
        loss.backward()
        values = [x for each in trees for x in (each.log_partition, *each.marginals)]
        results.append([*values, *(leaf.grad for pair in leaves[:3] for leaf in pair)])
        assert all(leaf.grad is None or not leaf.grad.any() for leaf in leaves[3])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_together_says_which_has_no_tree() -> None:
    good = NonProjectiveTrees(torch.zeros(2, 3, 3), torch.zeros(2, 3))
    bad = NonProjectiveTrees(torch.zeros(2, 3, 3), torch.tensor([[0.0, 0, 0], [-torch.inf] * 3]))
    with pytest.raises(ValueError, match=r"batch element \(1,\) has no tree"):
        infer_together([good, bad])
