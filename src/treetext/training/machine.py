"""The machine on which a model was trained or measured."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import torch

from treetext import __version__


def machine() -> dict[str, Any]:
    """The processor, the numbers of cores and threads, and the versions of the software."""
    try:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        model = None
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "treetext": __version__,
    }
