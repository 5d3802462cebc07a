"""Scores of a model: tables for the terminal, and a section of the report with pictures."""

from typing import TYPE_CHECKING

from treetext.show.html import cell, html_table
from treetext.show.plots import confusion_plot, reliability_plot
from treetext.show.tables import Cell, Table

if TYPE_CHECKING:  # what draws trees needs no evaluation
    from treetext.evaluation import Evaluation, Interval

MOST_COLUMNS = 12
"""The largest number of classes whose confusions the terminal shows as a matrix."""
MOST_CELLS = 20
"""The largest number of classes whose confusions the report shows as a matrix."""
MOST_CONFUSIONS = 20
CLASSES_NOTE = (
    "In percent. Precision: share of the texts predicted as this class that have it. Recall: share of the texts with"
    " this class that were predicted as it. Macro-F1 is the mean of F1 over the classes with texts or predictions."
)
CALIBRATION = "expected calibration error, 15 bins of equal width of the highest probability; Guo et al. 2017"
"""How the calibration error is measured."""


def score_tables(evaluation: "Evaluation", most: int = MOST_COLUMNS) -> list[Table]:
    """The scores of each class, then the confusion matrix or, with more than `most` classes, the largest confusions."""
    matrix = len(evaluation.labels) <= most
    return [_classes(evaluation), _matrix(evaluation) if matrix else _largest(evaluation)]


def scores_section(evaluation: "Evaluation") -> str:
    """Confusions and calibration as pictures, and the scores of each class, in HTML."""
    classes, confusions = (
        html_table(table.title, table.columns, [[cell(value) for value in row] for row in table.rows], table.note)
        for table in score_tables(evaluation, MOST_CELLS)
    )
    if len(evaluation.labels) <= MOST_CELLS:
        picture = confusion_plot(evaluation.labels, evaluation.confusion)
        confusions = f"{picture}<details><summary>Numbers as a table</summary>{confusions}</details>"
    bins = [(each.low, each.high, each.texts, each.confidence, each.accuracy) for each in evaluation.reliability]
    calibration = (
        f"{reliability_plot(bins)}<p><small>Accuracy of the texts in each bin of the highest probability. Where a bar"
        " ends below the diagonal, fewer texts are right than the probabilities say; above it, more. Calibration error"
        f" {100 * evaluation.ece:.1f}% ({CALIBRATION}); log loss {evaluation.log_loss:.3f} nats.</small></p>"
    )
    return f'<div class="side-by-side"><div>{confusions}</div><div class="narrow">{calibration}</div>{classes}</div>'


def scored_texts(data: str, split: str) -> str:
    """The texts that were scored, in words: a split of the data, or all of them."""
    return f"all texts of {data}" if split == "all" else f"{data}, {split}"


def points(gain: "Interval") -> str:
    """A difference of accuracies in percentage points, with its interval."""
    if gain.value is None or gain.low is None or gain.high is None:  # a single text has no interval
        return "–" if gain.value is None else f"{100 * gain.value:+.1f} points"
    return f"{100 * gain.value:+.1f} points (95% interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f})"


def _classes(evaluation: "Evaluation") -> Table:
    rows: list[list[Cell]] = [
        [each.label, each.texts, each.predicted, *map(_percent, (each.precision, each.recall, each.f1))]
        for each in evaluation.classes
    ]
    columns = ["class", "texts", "predicted", "precision", "recall", "F1"]
    return Table("Scores by class", columns, rows, CLASSES_NOTE)


def _matrix(evaluation: "Evaluation") -> Table:
    rows: list[list[Cell]] = [
        [label, *counts] for label, counts in zip(evaluation.labels, evaluation.confusion, strict=True)
    ]
    columns = ["", *(f"as {label}" for label in evaluation.labels)]
    note = "Number of texts of each class (rows) by predicted class (columns)."
    return Table("Confusion matrix", columns, rows, note)


def _largest(evaluation: "Evaluation") -> Table:
    found = evaluation.confusions
    rows: list[list[Cell]] = [
        [each.label, each.predicted, each.texts, _percent(each.share)] for each in found[:MOST_CONFUSIONS]
    ]
    columns = ["class", "predicted as", "texts", "% of the class"]
    rest = f"{len(found):,} pairs of classes are confused; `treetext evaluate --json` has the whole matrix."
    return Table("Largest confusions", columns, rows, rest)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"
