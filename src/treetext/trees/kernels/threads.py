"""Kernels that release the GIL, side by side on the threads that torch uses for its own operations.

Other threads would have to share the cores with torch's, which keep spinning for a while after each operation.
(Numba's own threads do, and besides abort the process when it forks or when two Python threads call a kernel at once.)
Where torch comes without an OpenMP library of its own, kernels run on one thread.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def for_each(function: Callable[[Any], Any], items: Sequence[Any], threads: int | None = None) -> list[Any]:
    """What the function returns for each item, in any order, on so many threads: as many as items, if not given."""
    if len(items) == 1 or threads == 1:
        return [function(item) for item in items]
    remaining, results, errors = iter(items), list[Any](), list[BaseException]()

    def work(_: object) -> None:
        try:
            for item in remaining:  # each thread takes the next one
                results.append(function(item))
        except BaseException as error:
            errors.append(error)

    if _run_parallel is None:
        work(None)
    else:
        _run_parallel(_Callback(work), None, threads or len(items), 0)
    if errors:
        raise errors[0]
    return results


def threads_worth(steps: int) -> int:
    """How many threads are worth their while for work of so many elementary steps."""
    return torch.get_num_threads() if steps > 500_000 else 1


def _find_run_parallel() -> Any:
    """The function of torch's OpenMP library that calls another on several threads; None where there is none."""
    for path in Path(torch.__file__).with_name("lib").glob("lib*omp*"):
        try:
            return ctypes.CDLL(str(path)).GOMP_parallel
        except (OSError, AttributeError):
            continue
    return None


def _forget() -> None:
    """A forked child has none of its parent's threads, and OpenMP would wait for them forever."""
    global _run_parallel
    _run_parallel = None


_run_parallel = _find_run_parallel()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
