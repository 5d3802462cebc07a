"""Copies scores into a workspace as weights, and marginals out of it, for the non-projective kernels.

The weight of an arc is W[i, j] = exp(score[i, j] - best[j]), where best[j] is the best score in column j. With a single
root, best[j] leaves out the root's row, and that row is divided by its own best weight as well. Each tree has one arc
in each column, so the probabilities stay the same, and log Z = log Z of the weights + Σ_j best[j] (+ the root's).
`workspaces` shows the layout of a matrix.
"""

import math
from typing import Any

import numpy as np

from treetext.trees.kernels.compile import FUSED, kernel
from treetext.trees.kernels.exponential import exp
from treetext.trees.kernels.lanes import LANES, if_at_least, larger, load, store
from treetext.trees.kernels.workspaces import constant, in_logs, read, width, write

LEAST = -1.7976931348623157e308  # the lowest float: only -inf is below
RANGE = 600.0  # weights of scores this far below the best are still normal floats


@kernel(fastmath=FUSED)
def enter(
    work: Any,
    n: int,
    problems: Any,
    sizes: Any,
    arcs: Any,
    roots: Any,
    single_root: bool,
    priced: bool,
    log_scale: Any,
    floor: Any,
) -> None:
    """Write the weights of some problems side by side, divided by the best weight of their column.

    `log_scale` becomes the logarithm of all divisors, or NaN if floats do not hold the range of the weights. `floor`
    becomes a lower bound of log Z: log Z is below it only if there is no tree. If `priced` (only in logarithms), a
    penalty on all roots enforces a single root in kernels that allow many. It also works if some node cannot descend
    from some other, but the penalty costs digits.
    """
    w, x = width(work), work.value
    _interleave(x, w, n, problems, sizes, arcs, roots, -np.inf)
    spread, missing = np.empty(w), np.empty(w)
    _scale(work, n, single_root, log_scale, spread, missing)
    for lane in range(len(problems)):
        # All trees together weigh at most exp(reach), and a tree at least exp(-reach).
        reach = sizes[lane] * (math.log(sizes[lane] + 1.0) + spread[lane])
        floor[lane] = log_scale[lane] - reach - 1.0
        if not in_logs(work):
            # The diagonal and the padding are always -inf; with other forbidden arcs, all trees may be tiny.
            forbidden = missing[lane] > (n + 1) * n - sizes[lane] ** 2
            if spread[lane] > RANGE or (forbidden and reach > RANGE):
                log_scale[lane] = np.nan
        elif priced:
            for j in range(n):
                x[j] -= reach + 750.0
            log_scale[lane] += reach + 750.0


@kernel(fastmath=FUSED)
def enter_direction(work: Any, n: int, problems: Any, sizes: Any, d_arcs: Any, d_roots: Any) -> None:
    """Write the derivatives of the weights along a direction of the scores: W' = W score' (in logarithms, score')."""
    w, x, dx = width(work), work.value, work.tangent
    _interleave(dx, w, n, problems, sizes, d_arcs, d_roots, 0.0)
    if not in_logs(work):
        for i in range((n + 1) * n):
            write(work, dx, i, read(work, dx, i) * read(work, x, i))


@kernel(fastmath=FUSED)
def leave(array: Any, w: int, at: int, n: int, problems: Any, sizes: Any, out_arcs: Any, out_roots: Any) -> None:
    """Copy the matrix at `at` out of a workspace, with 0 on the diagonal."""
    if _is_full(w, n, problems, sizes):
        flat_arcs, flat_roots, first = out_arcs.reshape(-1), out_roots.reshape(-1), problems * out_roots.shape[1]
        for j in range(n):
            for lane in range(w):
                flat_roots[first[lane] + j] = array[(at + j) * w + lane]
        for i in range(n):
            for j in range(n):
                for lane in range(w):
                    x = array[(at + (i + 1) * n + j) * w + lane]
                    flat_arcs[(first[lane] + i) * out_roots.shape[1] + j] = 0.0 if i == j else x
        return
    for lane in range(len(problems)):
        b = problems[lane]
        for j in range(sizes[lane]):
            out_roots[b, j] = array[(at + j) * w + lane]
            for i in range(sizes[lane]):
                if i != j:
                    out_arcs[b, i, j] = array[(at + (i + 1) * n + j) * w + lane]


@kernel(fastmath=FUSED)
def _interleave(x: Any, w: int, n: int, problems: Any, sizes: Any, arcs: Any, roots: Any, otherwise: float) -> None:
    """Write matrices of arcs and roots side by side, with `otherwise` on the diagonal and in the padding."""
    if _is_full(w, n, problems, sizes):
        flat_arcs, flat_roots, first = arcs.reshape(-1), roots.reshape(-1), problems * roots.shape[1]
        for j in range(n):
            for lane in range(w):
                x[j * w + lane] = flat_roots[first[lane] + j]
        for i in range(n):
            for j in range(n):
                for lane in range(w):
                    x[((i + 1) * n + j) * w + lane] = flat_arcs[(first[lane] + i) * roots.shape[1] + j]
            x[((i + 1) * n + i) * w : ((i + 1) * n + i + 1) * w] = otherwise
        return
    x[: (n + 1) * n * w] = otherwise
    for lane in range(len(problems)):
        b = problems[lane]
        for j in range(sizes[lane]):
            x[j * w + lane] = roots[b, j]
            for i in range(sizes[lane]):
                if i != j:
                    x[((i + 1) * n + j) * w + lane] = arcs[b, i, j]


@kernel(fastmath=FUSED)
def _is_full(w: int, n: int, problems: Any, sizes: Any) -> bool:
    """Whether there is no padding: then copying is simpler and faster."""
    full = len(problems) == w
    for lane in range(w):
        full &= sizes[lane] == n
    return full


@kernel(fastmath=FUSED)
def _scale(work: Any, n: int, single_root: bool, log_scale: Any, spread: Any, missing: Any) -> None:
    """Subtract the best scores, and exponentiate unless in logarithms.

    `spread` becomes how far the lowest finite score is below 0, and `missing` how many scores are -inf.
    """
    x, zero = work.value, constant(work, 0.0)
    total, widest, nothing = zero, zero, zero
    best = np.full(n * width(work), -np.inf)
    for i in range(1 if single_root else 0, n + 1):
        for j in range(n):
            write(work, best, j, larger(read(work, best, j), read(work, x, i * n + j)))
    best_root = constant(work, -np.inf)
    for j in range(n):
        write(work, best, j, if_at_least(read(work, best, j), LEAST, 0.0))  # 0 if all are -inf: no NaN below
        total = total + read(work, best, j)
        best_root = larger(best_root, read(work, x, j) - read(work, best, j))
    best_root = if_at_least(best_root, LEAST, 0.0) if single_root else zero
    for j in range(n):
        write(work, x, j, read(work, x, j) - best_root)
    for i in range(n + 1):
        for j in range(n):
            score = read(work, x, i * n + j) - read(work, best, j)
            write(work, x, i * n + j, score)
            known = if_at_least(score, LEAST, 1.0)  # no score is above 0
            nothing = nothing + if_at_least(known, 0.5, 0.0)
            widest = larger(widest, zero - known)
    write(work, log_scale, 0, total + best_root)
    write(work, spread, 0, widest)
    write(work, missing, 0, nothing)
    if not in_logs(work):
        for i in range(0, (n + 1) * n * width(work), LANES):
            store(x, i, exp(load(x, i)))
