"""Results as tables: cells are values, and each format (terminal, HTML, Markdown, JSON) writes them in its own way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from treetext.data.document import counted

if TYPE_CHECKING:  # what draws trees needs no evaluation
    from treetext.evaluation import Ablated, Analysis, Interval, LevelAnalysis, TreebankAgreement


class Bounds(NamedTuple):
    """The ends of a confidence interval, and how many digits of them to show."""

    low: float
    high: float
    digits: int = 1

    def __str__(self) -> str:
        return f"{self.low:.{self.digits}f} to {self.high:.{self.digits}f}"


Cell = str | int | float | Bounds | None


class Table(NamedTuple):
    """A table whose cells are text, numbers, bounds of an interval, or nothing; the first column names the rows."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    note: str

    def to_dict(self) -> dict[str, Any]:
        """The table as plain lists and dictionaries for JSON, with bounds as text."""
        rows = [[str(cell) if isinstance(cell, Bounds) else cell for cell in row] for row in self.rows]
        return {**self._asdict(), "rows": rows}

    def to_markdown(self) -> str:
        """The title, the table and the note in Markdown."""
        cells = [["–" if cell is None else str(cell) for cell in row] for row in self.rows]
        lines = [self.columns, ["---", *["---:"] * (len(self.columns) - 1)], *cells]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{self.title}**\n\n{body}\n\n{self.note}\n"


class Published(NamedTuple):
    """Figures from elsewhere, such as a paper, to show beside our own."""

    columns: Mapping[str, Mapping[str, float]]
    """For each column, by its name, the figures as they are shown: shares in percent."""
    note: str = ""
    """A remark on these figures, for the note below the table."""


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
"""The row of each figure of `treetext.evaluation.FIGURES`."""
PLAIN = ("height", "margin")
"""Figures that are not shares; all others are shown in percent."""
OWN, GOLD = "model", "gold"
SOURCES = {OWN: "this model", "untrained": "the same, untrained", "random": "random trees", GOLD: "gold trees"}
INTERVAL = "95% interval"
FIGURES_NOTE = (
    "The root has depth 1. Trees of one node have no arcs: they count only for projectivity, height and depth."
    " Vacuous: share of the trees with 4 nodes or more. Left chain: each node hangs from the next; right chain: from"
    " the previous; star: all hang from the first. Intervals are by bootstrap over documents."
)
GOLD_NOTE = " Same edges: share of all nodes, the root included, whose head agrees with {}; same roots likewise."
SAME_NOTE = (
    "Heads: share of all nodes, the root included, with the same head. Arcs: share of the arcs that are there in either"
    " direction. Roots: share of the trees with the same root. Trees of one node are not counted."
)
ABLATION_NOTE = (
    "Uniform: all trees are equally likely. Shuffled: marginals of another sequence of the same length; the last column"
    " is the share of sequences that have such another. Best tree: 1 for its arcs, 0 for all others. Lost: accuracy"
    " with the model's own marginals minus this one, with the interval of the paired differences. Other labels: share"
    " of texts whose label differs from the one with the model's own marginals."
)


def analysis_tables(analysis: "Analysis") -> list[Table]:
    """For each level its figures and the agreement between sources of trees; then the ablation, if there is one."""
    tables = []
    for name, level in analysis.levels.items():
        tables += [_figures_table(name, level), _sources_table(name, level)]
    return [*tables, _ablation_table(analysis.ablation)] if analysis.ablation else tables


def agreement_tables(agreement: "TreebankAgreement", published: Published | None = None) -> list[Table]:
    """For each level the agreement with the treebank, then all figures, with the `published` columns beside them."""
    gold = "the parser" if agreement.format == "snli" else "the treebank"
    tables = []
    for name, level in agreement.levels.items():
        title = f"Trees of {name}: agreement with {agreement.treebank}, {counted(level.trees, 'tree')}"
        tables += [_gold_table(title, level), _figures_table(name, level, gold, published)]
    return tables


def _figures_table(
    name: str, level: "LevelAnalysis", gold: str = SOURCES[GOLD], published: Published | None = None
) -> Table:
    """All figures of the model with their intervals, then the figures of the sources that it is compared with.

    `gold` is the name of the gold trees.
    """
    own, *others = level.figures
    columns = published.columns if published else {}
    rows: list[list[Cell]] = []
    for figure, label in LABELS.items():
        scale = 1 if figure in PLAIN else 100
        values = {source: _value(figures[figure], scale) for source, figures in level.figures.items()}
        if any(value is not None for value in values.values()):
            bounds = _bounds(level.figures[own][figure], scale)
            beside = [column.get(figure) for column in columns.values()]
            rows.append([label, values[own], bounds, *(values[source] for source in others), *beside])
    single = f", {level.single:,} of them of a single node" if level.single else ""
    title = f"Trees of {name}: {counted(level.trees, 'tree')}{single}, {counted(level.nodes, 'node')}"
    names = {**SOURCES, GOLD: gold}
    header = ["", names[own], INTERVAL, *(names.get(source, source) for source in others), *columns]
    note = FIGURES_NOTE + (GOLD_NOTE.format(gold) if GOLD in level.figures else "")
    return Table(title, header, rows, f"{note} {published.note}" if published and published.note else note)


def _sources_table(name: str, level: "LevelAnalysis") -> Table:
    """The agreement between the trees of two sources."""
    rows = {
        " – ".join(SOURCES.get(source, source) for source in (each.first, each.second)): each[2:]
        for each in level.agreement
    }
    return _same_table(f"Trees of {name}: how many are the same", rows)


def _gold_table(title: str, level: "LevelAnalysis") -> Table:
    """The agreement between the trees of each source and the gold trees."""
    rows = {
        SOURCES.get(source, source): [figures["gold_heads"], figures["gold_arcs"], figures["gold_roots"]]
        for source, figures in level.figures.items()
        if source != GOLD
    }
    return _same_table(title, rows)


def _same_table(title: str, agreement: "Mapping[str, Iterable[Interval]]") -> Table:
    rows: list[list[Cell]] = [
        [label, *(cell for share in shares for cell in (_value(share), _bounds(share)))]
        for label, shares in agreement.items()
    ]
    columns = ["", "heads, %", INTERVAL, "arcs, either direction, %", INTERVAL, "roots, %", INTERVAL]
    return Table(title, columns, rows, SAME_NOTE)


def _ablation_table(ablation: "Sequence[Ablated]") -> Table:
    """Accuracy and labels with other marginals."""
    rows: list[list[Cell]] = []
    for each in ablation:
        levels = f", {' and '.join(each.levels)}" if each.levels else ""
        accuracy = [None, None] if each.accuracy is None else [_value(each.accuracy), _bounds(each.accuracy)]
        accuracy += [None, None] if each.lost is None else [_value(each.lost), _bounds(each.lost)]
        changed = [_value(each.changed), _bounds(each.changed)]
        moved = None if each.moved is None else round(100 * each.moved, 2)
        rows.append([each.marginals + levels, *accuracy, *changed, moved])
    figures = ("accuracy, %", "lost, points", "other labels, %")
    columns = ["marginals", *(name for figure in figures for name in (figure, INTERVAL)), "shuffled, %"]
    return Table("Does the tree matter? Labels with other marginals", columns, rows, ABLATION_NOTE)


# Numbers are rounded here, so that all formats and plots agree.
def _value(figure: "Interval", scale: int = 100) -> float | None:
    return None if figure.value is None else round(scale * figure.value, 2)


def _bounds(figure: "Interval", scale: int = 100) -> Bounds | None:
    if figure.low is None or figure.high is None:
        return None
    digits = 2 if scale == 1 else 1
    return Bounds(round(scale * figure.low, digits), round(scale * figure.high, digits), digits)
