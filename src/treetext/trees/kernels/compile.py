"""Compilation of kernels: one decorator for all of them.

A function without `fastmath` flags of its own inherits those of the function that calls it.
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

    Kernels release the GIL, follow IEEE 754 when they divide by zero, and are cached on disk. Without `fastmath`, they
    round as written. `inline` is for small functions inside other kernels: fused, always inlined and not cached.

    No kernel has ``parallel=True``. With OpenMP, that option aborts forked data-loading workers; without OpenMP, it
    aborts concurrent threads.
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
    """Define what `function` does inside kernels, depending on the types of its arguments. It is always inlined."""
    return numba.extending.overload(function, strict=False, jit_options=_INLINE)
