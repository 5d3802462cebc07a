"""Non-projective marginals and their derivatives: which kernel does which problem.

On the CPU, the inverse of the Laplacian serves nearly always; the problems for which it says that it lost too many digits
are done by leave-one-out elimination, in floats or, where these do not hold the range, in logarithms. What is done with
a problem depends on that problem alone, never on its neighbours or on padding. On other devices, `_nonprojective_torch`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from treetext.trees import _inverse, _leave_one_out, _nonprojective_torch
from treetext.trees._autograd import Inference
from treetext.trees._lanes import LANES
from treetext.trees._threads import for_each, threads_worth
from treetext.trees._workspaces import Lanes, Logs, Rows, make, with_tangents

SMALL = 128  # up to here, eight problems side by side are faster than one at a time

def nonprojective(
    arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, differentiable: bool
) -> Inference:
    """Inference over float32 or float64 scores (B, n, n), (B, n); work is kept for the derivative if `differentiable`."""
    if arcs.device.type != "cpu":
        return Inference(*_nonprojective_torch.marginals(arcs, roots, lengths, single_root))
    scores = arcs.contiguous().numpy(), roots.contiguous().numpy()
    sizes = lengths.numpy()
    log_z, p_arcs, p_roots = torch.empty(len(arcs), dtype=torch.float64), torch.zeros_like(arcs), torch.zeros_like(roots)
    out = log_z.numpy(), p_arcs.numpy(), p_roots.numpy()

    inverses = _shares(np.arange(len(arcs)), sizes, differentiable)
    _each(inverses, lambda s: _inverse.marginals(s.work, s.stride, *scores, sizes, s.problems, single_root, *out))
    distrusted = np.flatnonzero(np.isnan(out[0]))
    _eliminate(distrusted, scores, sizes, single_root, scores, *out, tangents=False)

    def derivative(d_arcs: Tensor, d_roots: Tensor) -> tuple[Tensor, Tensor]:
        direction = d_arcs.contiguous().numpy(), d_roots.contiguous().numpy()
        out_arcs, out_roots = torch.zeros_like(arcs), torch.zeros_like(roots)
        out = out_arcs.numpy(), out_roots.numpy()
        _each(
            inverses,
            lambda s: _inverse.derivatives(
                with_tangents(s.work, s.stride), s.stride, sizes, s.problems, single_root, *direction, *out
            ),
        )
        _eliminate(distrusted, scores, sizes, single_root, direction, np.empty(len(arcs)), *out, tangents=True)
        return out_arcs, out_roots

    return Inference(log_z, p_arcs, p_roots, derivative)


def _eliminate(
    problems: Any, scores: Any, sizes: Any, single_root: bool, direction: Any, log_z: Any, *out: Any, tangents: bool
) -> None:
    """Leave-one-out elimination in floats and, of what these don't hold, in logarithms."""
    for in_logs in (False, True):
        shares = _shares(problems, sizes, False, _leave_one_out.workspace_size, tangents, in_logs)
        _each(
            shares,
            lambda s: _leave_one_out.marginals(
                s.work, *scores, sizes, s.problems, single_root, *direction, log_z, *out
            ),
        )
        problems = problems[np.isnan(log_z[problems])]


class _Share(NamedTuple):
    """Problems for one thread with one workspace, in which the parts of groups of them lie `stride` numbers apart."""

    problems: Any
    work: Any
    stride: int


def _shares(
    problems: Any,
    sizes: Any,
    keep: bool,
    workspace_size: Callable[[int], int] = _inverse.workspace_size,
    tangents: bool = False,
    in_logs: bool = False,
) -> list[_Share]:
    """Divide problems among threads: small ones in groups of a lane each, sorted by size so that little is padding."""
    shares = []
    problems = problems[np.argsort(-sizes[problems], kind="stable")]
    small = len(problems) - np.searchsorted(sizes[problems][::-1], SMALL, side="right")
    for kind, width, some in ((Rows, 1, problems[:small]), (Lanes, LANES, problems[small:])):
        if in_logs:
            kind, width, some = Logs, 1, problems if kind is Rows else problems[:0]
        if not len(some):
            continue
        groups = [some[i : i + width] for i in range(0, len(some), width)]
        threads = min(len(groups), threads_worth(float((sizes[some] ** 3).sum())))
        for first in range(threads):
            mine = groups[first::threads]
            stride = workspace_size(int(sizes[mine[0]].max()))
            work = make(kind, stride * (len(mine) if keep else 1))
            work = with_tangents(work, stride) if tangents else work
            shares.append(_Share(np.concatenate(mine), work, stride if keep else 0))
    return shares


def _each(shares: list[_Share], do: Callable[[_Share], object]) -> None:
    if shares:
        for_each(do, shares)
