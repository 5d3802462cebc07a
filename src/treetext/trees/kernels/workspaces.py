"""Three kinds of workspace for non-projective problems, and the basic operations on them.

A workspace is a vector of numbers (`value`) and a vector of their derivatives along a direction (`tangent`, possibly
empty). Positions and steps count numbers, not floats.

| kind | a number is | for |
|---|---|---|
| `Lanes` | eight float64, one for each of eight problems | small problems, eight at a time |
| `Rows` | one float64 | large problems, SIMD along rows |
| `Logs` | one float64: its logarithm; its derivative is that of the logarithm | any range of scores |

In memory, a number of `Lanes` is eight floats, one for each problem a to h; of `Rows` and `Logs`, it is one float:

    Lanes   | a0 b0 c0 d0 e0 f0 g0 h0 | a1 b1 c1 d1 e1 f1 g1 h1 | a2 …     number k at value[8 k : 8 k + 8]
    Rows    | x0 | x1 | x2 …                                               number k at value[k]
    Logs    | log x0 | log x1 | log x2 …                                   number k at value[k]

A matrix has n + 1 rows (the root, then each node as a head) of n columns (each node as a dependent), row by row:

              column 0 … n - 1
    row 0     root → j            number j
    row i + 1 i → j               number (i + 1) n + j

Each algorithm puts its matrices one after the other, M = (n + 1) n numbers each. Below each bar is its position:

    inverse, value
        | weights  | inverse B        | marginals  | panel columns | panel rows     | y               |
        0          M                  2M           3M              3M + 8 (n + 1)   3M + 8 (2n + 1)
                   row 0 is u                      8 of n + 1      8 of n           n numbers

    inverse, tangent
        | weights' | K B              | marginals' | B K B         | y'             |
        0          M                  2M           3M              4M
                   row 0 is r' B                   row 0 is u'     n numbers

    leave_one_out, value and tangent
        | weights  | U                | block of n | block of h    | block of h / 2 | … | block of 2 |
        0          M                  2M           3M              3M + (h + 1) h
                   marginals replace U             h: the largest power of two below n

    sampling, value
        | weights  | U, only column 0 | copy to eliminate          | weights of the whole problem       |
        0          (m + 1) m          2 (m + 1) m                  3M
        the first three have m columns: the nodes without a head

The modules define the letters. A prime is a derivative. A block of m nodes is a matrix of m + 1 rows (the root, the
nodes to keep, the nodes to eliminate) and m columns. In `Lanes`, n is the largest problem of the eight, and padding has
weight 0. For derivatives, `inverse` keeps such a value for each group of problems, one after the other; groups take
turns with one tangent. Projective problems have no workspace: `items` shows their charts.
"""

from typing import Any, NamedTuple

import numpy as np

from treetext.trees.kernels.compile import kernel, overload
from treetext.trees.kernels.lanes import LANES, load, splat, store

LARGEST_SPARE = 2**23  # floats: 64 MiB


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
    """The same workspace with memory for the derivatives of `size` numbers."""
    return work._replace(tangent=_floats(type(work), size))


def release(array: Any) -> None:
    """Keep an unused array for a later workspace."""
    spare = _spare.setdefault(array.size, [])
    if 0 < array.size <= LARGEST_SPARE and len(spare) < 4:
        spare.append(array)


# An overload below defines each of these functions for each kind; the Python bodies only document them.


def width(work: Any) -> int:
    """How many problems the workspace holds side by side."""
    return LANES if isinstance(work, Lanes) else 1


def in_logs(work: Any) -> bool:
    """Whether the workspace holds logarithms."""
    return isinstance(work, Logs)


def part(work: Any, start: int) -> Any:
    """The workspace from number `start` on. The derivatives stay where they are."""


def constant(work: Any, x: float) -> Any:
    """A plain float as a number (not for logarithms)."""


def read(work: Any, array: Any, at: int) -> Any:
    """One number of `work.value` or `work.tangent`."""


def write(work: Any, array: Any, at: int, x: Any) -> None:
    """Set one number of `work.value` or `work.tangent`."""


def copy(work: Any, to: int, source: int, count: int) -> None:
    """Copy `count` numbers and their derivatives."""


def kind_of(work: Any) -> Any:
    """The class of a workspace, from its numba type."""
    return work.instance_class


_NONE = np.empty(0)


_spare: dict[int, list[Any]] = {}  # getting fresh memory takes as long as the work in it


def _floats(kind: Any, size: int) -> Any:
    count = size * (LANES if kind is Lanes else 1) + LANES  # loops over vectors may run past the end
    count = 1 << (count - 1).bit_length()
    try:
        return _spare[count].pop()
    except (KeyError, IndexError):
        array = np.empty(count + LANES)
        start = -array.ctypes.data // 8 % LANES  # align to a cache line
        return array[start : start + count]


@overload(width)
def _width(work: Any) -> Any:
    lanes = LANES if kind_of(work) is Lanes else 1
    return lambda work: lanes


@overload(in_logs)
def _in_logs(work: Any) -> Any:
    answer = kind_of(work) is Logs
    return lambda work: answer


@overload(part)
def _part(work: Any, start: Any) -> Any:
    kind = kind_of(work)
    return lambda work, start: kind(work.value[start * width(work) :], work.tangent)


@overload(constant)
def _constant(work: Any, x: Any) -> Any:
    return (lambda work, x: splat(x)) if kind_of(work) is Lanes else (lambda work, x: x)


@overload(read)
def _read(work: Any, array: Any, at: Any) -> Any:
    if kind_of(work) is Lanes:
        return lambda work, array, at: load(array, at * LANES)
    return lambda work, array, at: array[at]


@overload(write)
def _write(work: Any, array: Any, at: Any, x: Any) -> Any:
    def one(work: Any, array: Any, at: int, x: float) -> None:
        array[at] = x

    return (lambda work, array, at, x: store(array, at * LANES, x)) if kind_of(work) is Lanes else one


@overload(copy)
def _copy(work: Any, to: Any, source: Any, count: Any) -> Any:
    def implement(work: Any, to: int, source: int, count: int) -> None:
        w = width(work)
        _copy_floats(work.value, to * w, source * w, count * w)
        if work.tangent.size:
            _copy_floats(work.tangent, to * w, source * w, count * w)

    return implement


@kernel(inline=True)
def _copy_floats(array: Any, to: int, source: int, count: int) -> None:
    whole = count // LANES * LANES
    for j in range(0, whole, LANES):
        store(array, to + j, load(array, source + j))
    for j in range(whole, count):
        array[to + j] = array[source + j]
