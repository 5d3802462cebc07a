"""Three kinds of workspace for tree problems, and the few operations on them that the algorithms are made of.

A workspace is a long vector of numbers and beside it, unless that is empty, the derivative of each along some
direction. Positions and steps count numbers.

| kind | a number is | for |
|---|---|---|
| `Lanes` | eight float64, one for each of eight problems | small problems, eight at a time |
| `Rows` | one float64 | large problems, SIMD along rows |
| `Logs` | one float64, its logarithm (and the derivative is that of the logarithm) | any range of scores |
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
    """The same workspace with room for the derivatives of `size` numbers."""
    return work._replace(tangent=_floats(type(work), size))


def release(array: Any) -> None:
    """Give an array of a workspace that nobody uses any more to those that will be made."""
    spare = _spare.setdefault(array.size, [])
    if 0 < array.size <= LARGEST_SPARE and len(spare) < 4:
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


def kind_of(work: Any) -> Any:
    """The class of a workspace, from its numba type."""
    return work.instance_class


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
