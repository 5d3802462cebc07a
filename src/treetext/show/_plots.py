"""Plots for the report: small SVG drawings that take their colours from the page."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, FOOT = 400, 190, 46, 26


def curve(title: str, epochs: Sequence[int], values: Sequence[float], best: int, unit: str = "") -> str:
    """A value by epoch, with a ring around the best epoch."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
    low, high = low - margin, high + margin
    first, last = min(epochs), max(epochs)

    def x(epoch: int) -> float:
        return LEFT + 12 + (WIDTH - LEFT - 30) * (epoch - first) / max(1, last - first)

    def y(value: float) -> float:
        return 10 + (HEIGHT - FOOT - 20) * (high - value) / (high - low)

    ticks = [low + margin, (low + high) / 2, high - margin]
    lines = [
        f'<path class="axis" d="M {LEFT} {y(value):.1f} H {WIDTH - 8}"/>'
        f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g}{unit}</text>'
        for value in dict.fromkeys(ticks)
    ]
    every = -(-len(epochs) // 10)
    lines += [
        f'<text x="{x(epoch):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{epoch}</text>' for epoch in epochs[::every]
    ]
    places = [(epoch, x(epoch), y(value)) for epoch, value in zip(epochs, values, strict=True)]
    lines.append(f'<path class="curve" d="M {" L ".join(f"{px:.1f} {py:.1f}" for _, px, py in places)}"/>')
    for (epoch, px, py), value in zip(places, values, strict=True):
        kind, size = ("best", 5) if epoch == best else ("point", 3)
        lines.append(
            f'<circle class="{kind}" cx="{px:.1f}" cy="{py:.1f}" r="{size}">'
            f"<title>epoch {epoch}: {value:.4g}{unit}</title></circle>"
        )
    return _figure(title, f"{title}; the table below has the numbers", WIDTH, HEIGHT, lines)


class Mark(NamedTuple):
    """A figure of one kind of trees, with its interval where it is known."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


Row = tuple[str, Sequence[Mark], tuple[float, float] | None]
"""The name of a figure, its marks, and the ends of its scale where they are given."""


def dots(title: str, rows: Sequence[Row], own: str) -> str:
    """For each figure a line of its own scale, with a mark for each kind of trees; that called `own` stands out."""
    names = list(dict.fromkeys(mark.name for _, marks, _ in rows for mark in marks))
    left = 70 + round(6.4 * max(len(figure) for figure, _, _ in rows))
    right, step, top = left + 460, 28, 34
    lines = []
    place = 10
    for name in names:
        lines.append(_mark(place, 14, name, names, own) + f'<text x="{place + 10}" y="18">{escape(name)}</text>')
        place += 34 + round(6.4 * len(name))
    for number, (figure, marks, scale) in enumerate(rows):
        y = top + step * (number + 0.5)
        low, high = scale or _ends(marks)
        lines.append(
            f'<text class="name" x="{left - 56}" y="{y + 4}" text-anchor="end">{escape(figure)}</text>'
            f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{low:.3g}</text>'
            f'<path class="axis" d="M {left} {y} H {right}"/><text x="{right + 12}" y="{y + 4}">{high:.3g}</text>'
        )

        def x(value: float, low: float = low, high: float = high) -> float:
            return left + (right - left) * (value - low) / (high - low)

        for mark in sorted(marks, key=lambda mark: mark.name == own):
            if mark.low is not None and mark.high is not None:
                lines.append(f'<path class="whisker" d="M {x(mark.low):.1f} {y} H {x(mark.high):.1f}"/>')
            lines.append(_mark(x(mark.value), y, mark.name, names, own, f"{figure}, {mark.name}: {mark.value:.4g}"))
    width, height = max(right + 56, place), top + step * len(rows) + 8
    return _figure(title, f"{title}; the table has the numbers", width, height, lines)


def _ends(marks: Sequence[Mark]) -> tuple[float, float]:
    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    return min(0.0, *ends), max(ends) if max(ends) > min(0.0, *ends) else 1.0


def _mark(x: int | float, y: int | float, name: str, names: Sequence[str], own: str, title: str = "") -> str:
    """Shapes, not colours, tell the kinds apart."""
    told = f"<title>{escape(title)}</title>" if title else ""
    if name == own:
        return f'<circle class="mark own" cx="{x:.1f}" cy="{y:.1f}" r="5.5">{told}</circle>'
    kind = [other for other in names if other != own].index(name)
    outline = (
        "M -4 -4 H 4 V 4 H -4 Z", "M 0 -5.5 L 5 4 H -5 Z", "M 0 5.5 L 5 -4 H -5 Z", "M 0 -6 L 5 0 L 0 6 L -5 0 Z",
        "M -4 -4 L 4 4 M -4 4 L 4 -4", "M 0 -5.5 V 5.5 M -5.5 0 H 5.5",
    )[kind % 6]  # fmt: skip
    return f'<path class="mark" transform="translate({x:.1f} {y:.1f})" d="{outline}">{told}</path>'


def _figure(title: str, label: str, width: int | float, height: int | float, lines: Sequence[str]) -> str:
    return (
        f'<figure class="plot"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(label)}">{"".join(lines)}</svg></figure>'
    )
