"""A table, for human eyes: what analyses give and reports take."""

from typing import NamedTuple


class Table(NamedTuple):
    """A table whose cells are text, numbers or nothing; the first column names the rows."""

    title: str
    columns: list[str]
    rows: list[list[str | float | None]]
    note: str
