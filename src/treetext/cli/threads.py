"""The number of threads that a command computes with."""

import os
from collections.abc import Iterator
from math import ceil, inf
from pathlib import Path
from typing import Annotated

import typer

VARIABLE = "OMP_NUM_THREADS"
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help=f"Number of threads (default: {VARIABLE}, or as many as there are CPUs for this process).",
    ),
]


def use_threads(threads: int | None, processes: int = 1) -> None:
    """Compute with so many threads in each of several processes.

    The default is the user's ``OMP_NUM_THREADS`` or, if it is not set, a share of the CPUs (see `cpus`).
    """
    if threads is None and os.environ.get(VARIABLE):
        return
    threads = threads or max(1, cpus() // processes)
    os.environ[VARIABLE] = str(threads)  # for processes that this one starts, and for libraries that read it

    import torch  # our kernels run on its threads, too

    torch.set_num_threads(threads)


def cpus(root: Path = Path("/")) -> int:
    """The number of CPUs that this process may use, by its affinity mask and the quotas of its control groups.

    Torch by itself takes all CPUs of the host, whatever the quota of a container.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ceil(min([allowed, *map(_quota, _groups(root))]))


def _groups(root: Path) -> Iterator[Path]:
    """The control groups of this process, and those around them. In a container, the root may be its own group."""
    places = {"": root / "sys/fs/cgroup", "cpu": root / "sys/fs/cgroup/cpu"}  # versions 2 and 1
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not on Linux
        return
    for _, controllers, path in (line.split(":", 2) for line in lines):
        for controller in places.keys() & controllers.split(","):
            group = Path(path.strip("/"))
            yield from (places[controller] / part for part in (group, *group.parents))


def _quota(group: Path) -> float:
    """The number of CPUs that a control group may keep busy; infinite without a quota."""
    try:
        if (group / "cpu.max").exists():  # version 2
            quota, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text(encoding="utf-8") for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else inf
    except (OSError, ValueError):  # no such file, or "max" in place of a number
        return inf
