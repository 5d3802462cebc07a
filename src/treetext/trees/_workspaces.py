"""Three kinds of workspace for tree problems, and the few operations on them that the algorithms are made of.

A workspace is a long vector of numbers and beside it, unless that is empty, the derivative of each along some direction.
Positions and steps count numbers.

| kind | a number is | for |
|---|---|---|
| `Lanes` | eight float64, one for each of eight problems | small problems, eight at a time |
| `Rows` | one float64 | large problems, SIMD along rows |
| `Logs` | one float64, its logarithm (and the derivative is that of the logarithm) | any range of scores |
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from treetext.trees._lanes import INLINE, LANES, load, splat, store

KERNEL = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract"}}


class Lanes(NamedTuple):
    """Eight problems side by side."""

    value: Any
    tangent: Any


class Rows(NamedTuple):
    """One problem."""

    value: Any
    tangent: Any


class Logs(NamedTuple):
    """One problem, in logarithms."""

    value: Any
    tangent: Any


def make(kind: Any, size: int) -> Any:
    """A workspace for `size` numbers without derivatives."""
    return kind(_floats(kind, size), _NONE)


def with_tangents(work: Any, size: int) -> Any:
    """The same workspace with room for the derivatives of `size` numbers."""
    return work._replace(tangent=_floats(type(work), size))


def release(array: Any) -> None:
    """Give an array of a workspace that nobody uses any more to those that will be made."""
    spare = _spare.setdefault(array.size, [])
    if array.size and len(spare) < 4:
        spare.append(array)


_NONE = np.empty(0)
_spare: dict[int, list[Any]] = {}  # fresh memory costs as much time as the work that is done in it


def _floats(kind: Any, size: int) -> Any:
    count = size * (LANES if kind is Lanes else 1) + LANES  # loops over vectors may run past the end
    count = 1 << (count - 1).bit_length()
    try:
        return _spare[count].pop()
    except (KeyError, IndexError):
        array = np.empty(count + LANES)
        start = -array.ctypes.data // 8 % LANES  # to the start of a cache line
        return array[start : start + count]


# What follows is defined for each kind by an overload below; the Python bodies only say what that is.


def width(work: Any) -> int:
    """How many problems the workspace holds side by side."""
    return LANES if isinstance(work, Lanes) else 1


def in_logs(work: Any) -> bool:
    """Whether the workspace holds logarithms."""
    return isinstance(work, Logs)


def part(work: Any, start: int) -> Any:
    """The workspace from some number on; the derivatives are not moved."""


def constant(work: Any, x: float) -> Any:
    """A plain float as a number (not for logarithms)."""


def read(work: Any, array: Any, at: int) -> Any:
    """One number of `work.value` or `work.tangent`."""


def write(work: Any, array: Any, at: int, x: Any) -> None:
    """Set one number of `work.value` or `work.tangent`."""


def copy(work: Any, to: int, source: int, count: int) -> None:
    """Copy `count` numbers and their derivatives."""


def divide_by_sum(
    work: Any, first: int, step: int, terms: int, start: int, stop: int, node: int, sizes: Any, sums: Any
) -> None:
    """Divide numbers first, first + step, … by the sum of those from `start` to `stop`, which is left at `node` in `sums`.

    In lanes where `node` is padding, the sum is taken for 1.
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
    """The same without derivatives, each of the three matrices standing in an array of its own (not for logarithms)."""


def _kind(work: Any) -> Any:
    return work.instance_class


@overload(width, strict=False, jit_options=INLINE)
def _width(work: Any) -> Any:
    lanes = LANES if _kind(work) is Lanes else 1
    return lambda work: lanes


@overload(in_logs, strict=False, jit_options=INLINE)
def _in_logs(work: Any) -> Any:
    answer = _kind(work) is Logs
    return lambda work: answer


@overload(part, strict=False, jit_options=INLINE)
def _part(work: Any, start: Any) -> Any:
    kind = _kind(work)
    return lambda work, start: kind(work.value[start * width(work) :], work.tangent)


@overload(constant, strict=False, jit_options=INLINE)
def _constant(work: Any, x: Any) -> Any:
    return (lambda work, x: splat(x)) if _kind(work) is Lanes else (lambda work, x: x)


@overload(read, strict=False, jit_options=INLINE)
def _read(work: Any, array: Any, at: Any) -> Any:
    if _kind(work) is Lanes:
        return lambda work, array, at: load(array, at * LANES)
    return lambda work, array, at: array[at]


@overload(write, strict=False, jit_options=INLINE)
def _write(work: Any, array: Any, at: Any, x: Any) -> Any:
    def one(work: Any, array: Any, at: int, x: float) -> None:
        array[at] = x

    return (lambda work, array, at, x: store(array, at * LANES, x)) if _kind(work) is Lanes else one


@overload(copy, strict=False, jit_options=INLINE)
def _copy(work: Any, to: Any, source: Any, count: Any) -> Any:
    def implement(work: Any, to: int, source: int, count: int) -> None:
        w = width(work)
        _copy_floats(work.value, to * w, source * w, count * w)
        if work.tangent.size:
            _copy_floats(work.tangent, to * w, source * w, count * w)

    return implement


@njit(**INLINE)
def _copy_floats(array: Any, to: int, source: int, count: int) -> None:
    whole = count // LANES * LANES
    for j in range(0, whole, LANES):
        store(array, to + j, load(array, source + j))
    for j in range(whole, count):
        array[to + j] = array[source + j]


@overload(divide_by_sum, strict=False, jit_options=INLINE)
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
        for lane in range(w):
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
            return
        for q in range(start, stop):
            weight = math.exp(work.value[first + q * step] - largest)
            total += weight
            if work.tangent.size:
                slope += weight * work.tangent[first + q * step]
        sums[node] += math.log(total)
        for q in range(terms):
            work.value[first + q * step] -= sums[node]
            if work.tangent.size:
                work.tangent[first + q * step] -= slope / total

    return logs if _kind(work) is Logs else floats


@overload(add_product, strict=False, jit_options=INLINE)
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
                for j in range(count if x[f] > -np.inf else 0):
                    at, k = to + i * step + j, right + q * right_step + j
                    old, new = x[at], x[f] + x[k]
                    if new == -np.inf:
                        continue
                    ratio = math.exp(-abs(new - old))
                    x[at] = max(old, new) + math.log1p(ratio)
                    if dx.size:
                        share = (1.0 if new > old else ratio) / (1.0 + ratio)
                        dx[at] += share * (dx[f] + dx[k] - dx[at])

    return logs if _kind(work) is Logs else floats


@overload(add_array_product, strict=False, jit_options=INLINE)
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
        while i + 4 <= rows:  # tiles of four rows and two vectors stay in registers while the terms go by
            j = 0
            while j + 2 * LANES <= size:
                _tile_4_by_2(
                    work, out, a + j, d, lefts, left, left_step, left_term, rights, right * w + j, c, terms
                )
                j += 2 * LANES
            if j + LANES <= size:
                _tile_4_by_1(
                    work, out, a + j, d, lefts, left, left_step, left_term, rights, right * w + j, c, terms
                )
                j += LANES
            for k in range(4):
                _tail(
                    out, a + k * d + j, lefts, left + k * left_step, left_term, rights, right * w + j, c, terms, size - j
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
    """One number, ready to multiply a vector."""


@overload(_factor, strict=False, jit_options=INLINE)
def _factor_of(work: Any, array: Any, at: Any) -> Any:
    if _kind(work) is Lanes:
        return lambda work, array, at: load(array, at * LANES)
    return lambda work, array, at: splat(array[at])


@njit(**INLINE)
def _tile_4_by_2(
    work: Any, out: Any, at: int, step: int, lefts: Any, left: int, left_step: int, left_term: int,
    rights: Any, right: int, right_step: int, terms: int,
) -> None:  # fmt: skip
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


@njit(**INLINE)
def _tile_4_by_1(
    work: Any, out: Any, at: int, step: int, lefts: Any, left: int, left_step: int, left_term: int,
    rights: Any, right: int, right_step: int, terms: int,
) -> None:  # fmt: skip
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


@njit(**INLINE)
def _tile_1_by_1(
    work: Any, out: Any, at: int, lefts: Any, left: int, left_term: int, rights: Any, right: int, right_step: int, terms: int
) -> None:
    a = load(out, at)
    for _ in range(terms):
        a = a + _factor(work, lefts, left) * load(rights, right)
        right += right_step
        left += left_term
    store(out, at, a)


@njit(**INLINE)
def _tail(
    out: Any, at: int, lefts: Any, left: int, left_term: int, rights: Any, right: int, right_step: int, terms: int, count: int
) -> None:
    for j in range(count):  # fewer than a vector: only in workspaces of single floats
        a, x, f = out[at + j], right + j, left
        for _ in range(terms):
            a += lefts[f] * rights[x]
            x += right_step
            f += left_term
        out[at + j] = a
