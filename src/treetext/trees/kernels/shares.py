"""Division of a batch among threads: each share of its problems has a workspace."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from treetext.trees.kernels import inverse
from treetext.trees.kernels.lanes import LANES
from treetext.trees.kernels.threads import for_each, threads_worth
from treetext.trees.kernels.workspaces import Lanes, Logs, Rows, make, release

_NONE = np.arange(0)
SMALL = 128  # up to this many nodes, eight problems side by side are faster than one at a time


class Work:
    """The scores of a batch, and the shares of its problems.

    `distrusted` are the problems that the inverse left to elimination. `keep` keeps the work of all groups for
    derivatives.
    """

    def __init__(self, index: int, scores: list[Any], sizes: Any, keep: bool) -> None:
        self.index, self.scores, self.sizes, self.distrusted = index, scores, sizes, _NONE
        portions = divide_all(sizes.tobytes(), torch.get_num_threads())
        self._owner = Shares(portions, inverse.workspace_size, keep)
        self.shares = self._owner.shares


def each_share(works: list[Work], do: "Callable[[Work, Share], Any]") -> list[Any]:
    """Call `do` for each share of each work, large shares first, and return the results in any order."""
    items = [(work, share) for work in works for share in work.shares]
    if len(items) < 2:
        return [do(*item) for item in items]
    # Large ones first, so that no thread starts one when the others are done.
    steps = [share.steps for _, share in items]
    ordered = [items[i] for i in np.argsort(steps)[::-1]]
    return for_each(lambda item: do(*item), ordered, min(len(items), threads_worth(sum(steps))))


class Share(NamedTuple):
    """Problems of up to `size` nodes for one thread, with one workspace.

    Groups of problems start `stride` numbers apart. `steps` estimates the number of elementary steps.
    """

    problems: Any
    work: Any
    stride: int
    size: int
    steps: int


class Shares:
    """Shares of problems. Their workspaces are released with this object."""

    def __init__(self, portions: "list[Portion]", workspace_size: Callable[[int], int], keep: bool = False) -> None:
        self.shares: list[Share] = []
        for kind, problems, groups, size in portions:
            stride = workspace_size(size)
            work = make(kind, stride * (groups if keep else 1))
            self.shares.append(Share(problems, work, stride if keep else 0, size, len(problems) * size**3))

    def __del__(self) -> None:
        for share in self.shares:
            release(share.work.value)

    def each(self, do: Callable[[Share], Any]) -> list[Any]:
        """Call `do` for each share, and return the results in any order."""
        return for_each(do, self.shares)


class Portion(NamedTuple):
    """Problems for one thread: the kind of workspace, how many groups as wide as it, and the size of the largest."""

    kind: Any
    problems: Any
    groups: int
    size: int


def divide(problems: Any, sizes: Any, in_logs: bool = False) -> list[Portion]:
    """Divide problems among threads. Small ones take a lane each, sorted by size, so that there is little padding."""
    portions = []
    problems = problems[np.argsort(-sizes[problems], kind="stable")]
    large = int((sizes[problems] > SMALL).sum())
    kinds: list[tuple[Any, int, Any]] = [(Rows, 1, problems[:large]), (Lanes, LANES, problems[large:])]
    for kind, width, some in [(Logs, 1, problems)] if in_logs else kinds:
        groups = [some[i : i + width] for i in range(0, len(some), width)]
        threads = min(len(groups), threads_worth(int((sizes[some] ** 3).sum())))
        for first in range(threads):
            mine = groups[first::threads]  # sorted by size, so all threads get about the same work
            portions.append(Portion(kind, np.concatenate(mine), len(mine), int(sizes[mine[0][0]])))
    return portions


@lru_cache(maxsize=256)
def divide_all(sizes: bytes, _threads: int) -> list[Portion]:
    """`divide` for a whole batch, cached: for a small batch, dividing takes as long as inference."""
    array = np.frombuffer(sizes, np.int64)
    return divide(np.arange(len(array)), array)
