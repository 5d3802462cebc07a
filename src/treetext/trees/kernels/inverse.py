"""Marginals of non-projective trees by the Matrix-Tree theorem: fast CPU kernels that detect their loss of digits.

The Laplacian of the weights is inverted by elimination (Koo, Globerson, Carreras and Collins 2007; McDonald and Satta
2007; Smith and Smith 2007). Every number up to here is a sum of products of weights and right to nearly all digits,
but then

    P(i is the head of j) = W[i, j] (B[j, j] - B[j, i] + (u[i] - u[j]) y[j])

subtracts. B[j, j] + u[j] y[j] bounds the terms, and so the loss of digits. If the loss is too large, leave-one-out
elimination does the problem instead. `workspaces` has a picture of where the matrices lie.

With many roots, B is the inverse of the Laplacian, u = 1, and y[j] = B[j, j]. With a single root, B is the inverse of
the Laplacian less the row and column of node 0 (whose rows and columns in B are 0), u[i] is the weight of all ways
from i to the root that avoid node 0, u[0] = 0, y is the inverse applied to the weights of node 0 and divided by u's
sum over them.
"""

import math
from typing import Any

import numpy as np

from treetext.trees.kernels.compile import FUSED, kernel
from treetext.trees.kernels.lanes import larger
from treetext.trees.kernels.products import add_array_product, divide_by_sum
from treetext.trees.kernels.weights import enter, enter_direction, leave
from treetext.trees.kernels.workspaces import constant, part, read, width, write

PANEL = 8  # nodes eliminated together, in one pass over the matrix
UNBLOCKED = 24  # up to this many nodes, one at a time is faster
TRUST = 1e-11  # of the square of the loss of digits, relative to the largest variance of an arc


def workspace_size(n: int) -> int:
    """How many numbers `marginals` needs for problems of up to n nodes."""
    return int(_y(n)) + n


def tangents_size(n: int) -> int:
    """How many derivatives `derivatives` needs."""
    return int(_dy(n)) + n


@kernel(inline=True)
def _y(n: int) -> int:
    """Where y stands: after the weights, their inverse, the marginals, and the columns and rows of a panel."""
    return 3 * (n + 1) * n + PANEL * (2 * n + 1)


@kernel(inline=True)
def _dy(n: int) -> int:
    """Where the derivatives of y stand: after those of the weights, B K, the marginals, and B K B."""
    return 4 * (n + 1) * n


@kernel(fastmath=FUSED)
def marginals(
    work: Any, stride: int, arcs: Any, roots: Any, lengths: Any, problems: Any, single_root: bool,
    log_z: Any, out_arcs: Any, out_roots: Any,
) -> bool:  # fmt: skip
    """Log Z and marginals of `problems` (indices into the batch), and whether all are to be trusted: else log Z is NaN.

    Problems are done in groups of the workspace's width. The work of each group starts `stride` numbers after the last.
    """
    w = width(work)
    sizes, log_sums, floor = np.zeros(w, np.int64), np.empty(w), np.empty(w)
    trusted = True
    for start in range(0, len(problems), w):
        group, here = problems[start : start + w], part(work, start // w * stride)
        n = _sizes(lengths, group, sizes)
        enter(here, n, group, sizes, arcs, roots, single_root, False, log_sums, floor)
        _invert(here, n, sizes, single_root, log_sums)
        _subtract(here, n, sizes, single_root, log_sums)
        leave(here.value, w, 2 * (n + 1) * n, n, group, sizes, out_arcs, out_roots)
        for lane in range(len(group)):
            if log_sums[lane] >= floor[lane]:
                log_z[group[lane]] = log_sums[lane]
            else:
                log_z[group[lane]], trusted = np.nan, False
    return trusted


@kernel(fastmath=FUSED)
def derivatives(
    work: Any, stride: int, lengths: Any, problems: Any, single_root: bool, d_arcs: Any, d_roots: Any,
    out_arcs: Any, out_roots: Any,
) -> None:  # fmt: skip
    """The derivatives of the marginals along d_arcs and d_roots, after `marginals` with the same workspace."""
    w = width(work)
    sizes = np.zeros(w, np.int64)
    for start in range(0, len(problems), w):
        group, here = problems[start : start + w], part(work, start // w * stride)
        n = _sizes(lengths, group, sizes)
        enter_direction(here, n, group, sizes, d_arcs, d_roots)
        _differentiate(here, n, single_root)
        leave(here.tangent, w, 2 * (n + 1) * n, n, group, sizes, out_arcs, out_roots)


@kernel(fastmath=FUSED)
def _sizes(lengths: Any, group: Any, sizes: Any) -> int:
    sizes[:] = 0
    for lane in range(len(group)):
        sizes[lane] = lengths[group[lane]]
    return int(sizes.max())


@kernel(fastmath=FUSED)
def _invert(work: Any, n: int, sizes: Any, single_root: bool, log_sums: Any) -> None:
    """Put the inverse after the matrix of weights: Gauss-Jordan elimination from the last node on, without subtraction.

    For eliminated nodes e, f and others i, j, the new matrix X holds the weights among the others, with the ways
    through eliminated nodes; X[i, f], the probability to arrive at i from f; X[e, f], the inverse; X[e, j], their
    product with W.
    """
    w, x, matrix = width(work), work.value, (n + 1) * n
    zero = constant(work, 0.0)
    sums = np.empty(n * w)
    columns, rows = 3 * matrix, 3 * matrix + PANEL * (n + 1)
    for i in range(matrix):
        write(work, x, matrix + i, read(work, x, i))
    end, last = n, 1 if single_root else 0
    while end > last:
        start = max(end - PANEL, last)
        for k in range(end - 1, start - 1, -1):
            column, row = columns + (end - 1 - k) * (n + 1), rows + (end - 1 - k) * n
            own = matrix + (k + 1) * n
            for lane in range(w):
                x[(own + k) * w + lane] = 1.0 if k < sizes[lane] else 0.0
            divide_by_sum(work, matrix + k, n, n + 1, last, k + 1, k, sizes, sums)
            for i in range(n + 1):
                write(work, x, column + i, read(work, x, matrix + i * n + k))
            for j in range(n):
                write(work, x, row + j, read(work, x, own + j))
                write(work, x, own + j, zero)
            write(work, x, row + k, zero)
            write(work, x, own + k, read(work, x, column + k + 1))
            if n <= UNBLOCKED:
                _add(work, column, row, 1, n, matrix, 0, n + 1, 0, n)
                continue
            _add(work, column, row, 1, n, matrix, 0, n + 1, start, end)
            _add(work, column, row, 1, n, matrix, start + 1, end + 1, 0, start)
            _add(work, column, row, 1, n, matrix, start + 1, end + 1, end, n)
        if n > UNBLOCKED:
            for top, bottom in ((0, start + 1), (end + 1, n + 1)):
                _add(work, columns, rows, end - start, n, matrix, top, bottom, 0, start)
                _add(work, columns, rows, end - start, n, matrix, top, bottom, end, n)
        end = start
    for k in range(last, n):
        for lane in range(w):
            log_sums[lane] += math.log(sums[k * w + lane])


@kernel(fastmath=FUSED)
def _add(
    work: Any, columns: int, rows: int, terms: int, n: int, to: int, top: int, bottom: int, left: int, right: int
) -> None:
    """Add the product of some columns and rows to a part of the matrix."""
    x, at = work.value, to + top * n + left
    add_array_product(work, x, at, n, x, columns + top, 1, n + 1, x, rows + left, n, bottom - top, terms, right - left)


@kernel(fastmath=FUSED)
def _subtract(work: Any, n: int, sizes: Any, single_root: bool, log_sums: Any) -> None:
    """Put the marginals after the inverse; spoil log Z where too many digits were lost."""
    w, x, inverse, result = width(work), work.value, (n + 1) * n, 2 * (n + 1) * n
    y, zero, one = _y(n), constant(work, 0.0), constant(work, 1.0)
    if single_root:
        total = read(work, x, inverse)
        _log(work, total, log_sums)
        write(work, x, y, one / total)
        for j in range(1, n):
            write(work, x, y + j, read(work, x, inverse + (j + 1) * n) / total)
            write(work, x, inverse + n + j, zero)
            write(work, x, inverse + (j + 1) * n, zero)
        write(work, x, inverse, zero)
        write(work, x, inverse + n, zero)
    else:
        for j in range(n):
            write(work, x, y + j, read(work, x, inverse + (j + 1) * n + j))
            write(work, x, inverse + j, one)
    loss, variance = zero, zero
    for j in range(n):
        own, u, slope = (
            read(work, x, inverse + (j + 1) * n + j),
            read(work, x, inverse + j),
            read(work, x, y + j),
        )
        loss = larger(loss, own + u * slope)
        write(work, x, result + j, read(work, x, j) * slope)
        for i in range(n):
            way = own - read(work, x, inverse + (j + 1) * n + i) + (read(work, x, inverse + i) - u) * slope
            p = larger(read(work, x, (i + 1) * n + j) * way, zero)
            variance = larger(variance, p - p * p)
            write(work, x, result + (i + 1) * n + j, p)
    losses, variances = np.empty(w), np.empty(w)
    write(work, losses, 0, loss)
    write(work, variances, 0, variance)
    for lane in range(w):
        if sizes[lane] > 1 and not TRUST * sizes[lane] * losses[lane] ** 2 <= variances[lane]:
            log_sums[lane] = np.nan


@kernel(fastmath=FUSED)
def _differentiate(work: Any, n: int, single_root: bool) -> None:
    """Put the derivatives of the marginals beside them.

    With K the derivative of the weights less that of their column sums on the diagonal, B' = B K B. The row of u stands
    above B, and with a single root y, times its denominator, in the empty column of node 0: they get theirs on the way.
    """
    x, dx, matrix, zero = work.value, work.tangent, (n + 1) * n, constant(work, 0.0)
    inverse, half, full = matrix, matrix, 3 * matrix
    y, dy = _y(n), _dy(n)
    first = 1 if single_root else 0
    if single_root:
        for j in range(n):
            write(work, x, inverse + (j + 1) * n, read(work, x, y + j) / read(work, x, y))
    for i in range(n):
        write(work, dx, half + i, zero)
        write(work, dx, full + i, zero)
        total = zero
        for k in range(first, n + 1):
            total = total + read(work, dx, k * n + i)
        for f in range(n):
            at = (i + 1) * n + f
            write(work, dx, half + at, zero - total * read(work, x, inverse + at))
            write(work, dx, full + at, zero)
    add_array_product(work, dx, half, n, dx, 0, n, 1, x, inverse + n, n, n + 1, n, n)
    second = half + (first + 1) * n
    add_array_product(work, dx, full, n, x, inverse + first, n, 1, dx, second, n, n + 1, n - first, n)
    if single_root:
        total = read(work, dx, half) + read(work, dx, full)
        for j in range(n):  # (v / total)' = (v' - (v / total) total') / total
            slope = read(work, dx, full + (j + 1) * n) - read(work, x, y + j) * total
            write(work, dx, dy + j, slope * read(work, x, y))
            write(work, dx, full + j, read(work, dx, half + j) + read(work, dx, full + j))
            write(work, x, inverse + (j + 1) * n, zero)
            write(work, dx, full + (j + 1) * n, zero)
        write(work, dx, full, zero)
    else:
        for j in range(n):
            write(work, dx, dy + j, read(work, dx, full + (j + 1) * n + j))
            write(work, dx, full + j, zero)
    _product_rule(work, n, inverse, full)


@kernel(fastmath=FUSED)
def _product_rule(work: Any, n: int, inverse: int, full: int) -> None:
    x, dx, result, y, dy = work.value, work.tangent, 2 * (n + 1) * n, _y(n), _dy(n)
    for j in range(n):
        own, u, slope = inverse + (j + 1) * n, read(work, x, inverse + j), read(work, x, y + j)
        d_own, d_u, d_slope = full + (j + 1) * n, read(work, dx, full + j), read(work, dx, dy + j)
        write(work, dx, result + j, read(work, dx, j) * slope + read(work, x, j) * d_slope)
        for i in range(n):
            rise, d_rise = read(work, x, inverse + i) - u, read(work, dx, full + i) - d_u
            way = read(work, x, own + j) - read(work, x, own + i) + rise * slope
            d_way = read(work, dx, d_own + j) - read(work, dx, d_own + i) + d_rise * slope + rise * d_slope
            at = (i + 1) * n + j
            write(work, dx, result + at, read(work, dx, at) * way + read(work, x, at) * d_way)


@kernel(fastmath=FUSED)
def _log(work: Any, x: Any, log_sums: Any) -> None:
    values = np.empty(width(work))
    write(work, values, 0, x)
    for lane in range(width(work)):
        log_sums[lane] += math.log(values[lane])
