"""The problems of a batch, divided among threads, each with a workspace."""

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
SMALL = 128  # up to here, eight problems side by side are faster than one at a time


class Work:
    """The scores of a batch, and its shares: parts of it, each with a workspace."""

    def __init__(self, index: int, scores: list[Any], sizes: Any, keep: bool) -> None:
        self.index, self.scores, self.sizes, self.distrusted = index, scores, sizes, _NONE
        portions = divide_all(sizes.tobytes(), torch.get_num_threads())
        self._owner = Shares(portions, inverse.workspace_size, keep)
        self.shares = self._owner.shares


def each_share(works: list[Work], do: "Callable[[Work, Share], Any]") -> list[Any]:
    """Do something with each share of each work, large ones first."""
    items = [(work, share) for work in works for share in work.shares]
    if len(items) < 2:
        return [do(*item) for item in items]
    steps = [share.steps for _, share in items]
    ordered = [items[i] for i in np.argsort(steps)[::-1]]
    return for_each(lambda item: do(*item), ordered, min(len(items), threads_worth(sum(steps))))


class Share(NamedTuple):
    """Problems of up to `size` nodes for one thread with one workspace, where groups lie `stride` apart.

    They take about so many elementary steps.
    """

    problems: Any
    work: Any
    stride: int
    size: int
    steps: int


class Shares:
    """Shares of problems, with workspaces that go back when nobody can want them any more."""

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
        """Do something with each share."""
        return for_each(do, self.shares)


class Portion(NamedTuple):
    """Problems for one thread, in groups as wide as the kind of workspace, and the size of the largest."""

    kind: Any
    problems: Any
    groups: int
    size: int


def divide(problems: Any, sizes: Any, in_logs: bool = False) -> list[Portion]:
    """Problems divided among threads: small ones a lane each, sorted by size so that little is padding."""
    portions = []
    problems = problems[np.argsort(-sizes[problems], kind="stable")]
    large = int((sizes[problems] > SMALL).sum())
    kinds: list[tuple[Any, int, Any]] = [(Rows, 1, problems[:large]), (Lanes, LANES, problems[large:])]
    for kind, width, some in [(Logs, 1, problems)] if in_logs else kinds:
        groups = [some[i : i + width] for i in range(0, len(some), width)]
        threads = min(len(groups), threads_worth(int((sizes[some] ** 3).sum())))
        for first in range(threads):
            mine = groups[first::threads]
            portions.append(Portion(kind, np.concatenate(mine), len(mine), int(sizes[mine[0][0]])))
    return portions


@lru_cache(maxsize=256)
def divide_all(sizes: bytes, _threads: int) -> list[Portion]:
    """The same for whole batches: of small ones, which are often of one size, it takes as long as inference does."""
    array = np.frombuffer(sizes, np.int64)
    return divide(np.arange(len(array)), array)
