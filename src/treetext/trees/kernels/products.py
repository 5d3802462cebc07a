"""Sums and products in workspaces: the steps of elimination without subtraction (Grassmann, Taksar and Heyman 1985).

Derivatives follow from the rules for quotients and products. In logarithms, a product is a sum, and a sum is

    log(a + b) = max + log1p(exp(-|log a - log b|)),    whose derivative weighs those of log a and log b by a and b.
"""

import math
from typing import Any

import numpy as np

from treetext.trees.kernels.compile import kernel, overload
from treetext.trees.kernels.lanes import LANES, load, splat, store
from treetext.trees.kernels.workspaces import Lanes, Logs, constant, kind_of, read, width, write

# An overload below defines each function for all kinds of workspace; its Python body only documents it.


def divide_by_sum(
    work: Any, first: int, step: int, terms: int, start: int, stop: int, node: int, sizes: Any, sums: Any
) -> None:
    """Divide `terms` numbers by the sum p of some of them, and write p (in logarithms, log p) to `sums[node]`.

        p = Σ_{start ≤ q < stop} work[first + q·step],    work[first + q·step] /= p  for q < terms

    The derivative is (x / p)' = (x' - (x / p) p') / p. In lanes where `node` is padding, p is set to 1.
    """


def add_product(
    work: Any, to: int, step: int, left: int, left_step: int, left_term: int, right: int, right_step: int,
    rows: int, terms: int, count: int,
) -> None:  # fmt: skip
    """Add the product of two matrices, with its derivative.

    work[to + i·step + j] += Σ_q work[left + i·left_step + q·left_term] · work[right + q·right_step + j],
    for i < rows, j < count, q < terms.
    """


def add_array_product(
    work: Any, out: Any, to: int, step: int, lefts: Any, left: int, left_step: int, left_term: int,
    rights: Any, right: int, right_step: int, rows: int, terms: int, count: int,
) -> None:  # fmt: skip
    """`add_product` without derivatives, for matrices in arrays `out`, `lefts` and `rights` (not for logarithms)."""


@overload(divide_by_sum)
def _divide_by_sum(
    work: Any, first: Any, step: Any, terms: Any, start: Any, stop: Any, node: Any, sizes: Any, sums: Any
) -> Any:
    def floats(
        work: Any, first: int, step: int, terms: int, start: int, stop: int, node: int, sizes: Any, sums: Any
    ) -> None:
        w, x, dx = width(work), work.value, work.tangent
        total = constant(work, 0.0)
        for q in range(start, stop):
            total = total + read(work, x, first + q * step)
        write(work, sums, node, total)
        for lane in range(w):  # log 1 = 0 adds nothing to log Z, and 0 / 1 stays 0
            if node >= sizes[lane]:
                sums[node * w + lane] = 1.0
        inverse = constant(work, 1.0) / read(work, sums, node)
        for q in range(terms):
            write(work, x, first + q * step, read(work, x, first + q * step) * inverse)
        if dx.size:
            total = constant(work, 0.0)
            for q in range(start, stop):
                total = total + read(work, dx, first + q * step)
            for q in range(terms):
                at = first + q * step
                write(work, dx, at, (read(work, dx, at) - read(work, x, at) * total) * inverse)

    def logs(
        work: Any, first: int, step: int, terms: int, start: int, stop: int, node: int, sizes: Any, sums: Any
    ) -> None:
        largest, total, slope = -np.inf, 0.0, 0.0
        for q in range(start, stop):
            largest = max(largest, work.value[first + q * step])
        sums[node] = largest
        if largest == -np.inf:
            if start > 0:  # only the root is allowed: NaN, as in a division of floats by zero
                for q in range(terms):
                    work.value[first + q * step] = np.nan
            return
        for q in range(start, stop):  # log p = largest + log Σ exp(x - largest), which cannot overflow
            weight = math.exp(work.value[first + q * step] - largest)
            total += weight
            if work.tangent.size:
                slope += weight * work.tangent[first + q * step]
        sums[node] += math.log(total)
        for q in range(terms):
            work.value[first + q * step] -= sums[node]
            if work.tangent.size:
                work.tangent[first + q * step] -= slope / total

    return logs if kind_of(work) is Logs else floats


@overload(add_product)
def _add_product(
    work: Any, to: Any, step: Any, left: Any, left_step: Any, left_term: Any, right: Any, right_step: Any,
    rows: Any, terms: Any, count: Any,
) -> Any:  # fmt: skip
    def floats(
        work: Any, to: int, step: int, left: int, left_step: int, left_term: int, right: int, right_step: int,
        rows: int, terms: int, count: int,
    ) -> None:  # fmt: skip
        x, dx = work.value, work.tangent
        if dx.size:  # (f x)' = f' x + f x'
            add_array_product(
                work, dx, to, step, dx, left, left_step, left_term, x, right, right_step, rows, terms, count
            )
            add_array_product(
                work, dx, to, step, x, left, left_step, left_term, dx, right, right_step, rows, terms, count
            )
        add_array_product(work, x, to, step, x, left, left_step, left_term, x, right, right_step, rows, terms, count)

    def logs(
        work: Any, to: int, step: int, left: int, left_step: int, left_term: int, right: int, right_step: int,
        rows: int, terms: int, count: int,
    ) -> None:  # fmt: skip
        x, dx = work.value, work.tangent
        for i in range(rows):
            for q in range(terms):
                f = left + i * left_step + q * left_term
                for j in range(count if x[f] != -np.inf else 0):
                    at, k = to + i * step + j, right + q * right_step + j
                    old, new = x[at], x[f] + x[k]
                    if new == -np.inf:  # adds 0; if old is -inf too, their difference would be NaN
                        continue
                    ratio = math.exp(-abs(new - old))
                    x[at] = max(old, new) + math.log1p(ratio)
                    if dx.size:
                        share = (1.0 if new > old else ratio) / (1.0 + ratio)
                        dx[at] += share * (dx[f] + dx[k] - dx[at])

    return logs if kind_of(work) is Logs else floats


@overload(add_array_product)
def _add_array_product(
    work: Any, out: Any, to: Any, step: Any, lefts: Any, left: Any, left_step: Any, left_term: Any,
    rights: Any, right: Any, right_step: Any, rows: Any, terms: Any, count: Any,
) -> Any:  # fmt: skip
    def implement(
        work: Any, out: Any, to: int, step: int, lefts: Any, left: int, left_step: int, left_term: int,
        rights: Any, right: int, right_step: int, rows: int, terms: int, count: int,
    ) -> None:  # fmt: skip
        w = width(work)
        a, d, c, size = to * w, step * w, right_step * w, count * w
        i = 0
        while i + 4 <= rows:  # tiles of four rows and two vectors stay in registers for all terms
            j = 0
            while j + 2 * LANES <= size:
                _tile_4_by_2(work, out, a + j, d, lefts, left, left_step, left_term, rights, right * w + j, c, terms)
                j += 2 * LANES
            if j + LANES <= size:
                _tile_4_by_1(work, out, a + j, d, lefts, left, left_step, left_term, rights, right * w + j, c, terms)
                j += LANES
            for k in range(4):
                _tail(
                    out,
                    a + k * d + j,
                    lefts,
                    left + k * left_step,
                    left_term,
                    rights,
                    right * w + j,
                    c,
                    terms,
                    size - j,
                )
            i += 4
            a += 4 * d
            left += 4 * left_step
        while i < rows:
            j = 0
            while j + LANES <= size:
                _tile_1_by_1(work, out, a + j, lefts, left, left_term, rights, right * w + j, c, terms)
                j += LANES
            _tail(out, a + j, lefts, left, left_term, rights, right * w + j, c, terms, size - j)
            i += 1
            a += d
            left += left_step

    return implement


def _factor(work: Any, array: Any, at: int) -> Any:
    """One number as a factor for a vector: eight problems' numbers, or one number in all lanes."""


@overload(_factor)
def _factor_of(work: Any, array: Any, at: Any) -> Any:
    if kind_of(work) is Lanes:
        return lambda work, array, at: load(array, at * LANES)
    return lambda work, array, at: splat(array[at])


@kernel(inline=True)
def _tile_4_by_2(
    work: Any, out: Any, at: int, step: int, lefts: Any, left: int, left_step: int, left_term: int,
    rights: Any, right: int, right_step: int, terms: int,
) -> None:  # fmt: skip
    """Add a product to four rows of two vectors: out += Σ_q left[q] right[q]."""
    a0, b0 = load(out, at), load(out, at + LANES)
    a1, b1 = load(out, at + step), load(out, at + step + LANES)
    a2, b2 = load(out, at + 2 * step), load(out, at + 2 * step + LANES)
    a3, b3 = load(out, at + 3 * step), load(out, at + 3 * step + LANES)
    for _ in range(terms):
        x, y = load(rights, right), load(rights, right + LANES)
        f0, f1 = _factor(work, lefts, left), _factor(work, lefts, left + left_step)
        f2, f3 = _factor(work, lefts, left + 2 * left_step), _factor(work, lefts, left + 3 * left_step)
        a0, b0 = a0 + f0 * x, b0 + f0 * y
        a1, b1 = a1 + f1 * x, b1 + f1 * y
        a2, b2 = a2 + f2 * x, b2 + f2 * y
        a3, b3 = a3 + f3 * x, b3 + f3 * y
        right += right_step
        left += left_term
    store(out, at, a0)
    store(out, at + LANES, b0)
    store(out, at + step, a1)
    store(out, at + step + LANES, b1)
    store(out, at + 2 * step, a2)
    store(out, at + 2 * step + LANES, b2)
    store(out, at + 3 * step, a3)
    store(out, at + 3 * step + LANES, b3)


@kernel(inline=True)
def _tile_4_by_1(
    work: Any, out: Any, at: int, step: int, lefts: Any, left: int, left_step: int, left_term: int,
    rights: Any, right: int, right_step: int, terms: int,
) -> None:  # fmt: skip
    """Add a product to four rows of one vector."""
    a0, a1, a2, a3 = load(out, at), load(out, at + step), load(out, at + 2 * step), load(out, at + 3 * step)
    for _ in range(terms):
        x = load(rights, right)
        a0 = a0 + _factor(work, lefts, left) * x
        a1 = a1 + _factor(work, lefts, left + left_step) * x
        a2 = a2 + _factor(work, lefts, left + 2 * left_step) * x
        a3 = a3 + _factor(work, lefts, left + 3 * left_step) * x
        right += right_step
        left += left_term
    store(out, at, a0)
    store(out, at + step, a1)
    store(out, at + 2 * step, a2)
    store(out, at + 3 * step, a3)


@kernel(inline=True)
def _tile_1_by_1(
    work: Any,
    out: Any,
    at: int,
    lefts: Any,
    left: int,
    left_term: int,
    rights: Any,
    right: int,
    right_step: int,
    terms: int,
) -> None:
    """Add a product to one row of one vector."""
    a = load(out, at)
    for _ in range(terms):
        a = a + _factor(work, lefts, left) * load(rights, right)
        right += right_step
        left += left_term
    store(out, at, a)


@kernel(inline=True)
def _tail(
    out: Any,
    at: int,
    lefts: Any,
    left: int,
    left_term: int,
    rights: Any,
    right: int,
    right_step: int,
    terms: int,
    count: int,
) -> None:
    """Add a product to the last numbers of a row."""
    for j in range(count):  # fewer than a vector, which happens only in `Rows`
        a, x, f = out[at + j], right + j, left
        for _ in range(terms):
            a += lefts[f] * rights[x]
            x += right_step
            f += left_term
        out[at + j] = a
