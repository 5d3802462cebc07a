"""The exponential function, for lanes and for floats.

The C library's exp takes one float. This one has no branches, so it runs in SIMD lanes as well.
"""

import math
from typing import Any

import numpy as np

from treetext.trees.kernels.compile import kernel, overload
from treetext.trees.kernels.lanes import if_at_least, is_lanes, shift_into_exponent, splat

SHIFT = 1.5 * 2.0**52  # a float of this size has no fractional digits, and its lowest bits are an integer
LOG_2 = math.log(2)
LOG2_E = 1 / LOG_2
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # k times the first is exact
LOWEST = -1023 * LOG_2  # here 2ᵏ becomes exactly 0


@kernel(inline=True)
def exp(x: Any) -> Any:
    """e to the power x, for x up to about 0, right to the last digit or two; 0 below about -709.

        x = k log 2 + r,    exp(x) = 2ᵏ exp(r),    exp(r) ≈ Σ_{q ≤ 13} r^q / q!

    with an integer k and |r| ≤ log(2) / 2. Subtracting k log 2 in two parts keeps all digits of r (Cody and Waite
    1980).
    """
    y = if_at_least(x, LOWEST, LOWEST)
    shifted = y * _like(x, LOG2_E) + _like(x, SHIFT)
    k = shifted - _like(x, SHIFT)  # x / log 2, rounded to an integer
    r = y - k * _like(x, LOG_2_HIGH) - k * _like(x, LOG_2_LOW)
    return _series(r) * _two_to_the(shifted)


def _like(x: Any, constant: float) -> Any:
    """A constant as a number of the same type as x."""


@overload(_like)
def _like_x(x: Any, constant: Any) -> Any:
    return (lambda x, constant: splat(constant)) if is_lanes(x) else (lambda x, constant: constant)


def _two_to_the(shifted: Any) -> Any:
    """2ᵏ, given k + SHIFT."""


@overload(_two_to_the)
def _power_of_two(shifted: Any) -> Any:
    if is_lanes(shifted):
        return lambda shifted: shift_into_exponent(shifted)
    return lambda shifted: np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)


def _series(r: Any) -> Any:
    """Σ_{q ≤ 13} r^q / q!, the Taylor series of exp."""


@overload(_series)
def _taylor(r: Any) -> Any:
    def lanes(r: Any) -> Any:
        """Horner's rule: eight series run side by side anyway."""
        p = splat(1.0 / 6227020800.0)
        p = p * r + splat(1.0 / 479001600.0)
        p = p * r + splat(1.0 / 39916800.0)
        p = p * r + splat(1.0 / 3628800.0)
        p = p * r + splat(1.0 / 362880.0)
        p = p * r + splat(1.0 / 40320.0)
        p = p * r + splat(1.0 / 5040.0)
        p = p * r + splat(1.0 / 720.0)
        p = p * r + splat(1.0 / 120.0)
        p = p * r + splat(1.0 / 24.0)
        p = p * r + splat(1.0 / 6.0)
        p = p * r + splat(0.5)
        p = p * r + splat(1.0)
        return p * r + splat(1.0)

    def floats(r: float) -> float:
        """cosh r + sinh r: two series of half as many terms, which run side by side."""
        s = r * r
        even = 1 / 479001600
        odd = 1 / 6227020800
        even, odd = even * s + 1 / 3628800, odd * s + 1 / 39916800
        even, odd = even * s + 1 / 40320, odd * s + 1 / 362880
        even, odd = even * s + 1 / 720, odd * s + 1 / 5040
        even, odd = even * s + 1 / 24, odd * s + 1 / 120
        even, odd = even * s + 1 / 2, odd * s + 1 / 6
        even, odd = even * s + 1, odd * s + 1
        return even + r * odd

    return lanes if is_lanes(r) else floats
