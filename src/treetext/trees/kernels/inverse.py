"""Marginals of non-projective trees by the Matrix-Tree theorem: fast CPU kernels that detect their loss of digits.

W[i, j] is the weight of i as the head of j, and r[j] that of j as a root. The Laplacian is D - W, where D is diagonal
and D[j, j] = r[j] + Σ_i W[i, j] (without r[j] for a single root). The marginals follow from its inverse (Koo,
Globerson, Carreras and Collins 2007; McDonald and Satta 2007; Smith and Smith 2007). Here they are

    P(i is the head of j) = W[i, j] (B[j, j] - B[j, i] + (u[i] - u[j]) y[j]),    P(j is a root) = r[j] y[j].

                 many roots                    a single root
    B            inverse of the Laplacian      inverse without row and column 0; row and column 0 of B are 0
    u[i]         1                             Σ_k r[k] B[k, i], the weight of all paths from i to the root that avoid 0
    v            not used                      v[j] = Σ_i B[j, i] W[i, 0] and v[0] = 1
    y[j]         B[j, j]                       v[j] / t with t = Σ_k r[k] v[k]
    log Z        log det of the Laplacian      log det without row and column 0, + log t

Elimination computes B, u, v and t without subtraction (Grassmann, Taksar and Heyman 1985), to nearly all digits. The
marginals then subtract B[j, i] + u[j] y[j], which is at most B[j, j] + u[j] y[j]. This bounds the loss of digits. If
the loss is too large, leave-one-out elimination does the problem instead. `workspaces` shows where each matrix stands.
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
UNBLOCKED = 24  # up to this many nodes, eliminating one at a time is faster
TRUST = 1e-11  # a result is trusted if TRUST n loss² is at most the largest variance p (1 - p) of an arc


def workspace_size(n: int) -> int:
    """How many numbers `marginals` needs for problems of up to n nodes."""
    return int(_y(n)) + n


def tangents_size(n: int) -> int:
    """How many derivatives `derivatives` needs for problems of up to n nodes."""
    return int(_dy(n)) + n


@kernel(fastmath=FUSED)
def marginals(
    work: Any, stride: int, arcs: Any, roots: Any, lengths: Any, problems: Any, single_root: bool,
    log_z: Any, out_arcs: Any, out_roots: Any,
) -> bool:  # fmt: skip
    """Log Z and marginals of `problems` (indices into the batch). Returns whether all of them can be trusted.

    Log Z is NaN for a problem that cannot. A group is as many problems as the workspace is wide. Each group starts
    `stride` numbers after the one before: `derivatives` needs them all, and a stride of 0 keeps only the last.
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


@kernel(inline=True)
def _y(n: int) -> int:
    """Where y stands: after weights, inverse, marginals, and the columns and rows of a panel."""
    return 3 * (n + 1) * n + PANEL * (2 * n + 1)


@kernel(inline=True)
def _dy(n: int) -> int:
    """Where the derivatives of y stand: after those of the weights, K B, those of the marginals, and B K B."""
    return 4 * (n + 1) * n


@kernel(fastmath=FUSED)
def _sizes(lengths: Any, group: Any, sizes: Any) -> int:
    """Write the number of nodes in each lane, 0 for lanes without a problem; return the largest."""
    sizes[:] = 0
    for lane in range(len(group)):
        sizes[lane] = lengths[group[lane]]
    return int(sizes.max())


@kernel(fastmath=FUSED)
def _invert(work: Any, n: int, sizes: Any, single_root: bool, log_sums: Any) -> None:
    """Write the inverse after the weights: Gauss-Jordan elimination from the last node on, without subtraction.

    For eliminated nodes e, f and remaining ones i, j (i may be the root), the matrix X holds

        X[i, j]    the weight of i → j, with all paths through eliminated nodes
        X[i, f]    the probability that a walk from f arrives at i before any other remaining node (u[f] for the root)
        X[e, f]    the inverse of the Laplacian of the eliminated nodes
        X[e, j]    Σ_f X[e, f] W[f, j]

    To eliminate k, set X[k, k] = 1 and divide column k by p, the sum of the weights of the remaining heads of k. Then
    X[i, j] += X[i, k] X[k, j] for i ≠ k, and X[k, j] *= X[k, k], for all j ≠ k. With a single root, node 0 remains, and
    the root does not count in p. Large problems collect the columns and rows of PANEL nodes and add their product once.
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
            for lane in range(w):  # 0 in the padding, where the column is 0 as well
                x[(own + k) * w + lane] = 1.0 if k < sizes[lane] else 0.0
            divide_by_sum(work, matrix + k, n, n + 1, last, k + 1, k, sizes, sums)
            # Copies of column k and row k, since adding their product overwrites both.
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
            # Only the columns and rows of this panel, which its next nodes read; the rest waits for the whole panel.
            _add(work, column, row, 1, n, matrix, 0, n + 1, start, end)
            _add(work, column, row, 1, n, matrix, start + 1, end + 1, 0, start)
            _add(work, column, row, 1, n, matrix, start + 1, end + 1, end, n)
        if n > UNBLOCKED:
            for top, bottom in ((0, start + 1), (end + 1, n + 1)):
                _add(work, columns, rows, end - start, n, matrix, top, bottom, 0, start)
                _add(work, columns, rows, end - start, n, matrix, top, bottom, end, n)
        end = start
    for k in range(last, n):  # the determinant is the product of the sums p
        for lane in range(w):
            log_sums[lane] += math.log(sums[k * w + lane])


@kernel(fastmath=FUSED)
def _add(
    work: Any, columns: int, rows: int, terms: int, n: int, to: int, top: int, bottom: int, left: int, right: int
) -> None:
    """Add the product of some columns and rows to rows `top` to `bottom`, columns `left` to `right` of the matrix."""
    x, at = work.value, to + top * n + left
    add_array_product(work, x, at, n, x, columns + top, 1, n + 1, x, rows + left, n, bottom - top, terms, right - left)


@kernel(fastmath=FUSED)
def _subtract(work: Any, n: int, sizes: Any, single_root: bool, log_sums: Any) -> None:
    """Write the marginals after the inverse; set log Z to NaN where too many digits were lost.

    With a single root, `_invert` leaves u in row 0, t at the root's entry for node 0, and v in the column of node 0.
    """
    w, x, inverse, result = width(work), work.value, (n + 1) * n, 2 * (n + 1) * n
    y, zero, one = _y(n), constant(work, 0.0), constant(work, 1.0)
    if single_root:
        total = read(work, x, inverse)
        _log(work, total, log_sums)
        write(work, x, y, one / total)
        for j in range(1, n):
            write(work, x, y + j, read(work, x, inverse + (j + 1) * n) / total)
            write(work, x, inverse + n + j, zero)  # row and column 0 of B become 0
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
            p = larger(read(work, x, (i + 1) * n + j) * way, zero)  # rounding can make it negative
            variance = larger(variance, p - p * p)
            write(work, x, result + (i + 1) * n + j, p)
    losses, variances = np.empty(w), np.empty(w)
    write(work, losses, 0, loss)
    write(work, variances, 0, variance)
    for lane in range(w):
        # Written so that NaN is not trusted either.
        if sizes[lane] > 1 and not TRUST * sizes[lane] * losses[lane] ** 2 <= variances[lane]:
            log_sums[lane] = np.nan


@kernel(fastmath=FUSED)
def _differentiate(work: Any, n: int, single_root: bool) -> None:
    """Write the derivatives of the marginals.

    Let K = W' - D', the negative derivative of the Laplacian. Then B' = B K B. The two products also give the
    derivatives of u and v, since u stands in row 0 above B, and v is put into column 0, which is empty:

        half = [r'; K] [v B]     row 0 is [r' v, r' B], the rest [K v, K B]
        full = [u; B] half       row 0 is [u K v, u K B], the rest [B K v, B K B] = [v', B']
        u' = r' B + u K B,       t' = r' v + u K v

    With a single root, the sums of the second product leave out node 0, as its column then holds v and not B.
    """
    x, dx, matrix, zero = work.value, work.tangent, (n + 1) * n, constant(work, 0.0)
    inverse, half, full = matrix, matrix, 3 * matrix
    y, dy = _y(n), _dy(n)
    first = 1 if single_root else 0
    if single_root:
        for j in range(n):  # v = y / y[0], since v[0] = 1
            write(work, x, inverse + (j + 1) * n, read(work, x, y + j) / read(work, x, y))
    for i in range(n):
        write(work, dx, half + i, zero)
        write(work, dx, full + i, zero)
        total = zero
        for k in range(first, n + 1):
            total = total + read(work, dx, k * n + i)
        for f in range(n):  # the diagonal of K is -D'
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
            write(work, x, inverse + (j + 1) * n, zero)  # column 0 of B is 0 again, as is that of B'
            write(work, dx, full + (j + 1) * n, zero)
        write(work, dx, full, zero)
    else:
        for j in range(n):
            write(work, dx, dy + j, read(work, dx, full + (j + 1) * n + j))
            write(work, dx, full + j, zero)
    _product_rule(work, n, inverse, full)


@kernel(fastmath=FUSED)
def _product_rule(work: Any, n: int, inverse: int, full: int) -> None:
    """Differentiate P = W (B[j, j] - B[j, i] + (u[i] - u[j]) y[j]) and P = r y by the product rule."""
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
    """Add the logarithm of a number to `log_sums`, lane by lane."""
    values = np.empty(width(work))
    write(work, values, 0, x)
    for lane in range(width(work)):
        log_sums[lane] += math.log(values[lane])
