"""The study: a grid without other measurements."""

from pathlib import Path

from studies.grid import load_grid
from studies.study import Study

STUDY = Study(load_grid(Path(__file__).parent), {})
