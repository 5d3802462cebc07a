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
from torch import Tensor

from treetext.trees import _inverse, _leave_one_out, _nonprojective_torch
from treetext.trees._autograd import Inference
from treetext.trees._lanes import LANES
from treetext.trees._threads import for_each, threads_worth
from treetext.trees._workspaces import Lanes, Logs, Rows, make, release, with_tangents

_NONE = np.arange(0)
SMALL = 128  # up to here, eight problems side by side are faster than one at a time


def nonprojective(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, differentiable: bool) -> Inference:
    """Inference over float32 or float64 scores (B, n, n), (B, n); derivatives only if `differentiable`."""
    if arcs.device.type != "cpu":
        return Inference(*_nonprojective_torch.marginals(arcs, roots, lengths, single_root))
    if not len(arcs):
        return Inference(roots.new_empty(0, dtype=torch.float64), arcs, roots, lambda *direction: direction)
    arcs, roots = arcs.contiguous(), roots.contiguous()
    scores = arcs.numpy(), roots.numpy()
    sizes = lengths.numpy()
    log_z, p_arcs, p_roots = (
        torch.empty(len(arcs), dtype=torch.float64),
        torch.zeros_like(arcs),
        torch.zeros_like(roots),
    )
    out = log_z.numpy(), p_arcs.numpy(), p_roots.numpy()

    portions = _divide_all(sizes.tobytes(), torch.get_num_threads())
    shares = _Shares(portions, _inverse.workspace_size, keep=differentiable)
    trusted = shares.each(lambda s: _inverse.marginals(s.work, s.stride, *scores, sizes, s.problems, single_root, *out))
    distrusted = _NONE if all(trusted) else np.flatnonzero(np.isnan(out[0]))
    if len(distrusted):
        _eliminate(distrusted, scores, sizes, single_root, scores, *out)

    lock = threading.Lock()  # the work that is kept is written to on the way

    def derivative(d_arcs: Tensor, d_roots: Tensor) -> tuple[Tensor, Tensor]:
        direction = d_arcs.contiguous().numpy(), d_roots.contiguous().numpy()
        out_arcs, out_roots = torch.zeros_like(arcs), torch.zeros_like(roots)
        out = out_arcs.numpy(), out_roots.numpy()

        def differentiate(s: _Share) -> None:
            work = with_tangents(s.work, _inverse.tangents_size(s.size))
            _inverse.derivatives(work, s.stride, sizes, s.problems, single_root, *direction, *out)
            release(work.tangent)

        with lock:
            shares.each(differentiate)
        if len(distrusted):
            _eliminate(distrusted, scores, sizes, single_root, direction, np.empty(len(arcs)), *out, tangents=True)
        return out_arcs, out_roots

    return Inference(log_z, p_arcs, p_roots, derivative)


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
