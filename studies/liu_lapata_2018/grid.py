"""The grid of this study, for its other modules."""

from pathlib import Path

from studies.grid import load_grid

GRID = load_grid(Path(__file__).parent)
