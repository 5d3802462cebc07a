"""Non-projective marginals and their derivatives: which kernel does which problem.

On the CPU, the inverse of the Laplacian serves nearly always; the problems for which it says that it lost too many
digits are done by leave-one-out elimination, in floats or, where these do not hold the range, in logarithms. What is
done with a problem depends on that problem alone, never on its neighbours or on padding. On other devices,
`_nonprojective_torch`.
"""

import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from treetext.trees import _inverse, _leave_one_out, _nonprojective_torch
from treetext.trees._autograd import Derivative, Tensors, one_by_one
from treetext.trees._lanes import LANES
from treetext.trees._threads import for_each, threads_worth
from treetext.trees._workspaces import Lanes, Logs, Rows, make, release, with_tangents

_NONE = np.arange(0)
SMALL = 128  # up to here, eight problems side by side are faster than one at a time


def nonprojective(
    lengths: list[Tensor], single_root: bool, differentiable: bool, *scores: Tensor
) -> tuple[Tensors, Tensors, Derivative]:
    """Inference over batches of problems, and their derivatives (only if `differentiable`)."""
    if scores[0].device.type != "cpu":
        return one_by_one(_nonprojective_torch.marginals, lengths, single_root, *scores)
    arrays = [x.contiguous().numpy() for x in scores]
    works = [_Work(i, arrays[2 * i : 2 * i + 2], n.numpy(), differentiable) for i, n in enumerate(lengths)]
    marginals = [np.zeros(x.shape, x.dtype) for x in arrays]
    log_z = [np.empty(len(work.sizes)) for work in works]

    def infer(work: _Work, share: _Share) -> bool:
        out = log_z[work.index], marginals[2 * work.index], marginals[2 * work.index + 1]
        trusted: bool = _inverse.marginals(
            share.work, share.stride, *work.scores, work.sizes, share.problems, single_root, *out
        )
        return trusted

    if not all(_in_threads(works, infer)):
        for i, work in enumerate(works):
            work.distrusted = np.flatnonzero(np.isnan(log_z[i]))
            out = log_z[i], *marginals[2 * i : 2 * i + 2]
            _eliminate(work, single_root, work.scores, *out)

    lock = threading.Lock()  # the work that is kept is written to on the way

    # Autograd keeps this as long as the results, so it must not keep them in its turn.
    def derivative(*directions: Tensor) -> Tensors:
        along = [x.contiguous().numpy() for x in directions]
        derived = [np.zeros(x.shape, x.dtype) for x in along]

        def differentiate(work: _Work, share: _Share) -> None:
            i, space = 2 * work.index, with_tangents(share.work, _inverse.tangents_size(share.size))
            args = work.sizes, share.problems, single_root, along[i], along[i + 1], derived[i], derived[i + 1]
            _inverse.derivatives(space, share.stride, *args)
            release(space.tangent)

        with lock:
            _in_threads(works, differentiate)
        for i, work in enumerate(works):
            if len(work.distrusted):
                here, nowhere = slice(2 * i, 2 * i + 2), np.empty(len(work.sizes))
                _eliminate(work, single_root, along[here], nowhere, *derived[here], tangents=True)
        return tuple(map(torch.from_numpy, derived))

    return tuple(map(torch.from_numpy, marginals)), tuple(map(torch.from_numpy, log_z)), derivative


class _Work:
    """The scores of a batch, and its shares: parts of it, each with a workspace."""

    def __init__(self, index: int, scores: list[Any], sizes: Any, keep: bool) -> None:
        self.index, self.scores, self.sizes, self.distrusted = index, scores, sizes, _NONE
        portions = _divide_all(sizes.tobytes(), torch.get_num_threads())
        self._owner = _Shares(portions, _inverse.workspace_size, keep)
        self.shares = self._owner.shares


def _in_threads(works: list[_Work], do: "Callable[[_Work, _Share], Any]") -> list[Any]:
    """Do something with each share of each work, large ones first."""
    items = [(work, share) for work in works for share in work.shares]
    if len(items) < 2:
        return [do(*item) for item in items]
    steps = [share.steps for _, share in items]
    ordered = [items[i] for i in np.argsort(steps)[::-1]]
    return for_each(lambda item: do(*item), ordered, min(len(items), threads_worth(sum(steps))))


def _eliminate(work: _Work, single_root: bool, direction: Any, log_z: Any, *out: Any, tangents: bool = False) -> None:
    """Leave-one-out elimination in floats and, of what these don't hold, in logarithms."""
    problems, sizes, size = work.distrusted, work.sizes, _leave_one_out.workspace_size

    def eliminate(priced: bool, s: _Share) -> None:
        space = with_tangents(s.work, size(s.size)) if tangents else s.work
        _leave_one_out.marginals(
            space, *work.scores, sizes, s.problems, single_root, priced and single_root, *direction, log_z, *out
        )
        release(space.tangent)

    for in_logs, priced in ((False, False), (True, False), (True, True)):
        if len(problems):
            _Shares(_divide(problems, sizes, in_logs), size).each(partial(eliminate, priced))
            problems = problems[np.isnan(log_z[problems])]


class _Share(NamedTuple):
    """Problems of up to `size` nodes for one thread with one workspace, where groups lie `stride` apart.

    They take about so many elementary steps.
    """

    problems: Any
    work: Any
    stride: int
    size: int
    steps: int


class _Shares:
    """Shares of problems, with workspaces that go back when nobody can want them any more."""

    def __init__(self, portions: "list[_Portion]", workspace_size: Callable[[int], int], keep: bool = False) -> None:
        self.shares: list[_Share] = []
        for kind, problems, groups, size in portions:
            stride = workspace_size(size)
            work = make(kind, stride * (groups if keep else 1))
            self.shares.append(_Share(problems, work, stride if keep else 0, size, len(problems) * size**3))

    def __del__(self) -> None:
        for share in self.shares:
            release(share.work.value)

    def each(self, do: Callable[[_Share], Any]) -> list[Any]:
        """Do something with each share."""
        return for_each(do, self.shares)


class _Portion(NamedTuple):
    """Problems for one thread, in groups as wide as the kind of workspace, and the size of the largest."""

    kind: Any
    problems: Any
    groups: int
    size: int


def _divide(problems: Any, sizes: Any, in_logs: bool = False) -> list[_Portion]:
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
            portions.append(_Portion(kind, np.concatenate(mine), len(mine), int(sizes[mine[0][0]])))
    return portions


@lru_cache(maxsize=256)
def _divide_all(sizes: bytes, _threads: int) -> list[_Portion]:
    """The same for whole batches: of small ones, which are often of one size, it takes as long as inference does."""
    array = np.frombuffer(sizes, np.int64)
    return _divide(np.arange(len(array)), array)
