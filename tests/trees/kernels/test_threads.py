"""Threads of torch, threads of Python, and forked processes."""

import multiprocessing
import threading
from collections.abc import Iterator

import pytest
import torch

from treetext.trees import NonProjectiveTrees, ProjectiveTrees, TreeDistribution
from treetext.trees.kernels.threads import threads_worth


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
        results = []
        for threads in (2, 1):
            torch.set_num_threads(threads)
            marginals = kind(arcs, roots).marginals
            results.append([*marginals, *torch.autograd.grad(marginals.arcs, (arcs, roots), direction)])
            assert threads_worth(200 * 20**3) == threads
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))

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


def _marginals_in_child(queue: "multiprocessing.Queue[float]") -> None:
    arcs, roots = (
        torch.zeros(30, 30, 30),
        torch.zeros(30, 30),
    )  # so few that torch itself would not use threads for them
    queue.put(float(NonProjectiveTrees(arcs, roots).marginals.roots[0, 0]))
