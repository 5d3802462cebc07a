"""Marginals of non-projective trees by leave-one-out elimination: CPU kernels.

A random walk steps from a node j to a head i with probability proportional to the weight W[i, j], until it reaches the
root (Wilson 1996). The head of j in a random tree is the node to which the walk from j goes when it leaves j for the
last time. So

    P(i is the head of j) = W[i, j] U[i, j] / Σ_i' W[i', j] U[i', j]

where U[i, j] is the probability that a walk from i reaches the root before j, and U of the root is 1. (A single root is
the limit of small weights of the root: U is divided by the factor that goes to 0, and p below leaves the root out.) To
compute column j of U, eliminate all nodes but j. Elimination needs no subtraction (Grassmann, Taksar and Heyman 1985).
It replaces a node k by the paths through it:

    p = Σ_i W[i, k],    W[i, j] += W[i, k] W[k, j] / p.

So each U is right to nearly all its digits, whatever the scores. Back substitution gives U of the eliminated nodes,

    U[k, j] = (W[root, k] + Σ_i W[i, k] U[i, j]) / p    over the nodes i that remained when k was eliminated,

and log Z is the sum of log p over the eliminated nodes, plus log Σ_i W[i, j] U[i, j] of the last node j.

Eliminating all nodes but j, for every j, shares most of its work: eliminate one half of the nodes and do the same
within the other half, then vice versa. This takes O(n³) time and O(n²) memory. In a workspace with tangents, each
number carries its derivative along a direction. `workspaces` shows where each matrix stands.
"""

import math
from typing import Any

import numpy as np

from treetext.trees.kernels.compile import FUSED, kernel
from treetext.trees.kernels.products import add_product, divide_by_sum
from treetext.trees.kernels.weights import enter, enter_direction, leave
from treetext.trees.kernels.workspaces import constant, copy, in_logs, read, width, write

PANEL = 4  # nodes eliminated together, in one pass over the matrix


def workspace_size(n: int) -> int:
    """How many numbers `marginals` needs for problems of up to n nodes."""
    size, m = 2 * (n + 1) * n, n
    while m > 1:
        size += (m + 1) * m
        m = 1 << (m - 1).bit_length() - 1  # the larger half: the largest power of two below m
    return size


@kernel(fastmath=FUSED)
def marginals(
    work: Any, arcs: Any, roots: Any, lengths: Any, problems: Any, single_root: bool, priced: bool,
    d_arcs: Any, d_roots: Any, log_z: Any, out_arcs: Any, out_roots: Any,
) -> None:  # fmt: skip
    """Log Z and marginals of `problems` (indices into the batch), or their derivatives along d_arcs and d_roots.

    A workspace with tangents gives derivatives. If floats do not hold the range of a problem, its log Z is NaN, and the
    caller does it again in logarithms, or in logarithms with `priced` roots (see `enter`). Log Z is -inf if there is no
    tree.
    """
    w = width(work)
    sizes, log_sums, floor = np.zeros(w, np.int64), np.empty(w), np.empty(w)
    for start in range(0, len(problems), w):
        group = problems[start : start + w]
        sizes[:] = 0
        sizes[: len(group)] = lengths[group]
        n = sizes.max()
        enter(work, n, group, sizes, arcs, roots, single_root, priced, log_sums, floor)
        if work.tangent.size:
            enter_direction(work, n, group, sizes, d_arcs, d_roots)
        _leave_one_out(work, n, sizes, single_root and not priced, log_sums)
        _normalise(work, n, sizes, log_sums)
        if work.tangent.size:
            for lane in range(len(group)):
                _balance(work, n, sizes[lane], lane)
            leave(work.tangent, w, (n + 1) * n, n, group, sizes, out_arcs, out_roots)
        else:
            leave(work.value, w, (n + 1) * n, n, group, sizes, out_arcs, out_roots)
        for lane in range(len(group)):
            has_tree = log_sums[lane] >= floor[lane]
            no_tree = in_logs(work) and not math.isnan(log_sums[lane])
            log_z[group[lane]] = log_sums[lane] if has_tree else -np.inf if no_tree else np.nan


@kernel(fastmath=FUSED)
def eliminate(work: Any, at: int, m: int, r: int, gone: int, sizes: Any, single_root: bool, sums: Any) -> None:
    """Eliminate all but the first r of m nodes, from the last on.

    Column k of an eliminated node keeps W[i, k] / p, for `substitute`. `gone` is the index of node r in the whole
    problem.
    """
    end = m
    while end > r:
        start = r + (end - r - 1) // PANEL * PANEL  # panels count from r: padding does not move them
        for k in range(end - 1, start - 1, -1):
            column, row = at + k, at + (k + 1) * m
            divide_by_sum(work, column, m, k + 1, 1 if single_root else 0, k + 1, gone + k - r, sizes, sums)
            add_product(work, at + start, m, column, m, 0, row + start, 0, k + 1, 1, k - start)
            panel = (start + 1) * m
            add_product(work, at + panel, m, column + panel, m, 0, row, 0, k - start, 1, start)
        add_product(work, at, m, at + end - 1, m, -1, at + end * m, -m, start + 1, end - start, start)
        end = start


@kernel(fastmath=FUSED)
def substitute(work: Any, n: int, at: int, m: int, r: int, kept: int, gone: int) -> None:
    """U[k, j] = W[root, k] + Σ_i W[i, k] U[i, j] for eliminated nodes k and kept nodes j, with W already divided by p.

    The order is the reverse of elimination. `kept` and `gone` are the first kept and the first eliminated node.
    """
    u = (n + 1) * n + n + kept
    for k in range(r, m):
        for j in range(r):
            copy(work, u + (gone + k - r) * n + j, at + k, 1)
    add_product(work, u + gone * n, n, at + m + r, 1, m, u + kept * n, n, m - r, r, r)
    for k in range(r + 1, m):
        add_product(work, u + (gone + k - r) * n, n, at + (r + 1) * m + k, 0, m, u + gone * n, n, 1, k - r, r)


@kernel(fastmath=FUSED)
def _leave_one_out(work: Any, n: int, sizes: Any, single_root: bool, log_sums: Any) -> None:
    """Fill U, which stands after the weights: eliminate one half of a block, do the other, and vice versa.

    A block is m nodes from `first` on, after all other nodes were eliminated. Its matrix stands at `at` and has rows of
    `stride` numbers; `free` is where unused memory starts. Its three turns are: eliminate the second half; substitute
    for it, and eliminate the first half; substitute for the first half. The blocks are on a stack, because numba cannot
    cache a function that calls itself.
    """
    w, sums = width(work), np.empty(n * width(work))
    stack, depth = np.zeros((64, 6), np.int64), 0
    stack[0] = 0, n, n, 0, 2 * (n + 1) * n, 0
    while depth >= 0:
        at, stride, m, first, free, turn = stack[depth]
        if m == 1:
            _set(work, (n + 1) * n + (first + 1) * n + first, 0.0)
            depth -= 1
            continue
        half = 1
        while 2 * half < m:  # a power of two, so that padding at the end does not change the order of elimination
            half *= 2
        if turn > 0:
            kept, r, gone = (0, half, half) if turn == 1 else (half, m - half, 0)
            substitute(work, n, free, m, r, first + kept, first + gone)
        if turn == 2:
            depth -= 1
            continue
        kept, r, gone = (0, half, half) if turn == 0 else (half, m - half, 0)
        for i in range(m + 1):  # root, then the nodes to keep, then those to eliminate
            source = at + stride * (0 if i == 0 else kept + i if i <= r else gone + i - r)
            copy(work, free + i * m, source + kept, r)
            copy(work, free + i * m + r, source + gone, m - r)
        eliminate(work, free, m, r, first + gone, sizes, single_root, sums)
        if first + kept == 0:  # the eliminations that keep node 0 give log Z
            for k in range(gone, gone + m - r):
                for lane in range(w):
                    log_sums[lane] += sums[k * w + lane] if in_logs(work) else math.log(sums[k * w + lane])
        stack[depth, 5] += 1
        depth += 1
        stack[depth] = free, m, r, first + kept, free + (m + 1) * m, 0


@kernel(fastmath=FUSED)
def _normalise(work: Any, n: int, sizes: Any, log_sums: Any) -> None:
    """Replace U by the marginals, W U divided by its sum in each column, and complete log Z."""
    x, dx, matrix = work.value, work.tangent, (n + 1) * n
    totals = np.empty(width(work))
    for j in range(n):
        _set(work, matrix + j, 1.0)
        log_factor = _multiply(work, j, matrix + j, n, n + 1)
        total = constant(work, 0.0)
        for at in range(matrix + j, 2 * matrix, n):
            total = total + read(work, x, at)
        write(work, totals, 0, total)
        for lane in range(width(work)):
            if j == 0:  # the last node in the eliminations that gave log Z
                log_sums[lane] += math.log(totals[lane]) + log_factor
            elif j < sizes[lane]:  # an infinite or NaN total makes log Z NaN
                log_sums[lane] += totals[lane] * 0.0
        inverse = constant(work, 1.0) / total
        for at in range(matrix + j, 2 * matrix, n):
            write(work, x, at, read(work, x, at) * inverse)
        if dx.size:
            total = constant(work, 0.0)
            for at in range(matrix + j, 2 * matrix, n):
                total = total + read(work, dx, at)
            for at in range(matrix + j, 2 * matrix, n):
                write(work, dx, at, (read(work, dx, at) - read(work, x, at) * total) * inverse)


@kernel(fastmath=FUSED)
def _multiply(work: Any, source: int, to: int, step: int, terms: int) -> float:
    """Multiply the numbers at `to` by those at `source`. Logarithms become floats.

    The largest product of logarithms becomes 1. Returns the logarithm of the factor that this leaves out.
    """
    x, dx = work.value, work.tangent
    if not in_logs(work):
        for q in range(0, terms * step, step):
            a, b = read(work, x, source + q), read(work, x, to + q)
            if dx.size:
                write(work, dx, to + q, read(work, dx, source + q) * b + a * read(work, dx, to + q))
            write(work, x, to + q, a * b)
        return 0.0
    largest = -np.inf
    for q in range(0, terms * step, step):
        x[to + q] += x[source + q]
        largest = max(largest, x[to + q])
    for q in range(0, terms * step, step):
        x[to + q] = math.exp(x[to + q] - largest) if x[to + q] != -np.inf else 0.0
        if dx.size:
            dx[to + q] = x[to + q] * (dx[to + q] + dx[source + q])
    return largest


@kernel(fastmath=FUSED)
def _balance(work: Any, n: int, size: int, lane: int) -> None:
    """Set the derivative of the likeliest head in each column to minus the sum of the others.

    Derivatives in a column sum to 0. This keeps the digits of tiny ones.
    """
    w, matrix = width(work), (n + 1) * n
    for j in range(size):
        best, rest = matrix + j, 0.0
        for at in range(matrix + j, 2 * matrix, n):
            if work.value[at * w + lane] > work.value[best * w + lane]:
                best = at
        for at in range(matrix + j, 2 * matrix, n):
            if at != best:
                rest += work.tangent[at * w + lane]
        work.tangent[best * w + lane] = -rest


@kernel(fastmath=FUSED)
def _set(work: Any, at: int, x: float) -> None:
    """Set a number to 0 or 1, as a float or as a logarithm."""
    w = width(work)
    for lane in range(at * w, (at + 1) * w):
        work.value[lane] = math.log(x) if in_logs(work) else x
        if work.tangent.size:
            work.tangent[lane] = 0.0
