"""On what something was trained or measured."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import torch

from treetext import __version__


def machine() -> dict[str, Any]:
    """The processor, how many threads compute on it, and the versions."""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return {
        "processor": found[1] if found else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "treetext": __version__,
    }
