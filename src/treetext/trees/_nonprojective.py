"""Non-projective marginals and their derivatives: which kernel does which problem.

On the CPU, the inverse of the Laplacian serves nearly always; the problems for which it says that it lost too many
digits are done by leave-one-out elimination, in floats or, where these do not hold the range, in logarithms. What is
done with a problem depends on that problem alone, never on its neighbours or on padding. On other devices,
`_nonprojective_torch`.
"""

import threading
import weakref
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch

from treetext.trees import _inverse, _leave_one_out, _nonprojective_torch
from treetext.trees._autograd import Derivative, Inference, Problems, Scores
from treetext.trees._lanes import LANES
from treetext.trees._threads import for_each, threads_worth
from treetext.trees._workspaces import Lanes, Logs, Rows, make, release, with_tangents

_NONE = np.arange(0)
SMALL = 128  # up to here, eight problems side by side are faster than one at a time


def nonprojective(
    batches: list[Problems], single_root: bool, differentiable: bool
) -> tuple[list[Inference], Derivative]:
    """Inference over batches of problems, and their derivatives (only if `differentiable`)."""
    if batches[0].arcs.device.type != "cpu":
        found = [_nonprojective_torch.marginals(*batch, single_root) for batch in batches]
        derivatives = [each[3] for each in found]
        return [Inference(*each[:3]) for each in found], lambda directions: [
            derive(*direction) for derive, direction in zip(derivatives, directions, strict=True)
        ]
    works = [_Work(batch, differentiable) for batch in batches]
    trusted = _in_threads([(work, share) for work in works for share in work.shares], partial(_infer, single_root))
    if not all(trusted):
        for work in works:
            work.distrusted = np.flatnonzero(np.isnan(work.log_z.numpy()))
            if len(work.distrusted):
                out = (x.numpy() for x in (work.log_z, *work.marginals))
                _eliminate(work.distrusted, work.scores, work.sizes, single_root, work.scores, *out)

    lock = threading.Lock()  # the work that is kept is written to on the way

    def derivative(directions: list[Scores]) -> list[Scores]:
        along = [tuple(x.contiguous().numpy() for x in pair) for pair in directions]
        found = [(torch.zeros_like(arcs), torch.zeros_like(roots)) for arcs, roots in (w.marginals for w in works)]
        arrays = [tuple(x.numpy() for x in pair) for pair in found]

        def differentiate(item: tuple[int, _Share]) -> None:
            i, share = item
            work = with_tangents(share.work, _inverse.tangents_size(share.size))
            sizes = works[i].sizes
            _inverse.derivatives(work, share.stride, sizes, share.problems, single_root, *along[i], *arrays[i])
            release(work.tangent)

        with lock:
            _in_threads([(i, share) for i, work in enumerate(works) for share in work.shares], differentiate)
        for work, direction, out in zip(works, along, arrays, strict=True):
            if len(work.distrusted):
                nowhere = np.empty(len(work.sizes))
                args = work.distrusted, work.scores, work.sizes, single_root, direction, nowhere
                _eliminate(*args, *out, tangents=True)
        return found

    return [Inference(work.log_z, *work.marginals) for work in works], derivative


class _Work:
    """The scores of a batch, room for the results, and its shares: parts of it, each with a workspace."""

    def __init__(self, batch: Problems, keep: bool) -> None:
        arcs, roots = batch.arcs.contiguous(), batch.roots.contiguous()
        self.scores, self.sizes = (arcs.numpy(), roots.numpy()), batch.lengths.numpy()
        self.log_z = torch.empty(len(arcs), dtype=torch.float64)
        self.marginals = torch.zeros_like(arcs), torch.zeros_like(roots)
        self.distrusted = _NONE
        portions = _divide_all(self.sizes.tobytes(), torch.get_num_threads())
        self._owner = _Shares(portions, _inverse.workspace_size, keep)
        self.shares = self._owner.shares


def _infer(single_root: bool, item: "tuple[_Work, _Share]") -> bool:
    work, s = item
    out = (x.numpy() for x in (work.log_z, *work.marginals))
    trusted: bool = _inverse.marginals(s.work, s.stride, *work.scores, work.sizes, s.problems, single_root, *out)
    return trusted


def _in_threads(items: "list[tuple[Any, _Share]]", do: Callable[[Any], Any]) -> list[Any]:
    """Do something with each share, large ones first."""
    steps = [len(share.problems) * share.size**3 for _, share in items]
    threads = min(len(items), threads_worth(float(sum(steps))))
    if threads < 2:
        return [do(item) for item in items]
    return for_each(do, [items[i] for i in np.argsort(steps)[::-1]], threads)


def _eliminate(
    problems: Any,
    scores: Any,
    sizes: Any,
    single_root: bool,
    direction: Any,
    log_z: Any,
    *out: Any,
    tangents: bool = False,
) -> None:
    """Leave-one-out elimination in floats and, of what these don't hold, in logarithms."""
    size = _leave_one_out.workspace_size

    def eliminate(priced: bool, s: _Share) -> None:
        work = with_tangents(s.work, size(s.size)) if tangents else s.work
        _leave_one_out.marginals(
            work, *scores, sizes, s.problems, single_root, priced and single_root, *direction, log_z, *out
        )
        release(work.tangent)

    for in_logs, priced in ((False, False), (True, False), (True, True)):
        if len(problems):
            _Shares(_divide(problems, sizes, in_logs), size).each(partial(eliminate, priced))
            problems = problems[np.isnan(log_z[problems])]


class _Share(NamedTuple):
    """Problems of up to `size` nodes for one thread with one workspace, where those of a group lie `stride` apart."""

    problems: Any
    work: Any
    stride: int
    size: int


class _Shares:
    """Shares of problems, with workspaces that go back when nobody can want them any more."""

    def __init__(self, portions: "list[_Portion]", workspace_size: Callable[[int], int], keep: bool = False) -> None:
        self.shares: list[_Share] = []
        for kind, problems, groups, size in portions:
            stride = workspace_size(size)
            work = make(kind, stride * (groups if keep else 1))
            self.shares.append(_Share(problems, work, stride if keep else 0, size))

        # When the last one who might want these is gone; but not when Python itself goes.
        weakref.finalize(self, _give_back, [share.work.value for share in self.shares]).atexit = False

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
        threads = min(len(groups), threads_worth(float((sizes[some] ** 3).sum())))
        for first in range(threads):
            mine = groups[first::threads]
            portions.append(_Portion(kind, np.concatenate(mine), len(mine), int(sizes[mine[0][0]])))
    return portions


@lru_cache(maxsize=256)
def _divide_all(sizes: bytes, _threads: int) -> list[_Portion]:
    """The same for whole batches: of small ones, which are often of one size, it takes as long as inference does."""
    array = np.frombuffer(sizes, np.int64)
    return _divide(np.arange(len(array)), array)


def _give_back(arrays: list[Any]) -> None:
    for array in arrays:
        release(array)
