"""Scores into a workspace as weights, and marginals out of it: what both ways to compute marginals share.

A matrix in a workspace has a row for the root and then one for each node, and a column for each node.
"""

import math
from typing import Any

import numpy as np
from numba import njit

from treetext.trees._lanes import INLINE, LANES, exp_nonpositive, if_at_least, larger, load, store
from treetext.trees._workspaces import KERNEL, constant, in_logs, read, width, write

LEAST = -1.7976931348623157e308  # the least float: what lies below is -inf
RANGE = 600.0  # the weights of scores that lie this much below the best are still normal floats


@njit(**KERNEL)
def enter(
    work: Any, n: int, problems: Any, sizes: Any, arcs: Any, roots: Any, single_root: bool, log_scale: Any, floor: Any
) -> None:
    """Write the weights of some problems side by side, each column divided by its best weight, the root's too by their best.

    `log_scale` is the logarithm of all that was divided by, or NaN where floats do not hold the range of the weights.
    `floor` is a bound below which log Z only falls where there is no tree.
    """
    w, x = width(work), work.value
    x[: (n + 1) * n * w] = -np.inf
    forbidden = np.zeros(w, np.bool_)
    for lane in range(len(problems)):
        b, size = problems[lane], sizes[lane]
        lowest = _interleave(x, lane, w, roots[b, :size])
        for i in range(size):
            below = _interleave(x[(i + 1) * n * w :], lane, w, arcs[b, i, :i])
            above = _interleave(x[((i + 1) * n + i + 1) * w :], lane, w, arcs[b, i, i + 1 : size])
            lowest = min(lowest, below, above)
        forbidden[lane] = lowest == -np.inf
    spread = np.empty(w)
    _scale(work, n, single_root, log_scale, spread)
    for lane in range(len(problems)):
        # No product of weights, nor the number of trees, makes up for more than this.
        reach = sizes[lane] * (math.log(sizes[lane] + 1.0) + spread[lane])
        floor[lane] = log_scale[lane] - reach - 1.0
        if not in_logs(work):
            if spread[lane] > RANGE or (forbidden[lane] and reach > RANGE):
                log_scale[lane] = np.nan
        elif single_root:  # as if many roots were allowed, but each at a price that a second one cannot pay
            for j in range(n):
                x[j] -= reach + 750.0
            log_scale[lane] += reach + 750.0


@njit(**INLINE)
def _interleave(out: Any, lane: int, w: int, row: Any) -> float:
    """Write a row into one lane, and return its lowest number."""
    lowest = np.inf
    for j in range(len(row)):
        out[j * w + lane] = row[j]
        lowest = min(lowest, row[j])
    return lowest


@njit(**KERNEL)
def _scale(work: Any, n: int, single_root: bool, log_scale: Any, spread: Any) -> None:
    x = work.value
    zero = constant(work, 0.0)
    total, best_root, range_ = zero, constant(work, -np.inf), zero
    best = np.full(n * width(work), -np.inf)
    for i in range(1 if single_root else 0, n + 1):
        for j in range(n):
            write(work, best, j, larger(read(work, best, j), read(work, x, i * n + j)))
    for j in range(n):
        write(work, best, j, if_at_least(read(work, best, j), LEAST, 0.0))
        total = total + read(work, best, j)
    for i in range(n + 1):
        for j in range(n):
            write(work, x, i * n + j, read(work, x, i * n + j) - read(work, best, j))
    for j in range(n):
        best_root = larger(best_root, read(work, x, j))
    if single_root:
        best_root = if_at_least(best_root, LEAST, 0.0)
        total = total + best_root
        for j in range(n):
            write(work, x, j, read(work, x, j) - best_root)
    for i in range((n + 1) * n):
        range_ = larger(range_, zero - if_at_least(read(work, x, i), LEAST, 0.0))
    write(work, log_scale, 0, total)
    write(work, spread, 0, range_)
    if not in_logs(work):
        for i in range(0, (n + 1) * n * width(work), LANES):
            store(x, i, exp_nonpositive(load(x, i)))


@njit(**KERNEL)
def enter_direction(work: Any, n: int, problems: Any, sizes: Any, d_arcs: Any, d_roots: Any) -> None:
    """Write the derivatives of the weights along a direction in which the scores move."""
    w, x, dx = width(work), work.value, work.tangent
    dx[: (n + 1) * n * w] = 0.0
    for lane in range(len(problems)):
        b, size = problems[lane], sizes[lane]
        _interleave(dx, lane, w, d_roots[b, :size])
        for i in range(size):
            _interleave(dx[(i + 1) * n * w :], lane, w, d_arcs[b, i, :i])
            _interleave(dx[((i + 1) * n + i + 1) * w :], lane, w, d_arcs[b, i, i + 1 : size])
    if not in_logs(work):
        for i in range((n + 1) * n):
            write(work, dx, i, read(work, dx, i) * read(work, x, i))


@njit(**KERNEL)
def leave(array: Any, w: int, at: int, n: int, problems: Any, sizes: Any, out_arcs: Any, out_roots: Any) -> None:
    """Copy a matrix of results out of a workspace."""
    for lane in range(len(problems)):
        b = problems[lane]
        for j in range(sizes[lane]):
            out_roots[b, j] = array[(at + j) * w + lane]
        for i in range(sizes[lane]):
            for j in range(sizes[lane]):
                if i != j:
                    out_arcs[b, i, j] = array[(at + (i + 1) * n + j) * w + lane]
