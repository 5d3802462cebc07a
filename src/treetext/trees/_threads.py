"""Kernels that release the GIL, on as many threads as torch is set to use.

(Numba's own threads abort the process when it forks or when two Python threads call a kernel at once.)
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

_pool: ThreadPoolExecutor | None = None


def for_each(function: Callable[[Any], object], items: Sequence[Any]) -> None:
    """Call the function with each item, the first of them on this thread and the others beside it."""
    if not items:
        return
    others = [_threads().submit(function, item) for item in items[1:]]
    function(items[0])
    for other in others:
        other.result()


def threads_worth(steps: float) -> int:
    """How many threads are worth their while for work of so many elementary steps."""
    return torch.get_num_threads() if steps > 50_000 else 1


def _threads() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(thread_name_prefix="treetext")
    return _pool


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget)
