"""All studies, and their tables and cells by name."""

from difflib import get_close_matches

from studies.grid import Run
from studies.known_trees.study import STUDY as KNOWN_TREES
from studies.liu_lapata_2018.study import STUDY as LIU_LAPATA_2018
from studies.study import Study
from treetext.data import BadInput

STUDIES = (LIU_LAPATA_2018, KNOWN_TREES)


def study_of(table: str) -> Study:
    """The study that has a table."""
    for study in STUDIES:
        if table in study.names:
            return study
    names = [name for study in STUDIES for name in study.names]
    raise BadInput(f"{table}: no such table; expected one of {', '.join(names)}, or all")


def find_run(name: str) -> Run:
    """A run by its name, such as debates/ours-both.2 (default seed: 1)."""
    cells = {name: cell for study in STUDIES for name, cell in study.grid.cells.items()}
    cell, dot, seed = name.partition(".")
    if cell not in cells:
        near = get_close_matches(cell, cells, n=1)
        hint = f"did you mean {near[0]}?" if near else "`python -m studies recipe` lists all"
        raise BadInput(f"{name}: no such cell; {hint}")
    if dot and not seed.isdecimal():
        raise BadInput(f"{name}: expected a number after the dot, the seed, as in {cell}.1")
    return Run(cells[cell], int(seed or 1))
