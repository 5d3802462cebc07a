"""Analyses as tables, for human eyes."""

from typing import TYPE_CHECKING

from treetext.analysis._bootstrap import Interval
from treetext.analysis._table import Table

if TYPE_CHECKING:
    from treetext.analysis._analysis import Analysis, LevelAnalysis


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
    "gold_heads": "gold heads, %",
    "gold_arcs": "gold arcs, either direction, %",
    "gold_roots": "gold roots, %",
}
"""What figures are called in tables; those without "nats" or height are shares, shown in percent."""
PLAIN = ("height", "margin")
SOURCES = {"model": "this model", "untrained": "the same, untrained", "random": "random trees", "gold": "gold trees"}
INTERVAL = "95% interval"
SHAPE_NOTE = (
    "Intervals are by bootstrap over documents. The root has depth 1. Trees of one node have no"
    " arcs: they count for projectivity, height and depth alone. Vacuous: of trees with 3 (4) nodes or more, since"
    " smaller ones cannot be otherwise. Left chain: each node hangs from the next; right chain: from the one before;"
    " star: all from the first."
)
AGREEMENT_NOTE = (
    "Of all nodes, those with the same head; of all arcs, those that are there in either direction; of all roots, those"
    " that are the same. Trees of one node count for nothing."
)
ABLATION_NOTE = (
    "Uniform: all trees equally likely. Shuffled: from another sequence of the same length, where there is one:"
    " the last column says how many found one. Best tree: 1 for its arcs, 0 for all others. Other labels: than by the"
    " model's own marginals."
)


def tables(analysis: "Analysis") -> list[Table]:
    """For each level its figures and how far trees agree; then what other marginals do."""
    found = []
    for name, level in analysis.levels.items():
        found += [_figures(name, level), _agreement(name, level)]
    return [*found, _ablation(analysis)] if analysis.ablation else found


def _figures(name: str, level: "LevelAnalysis") -> Table:
    """The model, its intervals, and all that it is compared with."""
    sources = list(level.figures)
    rows: list[list[str | float | None]] = []
    for figure, label in LABELS.items():
        scale = 1 if figure in PLAIN else 100
        cells = [level.figures[source][figure] for source in sources]
        if any(cell.value is not None for cell in cells):
            others = [_value(cell, scale) for cell in cells[1:]]
            rows.append([label, _value(cells[0], scale), _bounds(cells[0], scale), *others])
    single = f", {level.single:,} of them of a single node" if level.single else ""
    title = f"Trees of {name}: {level.trees:,} trees{single}, {level.nodes:,} nodes"
    columns = ["", "this model", INTERVAL, *(SOURCES.get(source, source) for source in sources[1:])]
    return Table(title, columns, rows, SHAPE_NOTE)


def _agreement(name: str, level: "LevelAnalysis") -> Table:
    rows: list[list[str | float | None]] = []
    for each in level.agreement:
        label = " – ".join(SOURCES.get(source, source) for source in (each.first, each.second))
        parts = [(_value(cell, 100), _bounds(cell, 100)) for cell in (each.heads, each.arcs, each.roots)]
        rows.append([label, *(cell for part in parts for cell in part)])
    columns = ["", "heads, %", INTERVAL, "arcs, either direction, %", INTERVAL, "roots, %", INTERVAL]
    return Table(f"Trees of {name}: how many are the same", columns, rows, AGREEMENT_NOTE)


def _ablation(analysis: "Analysis") -> Table:
    rows: list[list[str | float | None]] = []
    for each in analysis.ablation:
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
