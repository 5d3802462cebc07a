"""How kernels are compiled: one decorator for all of them.

Numba passes the `fastmath` flags of a function on to the functions that it calls and that have none of their own.
"""

from collections.abc import Callable
from typing import Any

import numba
import numba.extending

FUSED = frozenset({"contract"})
"""A product and a sum may become one instruction, which rounds once instead of twice."""

REORDERED = frozenset({"contract", "reassoc", "nnan", "nsz"})
"""Sums may also be reordered, so that they run in SIMD lanes. Infinities are allowed, NaN is not."""

_INLINE = {"forceinline": True, "error_model": "numpy", "fastmath": set(FUSED)}


def kernel(
    function: Callable[..., Any] | None = None, *, inline: bool = False, fastmath: frozenset[str] = frozenset()
) -> Any:
    """Compile a function with numba, as `@kernel` or as `@kernel(…)`.

    Kernels release the GIL, follow IEEE 754 where they divide by zero, and are cached on disk. Without `fastmath`, they
    round as written. `inline` is for small functions inside other kernels: fused, always inlined and not cached.

    No kernel has ``parallel=True``: that aborts forked data-loading workers (with OpenMP) or concurrent threads
    (without).
    """
    if function is None:
        return lambda function: kernel(function, inline=inline, fastmath=fastmath)
    if inline:
        return numba.njit(**_INLINE)(function)
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    if fastmath:
        options["fastmath"] = set(fastmath)
    return numba.njit(**options)(function)


def overload(function: Callable[..., Any]) -> Any:
    """Choose what `function` does inside kernels by the types of its arguments; the result is inlined."""
    return numba.extending.overload(function, strict=False, jit_options=_INLINE)
