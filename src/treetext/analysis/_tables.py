"""Analyses as tables, for human eyes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from treetext.analysis._ablation import Ablated
from treetext.analysis._bootstrap import Interval
from treetext.analysis._figures import LevelAnalysis
from treetext.analysis._shapes import COMPARED
from treetext.analysis._sources import GOLD, MODEL, UNTRAINED

Cell = str | float | None


class Table(NamedTuple):
    """A table whose cells are text, numbers or nothing; the first column names the rows."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    note: str


LABELS = {
    "projective": "projective trees, %",
    "height": "height",
    **{f"depth_{depth}": f"nodes at depth {depth}, %" for depth in range(1, 7)},
    "deeper": "nodes deeper than that, %",
    "star": "vacuous: all hang from the root, %",
    "hub": "vacuous: all hang from one node, %",
    "leaves": "leaves, % of nodes",
    "arc_length": "arc length, % of n",
    "left": "arcs to the left, %",
    "right": "arcs to the right, %",
    "crossing": "crossing arcs, %",
    "root_position": "place of the root, 0 to 100",
    "root_first": "root is first, %",
    "root_last": "root is last, %",
    "entropy": "entropy, % of its maximum",
    "margin": "margin of the best tree, nats",
    "gold_heads": "same edges, %",
    "gold_arcs": "same edges, either direction, %",
    "gold_roots": "same roots, %",
}
"""What figures are called in tables; those without "nats" or height are shares, shown in percent."""
PLAIN = ("height", "margin")
SOURCES = {MODEL: "this model", UNTRAINED: "the same, untrained", "random": "random trees", GOLD: "gold trees"}
INTERVAL = "95% interval"
FIGURES_NOTE = (
    "The root has depth 1. Trees of one node have no arcs: they count for projectivity, height and depth alone."
    " Vacuous: of the trees with 4 nodes or more. Left chain: each node hangs from the next; right chain: from the one"
    " before; star: all from the first. Intervals are by bootstrap over documents."
)
GOLD_NOTE = " Same edges and roots: as those of {}; of all nodes, the root included, those with the same head."
SAME_NOTE = (
    "Heads: of all nodes, the root included, those with the same head. Arcs: those that are there in either direction."
    " Roots: those that are the same. Trees of one node count for nothing."
)
PAPER = {
    "the paper's parser": {
        "height": 8.99, "depth_1": 9.8, "depth_2": 15.0, "depth_3": 12.8, "depth_4": 12.5, "depth_5": 12.0,
        "depth_6": 10.3,
    },
    "the paper's model": {
        "projective": 51.4, "height": 5.78, "depth_1": 8.4, "depth_2": 19.7, "depth_3": 22.4, "depth_4": 23.4,
        "depth_5": 14.4, "depth_6": 4.5, "gold_heads": 38.7,
    },
}  # fmt: skip
"""What Liu and Lapata (2018) report of the test data of SNLI."""
PAPER_NOTE = (
    " The paper does not say how it counts depths and same edges, and its parser's dependencies are not by our head"
    " rules."
)
ABLATION_NOTE = (
    "Uniform: all trees equally likely. Shuffled: from another sequence of the same length, where there is one:"
    " the last column says how many found one. Best tree: 1 for its arcs, 0 for all others. Other labels: than by the"
    " model's own marginals."
)


def figures_table(name: str, level: LevelAnalysis, gold: str = SOURCES[GOLD], paper: bool = False) -> Table:
    """All figures of the model with their intervals, and those of all that it is compared with.

    `gold` is what to call the trees that are known; `paper` adds what the paper reports of SNLI.
    """
    own, *others = level.figures
    rows: list[list[Cell]] = []
    for figure, label in LABELS.items():
        scale = 1 if figure in PLAIN else 100
        cells = {source: _value(figures[figure], scale) for source, figures in level.figures.items()}
        if any(value is not None for value in cells.values()):
            published = [column.get(figure) for column in PAPER.values()] if paper else []
            interval = _bounds(level.figures[own][figure], scale)
            rows.append([label, cells[own], interval, *(cells[source] for source in others), *published])
    single = f", {level.single:,} of them of a single node" if level.single else ""
    title = f"Trees of {name}: {level.trees:,} trees{single}, {level.nodes:,} nodes"
    names = {**SOURCES, GOLD: gold}
    columns = ["", names[own], INTERVAL, *(names.get(source, source) for source in others), *(PAPER if paper else ())]
    note = FIGURES_NOTE + (GOLD_NOTE.format(gold) if GOLD in level.figures else "") + PAPER_NOTE * paper
    return Table(title, columns, rows, note)


def agreement_table(name: str, level: LevelAnalysis) -> Table:
    """How far the trees of two sources are the same."""
    rows = {
        " – ".join(SOURCES.get(source, source) for source in (each.first, each.second)): each[2:]
        for each in level.agreement
    }
    return _same_table(f"Trees of {name}: how many are the same", rows)


def gold_table(title: str, figures: Mapping[str, Mapping[str, Interval]]) -> Table:
    """How far the trees of each source are the same as those that are known."""
    return _same_table(
        title,
        {
            SOURCES.get(source, source): [figures[source][f"gold_{name}"] for name in COMPARED]
            for source in figures
            if source != GOLD
        },
    )


def _same_table(title: str, rows: Mapping[str, Iterable[Interval]]) -> Table:
    cells: list[list[Cell]] = [
        [label, *(cell for each in found for cell in (_value(each, 100), _bounds(each, 100)))]
        for label, found in rows.items()
    ]
    columns = ["", "heads, %", INTERVAL, "arcs, either direction, %", INTERVAL, "roots, %", INTERVAL]
    return Table(title, columns, cells, SAME_NOTE)


def ablation_table(ablation: Sequence[Ablated]) -> Table:
    """What a model does with other marginals."""
    rows: list[list[Cell]] = []
    for each in ablation:
        where = f", {' and '.join(each.levels)}" if each.levels else ""
        accuracy = each.accuracy or Interval(None)
        shuffled = None if each.moved is None else round(100 * each.moved, 2)
        changed = _value(each.changed, 100), _bounds(each.changed, 100)
        rows.append([each.marginals + where, _value(accuracy, 100), _bounds(accuracy, 100), *changed, shuffled])
    columns = ["marginals", "accuracy, %", INTERVAL, "other labels, %", INTERVAL, "shuffled, %"]
    return Table("Does the tree matter? Labels with other marginals", columns, rows, ABLATION_NOTE)


def _value(cell: Interval, scale: int) -> float | None:
    return None if cell.value is None else round(scale * cell.value, 2)


def _bounds(cell: Interval, scale: int) -> str | None:
    if cell.low is None or cell.high is None:
        return None
    digits = 2 if scale == 1 else 1
    return f"{scale * cell.low:.{digits}f} to {scale * cell.high:.{digits}f}"
