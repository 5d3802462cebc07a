"""Tables of an agreement: one of scores, and the paper's table of the shapes of trees."""

from collections.abc import Mapping

from treetext.analysis._bootstrap import Interval
from treetext.analysis._sameness import Scores
from treetext.analysis._shapes import Statistics
from treetext.analysis._table import Table
from treetext.analysis._tables import INTERVAL, LABELS, PLAIN, SOURCES

SHAPE = ("projective", "height", *(f"depth_{depth}" for depth in range(1, 7)), "deeper")
"""The figures of the paper's table, and the one that makes the depths whole."""
PAPER = {
    "the paper's parser": [None, 8.99, 9.8, 15.0, 12.8, 12.5, 12.0, 10.3, None, None],
    "the paper's model": [51.4, 5.78, 8.4, 19.7, 22.4, 23.4, 14.4, 4.5, None, 38.7],
}
"""What Liu and Lapata (2018) report of the test data of SNLI, same edges last."""
SCORES_NOTE = (
    "Heads: of the nodes, the root included, those with the same head. Arcs: those that are there, in either direction."
    " Roots: of the trees, those with the same root. Intervals are by bootstrap over documents. Random trees: what is"
    " to be expected of them. Left chain: each node hangs from the next; right chain: from the one before; star: all"
    " from the first."
)
SHAPE_NOTE = "The root has depth 1. Same edges: of the nodes, the root included, those with the same head."
PAPER_NOTE = " The paper does not say how it counts either, and its parser's dependencies are not by our head rules."


def scores_table(title: str, scores: Mapping[str, Scores], note: str) -> Table:
    """Each row the scores of some trees."""
    rows: list[list[str | float | None]] = [
        [SOURCES.get(name, name), *(cell for interval in each for cell in _cells(interval))]
        for name, each in scores.items()
    ]
    columns = ["", "heads, %", INTERVAL, "arcs, either direction, %", INTERVAL, "roots, %", INTERVAL]
    return Table(title, columns, rows, SCORES_NOTE + note)


def shape_table(title: str, shapes: Mapping[str, Statistics], same: float | None, is_snli: bool) -> Table:
    """The paper's table: the reference, the model and, of SNLI, what the paper reports."""
    columns: dict[str, list[float | None]] = {}
    names = {**SOURCES, "treebank": "the parser" if is_snli else "the treebank"}
    for name, figures in shapes.items():
        cells = [_percent(getattr(figures, key), 1 if key in PLAIN else 100) for key in SHAPE]
        columns[names.get(name, name)] = [*cells, None]
    [*_, last] = columns.values()
    last[-1] = _percent(same)
    if is_snli:
        columns |= PAPER
    labels = [*(LABELS[key] for key in SHAPE), "same edges, %"]
    rows = [[label, *cells] for label, *cells in zip(labels, *columns.values(), strict=True)]
    return Table(title, ["", *columns], rows, SHAPE_NOTE + PAPER_NOTE * is_snli)


def _cells(interval: Interval) -> tuple[float | None, str | None]:
    value, low, high = interval
    return _percent(value), None if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def _percent(share: float | None, scale: int = 100) -> float | None:
    return None if share is None else round(scale * share, 2)
