"""Tables as HTML, with plots for those of an analysis."""

import re
from collections.abc import Sequence
from html import escape

from treetext.analysis import Table
from treetext.show.plots import Mark, dots

Cell = str | int | float | None


def html_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "", *, words: bool = False
) -> str:
    """A table with a caption; all cells but the first of a row are numbers, unless they are `words`."""
    kind = "" if words else ' class="number"'
    head = "".join(f'<th scope="col"{kind if i else ""}>{escape(name)}</th>' for i, name in enumerate(columns))
    body = "".join(
        f'<tr><th scope="row"><bdi>{escape(first)}</bdi></th>'
        + "".join(f"<td{kind}>{escape(value)}</td>" for value in others)
        + "</tr>"
        for first, *others in rows
    )
    remark = f"<small>{escape(note)}</small>" if note else ""
    header = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    caption = f"<caption>{escape(title)}{remark}</caption>"
    return f'<div class="wide"><table>{caption}{header}<tbody>{body}</tbody></table></div>'


def cell(value: Cell) -> str:
    """A value as text: numbers with as many digits as say something."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if value == int(value) and isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table_plot(table: Table) -> str:
    """A plot of the figures of an analysis: each row is a line, on which the first column of figures stands out.

    The others are what it is compared with; where the first is in percent and not the rows, they are something else.
    """
    own, *others = table.columns[1:]
    rows = []
    for name, first, *values in table.rows:
        if not isinstance(first, int | float):
            continue
        marks = [Mark(own, float(first), *_bounds(values[0] if values else None))]
        if "%" not in own:
            marks += [
                Mark(column, float(value))
                for column, value in zip(others, values, strict=True)
                if isinstance(value, int | float)
            ]
        percent = "%" in own or "%" in str(name) or "0 to 100" in str(name)
        rows.append((str(name), marks, (0.0, 100.0) if percent else None))
    return dots(table.title, rows, own) if rows else ""


def _bounds(value: Cell) -> tuple[float | None, float | None]:
    """The ends of an interval such as "1.2 to 3.4"."""
    found = re.fullmatch(r"(-?[\d.]+) to (-?[\d.]+)", value) if isinstance(value, str) else None
    return (float(found[1]), float(found[2])) if found else (None, None)
