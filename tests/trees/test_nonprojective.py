"""Non-projective marginals where others fail: large scores, mutual attraction, far-off roots; in many digits."""

import multiprocessing
import threading
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.trees.brute import exact_derivative, exact_marginals
from treetext.trees import NonProjectiveTrees, ProjectiveTrees, TreeDistribution
from treetext.trees.autograd import Derivative, Inference
from treetext.trees.inference import nonprojective
from treetext.trees.kernels import inverse, leave_one_out, nonprojective_torch
from treetext.trees.kernels.threads import threads_worth
from treetext.trees.kernels.workspaces import Lanes, Logs, Rows, make, with_tangents

every_root = pytest.mark.parametrize("single_root", [True, False])


def noise(seed: int, n: int, scale: float) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(n, n, generator=generator), scale * torch.randn(n, generator=generator)


def attracted(seed: int, n: int, strength: float) -> tuple[Tensor, Tensor]:
    arcs, roots = noise(seed, n, 1.0)
    for i in range(0, n - 1, 2):
        arcs[i, i + 1] += strength
        arcs[i + 1, i] += strength
    return arcs, roots


def far_roots(seed: int, n: int, extent: float) -> tuple[Tensor, Tensor]:
    arcs, _ = noise(seed, n, 1.0)
    return arcs, torch.linspace(-extent, extent, n)[torch.randperm(n, generator=torch.Generator().manual_seed(seed))]


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
    found = trees.marginals
    assert float(trees.log_partition.detach()) == pytest.approx(log_z, rel=1e-6, abs=1e-5)
    for p, exact in ((found.arcs.detach(), p_arcs), (found.roots.detach(), p_roots)):
        assert p.isfinite().all()
        assert float((p - exact).abs().max()) <= 1e-6
        assert float(p.min()) >= 0
        assert float(p.max()) <= 1
    on_device = nonprojective_torch.marginals(arcs.detach()[None], roots.detach()[None], torch.tensor([n]), single_root)
    assert float(on_device[0]) == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    assert float((on_device[1][0] - p_arcs).abs().max()) <= 1e-6
    assert float((found.arcs.sum(-2) + found.roots - 1).detach().abs().max()) <= 1e-6

    d_arcs, d_roots = noise(99, n, 1.0)
    ((found.arcs * d_arcs).sum() + (found.roots * d_roots).sum()).backward()
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


def problems(scale: float, n: int, batch: int = 11) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(n)
    return (
        scale * torch.randn(batch, n, n, generator=generator, dtype=torch.float64),
        scale * torch.randn(batch, n, generator=generator, dtype=torch.float64),
        torch.randint(1, n + 1, (batch,), generator=generator),
    )


Found = tuple[Inference, Derivative]


def by_leave_one_out(kind: type, arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Found:
    scores = arcs.numpy(), roots.numpy()
    size = leave_one_out.workspace_size(arcs.shape[-1])

    def run(direction: tuple[np.ndarray, ...], work: object) -> tuple[Tensor, Tensor, Tensor]:
        out = torch.zeros(len(arcs), dtype=torch.float64), torch.zeros_like(arcs), torch.zeros_like(roots)
        everything = np.arange(len(arcs))
        leave_one_out.marginals(
            work, *scores, lengths.numpy(), everything, single_root, False, *direction, *(x.numpy() for x in out)
        )
        return out

    def derivative(d_arcs: Tensor, d_roots: Tensor) -> tuple[Tensor, Tensor]:
        return run((d_arcs.numpy(), d_roots.numpy()), with_tangents(make(kind, size), size))[1:]

    return Inference(*run(scores, make(kind, size))), derivative


class TestEveryWayThere:
    """Each kernel on its own, so that none hides behind another."""

    @every_root
    @pytest.mark.parametrize("scale", [1.0, 30.0])
    @pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
    @pytest.mark.parametrize("way", ["lanes", "rows", "logs", "torch"])
    def test_agrees_with_what_is_used(self, way: str, n: int, scale: float, single_root: bool) -> None:
        arcs, roots, lengths = problems(scale, n)
        marginals, [log_z], derivative = nonprojective([lengths], single_root, True, arcs, roots)
        wanted = Inference(log_z, *marginals)
        if way == "torch":
            *values, derive = nonprojective_torch.marginals(arcs, roots, lengths, single_root)
            found = Inference(*values)
        else:
            kind = {"lanes": Lanes, "rows": Rows, "logs": Logs}[way]
            found, derive = by_leave_one_out(kind, arcs, roots, lengths, single_root)
        torch.testing.assert_close(found.log_partition, wanted.log_partition, rtol=1e-11, atol=1e-10)
        torch.testing.assert_close(found.arcs, wanted.arcs, rtol=0, atol=1e-10)
        torch.testing.assert_close(found.roots, wanted.roots, rtol=0, atol=1e-10)
        direction = problems(1.0, n)[:2]
        mine, theirs = (torch.cat([d[0], d[1][:, None]], 1) for d in (derive(*direction), derivative(*direction)))
        largest = theirs.abs().amax((1, 2))
        assert ((mine - theirs).abs().amax((1, 2)) <= 1e-4 * largest + 1e-300).all()

    def test_inverse_distrusts_itself(self) -> None:
        """Well before its error shows, the inverse leaves a problem to the exact way; and what it keeps is right."""
        n, kept = 10, 0
        for strength in range(40):
            arcs, roots = (x.double()[None] for x in attracted(strength, n, strength))
            log_z, p_arcs, p_roots = np.zeros(1), np.zeros((1, n, n)), np.zeros((1, n))
            work = make(Lanes, inverse.workspace_size(n))
            lengths, everything = np.array([n]), np.array([0])
            inverse.marginals(work, 0, arcs.numpy(), roots.numpy(), lengths, everything, True, log_z, p_arcs, p_roots)
            if np.isnan(log_z[0]):
                assert strength > 5
            else:
                kept += 1
                assert strength < 25
                exact, _ = by_leave_one_out(Logs, arcs, roots, torch.tensor([n]), True)
                assert abs(p_arcs - exact.arcs.numpy()).max() < 1e-9
        assert kept > 5

    def test_torch_way_keeps_to_torch(self) -> None:
        """On a device without data, so that any copy to the host would fail."""
        arcs, roots, lengths = (x.to("meta") for x in problems(1.0, 5))
        log_z, p_arcs, _, derivative = nonprojective_torch.marginals(arcs, roots, lengths, True)
        assert log_z.device.type == p_arcs.device.type == "meta"
        assert derivative(arcs, roots)[0].shape == arcs.shape


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


def _marginals_in_child(queue: "multiprocessing.Queue[float]") -> None:
    arcs, roots = (
        torch.zeros(30, 30, 30),
        torch.zeros(30, 30),
    )  # so few that torch itself would not use threads for them
    queue.put(float(NonProjectiveTrees(arcs, roots).marginals.roots[0, 0]))


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
class TestProcessesAndThreads:
    @pytest.mark.parametrize("kind", [NonProjectiveTrees, ProjectiveTrees])
    def test_as_on_one_thread(self, kind: type[TreeDistribution]) -> None:
        """Large enough for both threads to have something to do."""
        arcs, roots = torch.randn(200, 20, 20, requires_grad=True), torch.randn(200, 20, requires_grad=True)
        direction = torch.randn(200, 20, 20)
        found = []
        for threads in (2, 1):
            torch.set_num_threads(threads)
            marginals = kind(arcs, roots).marginals
            found.append([*marginals, *torch.autograd.grad(marginals.arcs, (arcs, roots), direction)])
            assert threads_worth(200 * 20**3) == threads
        assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))

    def test_forked_child(self) -> None:
        """A data-loading worker is forked from a process that has threads."""
        arcs, roots = torch.zeros(64, 30, 30), torch.zeros(64, 30)
        NonProjectiveTrees(arcs, roots).marginals  # noqa: B018
        assert threads_worth(30 * 30**3) > 1
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_marginals_in_child, args=(queue,))
        child.start()
        assert queue.get(timeout=60) == pytest.approx(1 / 30)
        child.join(timeout=60)

    def test_threads_side_by_side(self) -> None:
        arcs, roots = torch.randn(64, 20, 20), torch.randn(64, 20)
        wanted = NonProjectiveTrees(arcs, roots).marginals.arcs
        same: list[bool] = []

        def work() -> None:
            same.extend(torch.equal(NonProjectiveTrees(arcs, roots).marginals.arcs, wanted) for _ in range(50))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert same == [True] * 200
