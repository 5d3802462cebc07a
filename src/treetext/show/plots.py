"""Plots for the report: small SVG drawings in the colours of the page."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rich.cells import cell_len

from treetext.data.document import counted
from treetext.show.text import printable, shortened

WIDTH, HEIGHT, LEFT, FOOT = 400, 190, 46, 26  # pixels of a curve; labels left of it may take more
STEP = 38  # height of a row
OUTLINES = (
    "M -4 -4 H 4 V 4 H -4 Z", "M 0 -5.5 L 5 4 H -5 Z", "M 0 5.5 L 5 -4 H -5 Z", "M 0 -6 L 5 0 L 0 6 L -5 0 Z",
    "M -4 -4 L 4 4 M -4 4 L 4 -4", "M 0 -5.5 V 5.5 M -5.5 0 H 5.5", "M -5.5 0 L 4 -5 V 5 Z", "M 5.5 0 L -4 -5 V 5 Z",
    "M -2 -6 H 2 V 6 H -2 Z", "M -4.5 0 A 4.5 4.5 0 1 1 4.5 0 A 4.5 4.5 0 1 1 -4.5 0 Z", "M -5 -5 H 5 L -5 5 Z",
    "M 5 5 H -5 L 5 -5 Z",
)  # fmt: skip
"""Shapes of marks: without other models, the model is compared with six kinds of trees."""


def curve(title: str, epochs: Sequence[int], values: Sequence[float], kept: int, unit: str = "") -> str:
    """A value by epoch, with a ring around the epoch that was kept; values that are not finite are left out."""
    finite = [(epoch, value) for epoch, value in zip(epochs, values, strict=True) if math.isfinite(value)]
    if not finite:
        return ""
    epochs, values = [epoch for epoch, _ in finite], [value for _, value in finite]
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
    low, high = low - margin, high + margin
    first, last = min(epochs), max(epochs)

    ticks = dict.fromkeys([low + margin, (low + high) / 2, high - margin])
    digits = max(0, 1 - math.floor(math.log10(high - low)))
    labels = {value: f"{value:.{digits}f}{unit}" for value in ticks}
    left = max(LEFT, 10 + 7 * max(map(len, labels.values())))

    def x(epoch: int) -> float:
        return left + 12 + (WIDTH - left - 30) * (epoch - first) / max(1, last - first)

    def y(value: float) -> float:
        return 10 + (HEIGHT - FOOT - 20) * (high - value) / (high - low)

    lines = [
        f'<path class="axis" d="M {left} {y(value):.1f} H {WIDTH - 8}"/>'
        f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        for value, label in labels.items()
    ]
    every = -(-len(epochs) // 10)
    lines += [
        f'<text x="{x(epoch):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{epoch}</text>' for epoch in epochs[::every]
    ]
    places = [(epoch, x(epoch), y(value)) for epoch, value in zip(epochs, values, strict=True)]
    lines.append(f'<path class="curve" d="M {" L ".join(f"{px:.1f} {py:.1f}" for _, px, py in places)}"/>')
    for (epoch, px, py), value in zip(places, values, strict=True):
        kind, size = ("best", 5) if epoch == kept else ("point", 3)
        lines.append(
            f'<circle class="{kind}" cx="{px:.1f}" cy="{py:.1f}" r="{size}">'
            f"<title>epoch {epoch}: {value:.4g}{unit}</title></circle>"
        )
    return _figure(title, WIDTH, HEIGHT, lines, "; the table below has the numbers")


def confusion_plot(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """A confusion matrix: the number of texts by class (rows) and prediction, shaded by its share of the row."""
    names = [shortened(printable(label), 22) for label in labels]
    longest, digits = max(map(cell_len, names)), max(len(f"{count:,}") for row in confusion for count in row)
    tall, wide = 30, max(38, 7 * digits + 10, *([64, 7 * longest + 12] if len(names) <= 5 else []))
    upright = 7 * longest + 4 > wide
    left, top = 16 + 7 * longest, 30 + (7 * longest if upright else 14)
    lines = [f'<text x="{left}" y="16">predicted as</text>']
    for i, (name, row) in enumerate(zip(names, confusion, strict=True)):
        y = top + tall * i
        lines.append(f'<text class="name" x="{left - 8}" y="{y + 19}" text-anchor="end">{escape(name)}</text>')
        x = left + wide * (i + 0.5)
        place = f'transform="translate({x + 4} {top - 6}) rotate(-90)"' if upright else f'x="{x}" y="{top - 6}"'
        anchor = "start" if upright else "middle"
        lines.append(f'<text class="name" {place} text-anchor="{anchor}">{escape(name)}</text>')
        for j, count in enumerate(row):
            share = count / max(1, sum(row))
            said = f"{labels[i]} predicted as {labels[j]}: {count:,} of {counted(sum(row), 'text')}, {100 * share:.1f}%"
            lines.append(
                f'<g><title>{escape(printable(said))}</title><rect class="cell{" same" if i == j else ""}"'
                f' x="{left + wide * j + 1}" y="{y + 1}" width="{wide - 2}" height="{tall - 2}"'
                f' fill-opacity="{0.6 * share:.3f}"/><text class="name" x="{left + wide * (j + 0.5)}" y="{y + 19}"'
                f' text-anchor="middle">{count:,}</text></g>'
            )
    size = left + wide * len(names) + 8, top + tall * len(names) + 8
    return _figure("Confusion matrix", *size, lines, note="Texts by class (rows), shaded by their share of the row.")


def reliability_plot(bins: Sequence[tuple[float, float, int, float | None, float | None]]) -> str:
    """A reliability diagram: accuracy by the probability of the prediction, above the number of texts in each bin.

    A bin has its ends, its number of texts, their mean probability and their accuracy.
    """
    side, foot, left, top = 260, 50, 64, 10
    most = max(texts for _, _, texts, _, _ in bins) or 1
    low = top + side + 44  # the top of the histogram
    lines = []
    for tick in range(0, 101, 25):
        x, y = left + side * tick / 100, top + side * (1 - tick / 100)
        lines.append(f'<path class="axis" d="M {left} {y:.1f} H {left + side}"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}%</text>')
        lines.append(f'<text x="{x:.1f}" y="{top + side + 16}" text-anchor="middle">{tick}%</text>')
    for start, end, texts, confidence, accuracy in bins:
        if confidence is None or accuracy is None:
            continue
        x, width = left + side * start + 1, side * (end - start) - 2
        said = f"probability {100 * start:.0f} to {100 * end:.0f}%: {counted(texts, 'text')}"
        said += f", mean probability {100 * confidence:.1f}%, accuracy {100 * accuracy:.1f}%"
        heights = (top + side, side * accuracy, "bar"), (low + foot, foot * texts / most, "bar count")
        bars = "".join(
            f'<rect class="{kind}" x="{x:.1f}" y="{base - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
            for base, height, kind in heights
        )
        lines.append(f"<g><title>{said}</title>{bars}</g>")
    middle = left + side / 2
    lines.append(f'<text x="{middle}" y="{top + side + 33}" text-anchor="middle">highest probability</text>')
    aside = f'transform="translate(14 {top + side / 2}) rotate(-90)"'
    lines.append(f'<text {aside} text-anchor="middle">accuracy</text>')
    lines.append(f'<path class="ideal" d="M {left} {top + side} L {left + side} {top}"/>')
    lines.append(f'<path class="axis" d="M {left} {low + foot} H {left + side}"/>')
    lines.append(f'<text x="{left - 6}" y="{low + 10}" text-anchor="end">{most:,}</text>')
    lines.append(f'<text x="{middle}" y="{low + foot + 16}" text-anchor="middle">number of texts</text>')
    return _figure("Reliability diagram", left + side + 24, low + foot + 26, lines)


class Mark(NamedTuple):
    """A figure of one kind of trees, with its interval if known."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


Row = tuple[str, Sequence[Mark], tuple[float, float] | None]
"""The name of a figure, its marks, and the ends of its scale (default: from 0, or the lowest mark, to the highest)."""


def dots(title: str, rows: Sequence[Row], own: str) -> str:
    """One line for each figure, with its own scale and a mark for each kind of trees; the mark `own` is highlighted.

    Positions along the lines are in percent, so the plot takes the width of the page.
    """
    names = list(dict.fromkeys(mark.name for _, marks, _ in rows for mark in marks))
    keys = "".join(
        f'<li><svg width="14" height="14" aria-hidden="true">{_mark("50%", 7, name, names, own)}</svg>'
        f"{escape(name)}</li>"
        for name in names
    )
    lines = []
    for number, (figure, marks, scale) in enumerate(rows):
        y = STEP * number + 26
        low, high = scale or _ends(marks)

        def x(value: float, low: float = low, high: float = high) -> str:
            return f"{100 * (value - low) / (high - low):.2f}%"

        lines.append(
            f'<text class="name" x="0" y="{y - 13}">{escape(figure)}</text>'
            f'<text x="100%" y="{y - 13}" text-anchor="end">{low:.3g} to {high:.3g}</text>'
            f'<line class="axis" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        )
        for mark in sorted(marks, key=lambda mark: mark.name == own):
            if mark.low is not None and mark.high is not None:
                ends = f'x1="{x(mark.low)}" x2="{x(mark.high)}"'
                lines.append(f'<line class="whisker" {ends} y1="{y}" y2="{y}"/>')
            lines.append(_mark(x(mark.value), y, mark.name, names, own, f"{figure}, {mark.name}: {mark.value:.4g}"))
    return (
        f'<figure class="plot dots"><figcaption>{escape(title)}</figcaption><ul class="keys">{keys}</ul>'
        f'<svg width="100%" height="{STEP * len(rows) + 8}" role="img"'
        f' aria-label="{escape(title)}; the table has the numbers">{"".join(lines)}</svg></figure>'
    )


def _figure(title: str, width: int, height: int, lines: Sequence[str], remark: str = "", note: str = "") -> str:
    small = f"<small>{escape(note)}</small>" if note else ""
    return (
        f'<figure class="plot"><figcaption>{escape(title)}{small}</figcaption>'
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(title)}{remark}">{"".join(lines)}</svg></figure>'
    )


def _ends(marks: Sequence[Mark]) -> tuple[float, float]:
    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    return min(0.0, *ends), max(ends) if max(ends) > min(0.0, *ends) else 1.0


def _mark(x: str, y: int, name: str, names: Sequence[str], own: str, title: str = "") -> str:
    """Kinds differ by shape, not by colour."""
    told = f"<title>{escape(title)}</title>" if title else ""
    if name == own:
        return f'<circle class="mark own" cx="{x}" cy="{y}" r="5.5">{told}</circle>'
    kind = [other for other in names if other != own].index(name)
    outline = OUTLINES[kind % len(OUTLINES)]
    return f'<svg x="{x}" y="{y}" overflow="visible"><path class="mark" d="{outline}">{told}</path></svg>'
