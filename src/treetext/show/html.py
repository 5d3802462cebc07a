"""Tables as HTML, with plots for those of an analysis."""

from collections.abc import Sequence
from html import escape

from treetext.show.plots import Mark, dots
from treetext.show.tables import Bounds, Cell, Table


def html_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "", *, words: bool = False
) -> str:
    """A table with a caption; cells after the first of a row are aligned as numbers or, with `words`, as text."""
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
    """A value as text: floats below 10 have two digits after the point, others one."""
    if value is None:
        return "–"
    if isinstance(value, str | Bounds):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table_plot(table: Table) -> str:
    """A plot with a line for each row; the first column of figures is highlighted and has the interval.

    The other columns are compared with it, unless its name has a unit: then each column is a figure of its own.
    """
    own, *others = table.columns[1:]
    rows = []
    for name, first, *values in table.rows:
        if not isinstance(first, int | float):
            continue
        bounds = values[0] if values and isinstance(values[0], Bounds) else None
        marks = [Mark(own, float(first), *bounds[:2]) if bounds else Mark(own, float(first))]
        if "%" not in own:
            marks += [
                Mark(column, float(value))
                for column, value in zip(others, values, strict=True)
                if isinstance(value, int | float)
            ]
        percent = "%" in own or "%" in str(name) or "0 to 100" in str(name)
        rows.append((str(name), marks, (0.0, 100.0) if percent else None))
    return dots(table.title, rows, own) if rows else ""
