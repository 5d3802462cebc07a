"""Runs kernels, which release the GIL, on the threads that torch uses for its own operations.

Other threads would compete for the cores with those of torch, which keep spinning for a while after each operation.
Numba's own threads do, and they abort the process if it forks or if two Python threads call a kernel at once. If
torch comes without an OpenMP library, kernels run on one thread.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def for_each(function: Callable[[Any], Any], items: Sequence[Any], threads: int | None = None) -> list[Any]:
    """Call the function for each item and return the results in any order (default: as many threads as items)."""
    if len(items) == 1 or threads == 1:
        return [function(item) for item in items]
    remaining, results, errors = iter(items), list[Any](), list[BaseException]()

    def work(_: object) -> None:
        try:
            for item in remaining:  # each thread takes the next item; the GIL makes that safe
                results.append(function(item))
        except BaseException as error:  # ctypes would ignore an exception in a callback
            errors.append(error)

    if _run_parallel is None:
        work(None)
    else:
        _run_parallel(_Callback(work), None, threads or len(items), 0)
    if errors:
        raise errors[0]
    return results


def threads_worth(steps: int) -> int:
    """How many threads to use for a number of elementary steps: one, if starting others would take longer."""
    return torch.get_num_threads() if steps > 500_000 else 1


def _find_run_parallel() -> Any:
    """The function of torch's OpenMP library that runs a callback on several threads, or None."""
    for path in Path(torch.__file__).with_name("lib").glob("lib*omp*"):
        try:
            return ctypes.CDLL(str(path)).GOMP_parallel
        except (OSError, AttributeError):
            continue
    return None


def _forget() -> None:
    """Use one thread in a forked child: it has no threads of its parent, and OpenMP would wait for them forever."""
    global _run_parallel
    _run_parallel = None


_run_parallel = _find_run_parallel()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
