"""Tables: CSV, TSV, JSON Lines and Parquet, with columns for the text (for pairs, two) and the label."""

import csv
import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from treetext.data.document import BadInput, Example, Text
from treetext.data.readers.base import FileReader, Reader
from treetext.data.readers.files import filled_lines, lines, opened
from treetext.data.tasks import DOCUMENTS, PAIRS, Task

LONGEST = 1 << 27
"""Most characters of a CSV field: enough for any document, too few for a large file after an unclosed quote."""


class ColumnReader(Reader):
    """A format with named columns. With a column for a second sentence, its rows are pairs."""

    text: str = Field("text", description="the column of the text")
    second: str | None = Field(None, description="the column of the other sentence, for pairs")
    label: str = Field("label", description="the column of the label")

    @property
    def task(self) -> Task:
        """Pairs if there is a column for the second sentence, else documents."""
        return DOCUMENTS if self.second is None else PAIRS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the text."""
        return (self.text,) if self.second is None else (self.text, self.second)

    def wanted(self, labels: bool) -> "Columns":
        """The columns to read."""
        return Columns(self.text, self.second, self.label if labels else None)


class TableReader(ColumnReader, FileReader):
    """A table in one file, or in one file per split."""

    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:
        """The rows of a file."""
        return self.read_rows(file, self.wanted(labels), notes)

    @abstractmethod
    def read_rows(self, file: Path, columns: "Columns", notes: list[str]) -> Iterator[Example]:
        """The rows of a file. Only these columns are read."""


class Csv(TableReader):
    """Comma-separated values."""

    about: ClassVar[str] = (
        "a file with a header, or a directory of train, dev and test files; columns text and label (default)"
    )
    ending: ClassVar[str] = ".csv"
    separator: ClassVar[str] = ","
    format: Literal["csv"] = "csv"
    delimiter: str | None = Field(None, pattern=r'^[^"\r\n]$', description="between columns (default: by the format)")
    quoting: bool = Field(True, description="whether a CSV or TSV file has fields in double quotes")

    def read_rows(self, file: Path, columns: "Columns", notes: list[str]) -> Iterator[Example]:
        """The rows of a file, numbered as in spreadsheets."""
        return read_csv(file, columns, self.delimiter or self.separator, self.quoting, notes)


class Tsv(Csv):
    """Tab-separated values."""

    about: ClassVar[str] = "the same, with tabs between the columns"
    ending: ClassVar[str] = ".tsv"
    separator: ClassVar[str] = "\t"
    format: Literal["tsv"] = "tsv"  # type: ignore[assignment]


class JsonLines(TableReader):
    """JSON Lines."""

    about: ClassVar[str] = (
        "a JSON object a line, with the fields text and label (default); or a directory of such files"
    )
    ending: ClassVar[str] = ".jsonl"
    format: Literal["jsonl"] = "jsonl"

    def read_rows(self, file: Path, columns: "Columns", notes: list[str]) -> Iterator[Example]:
        """The objects of a file."""
        return read_jsonl(file, columns, notes)


class Parquet(TableReader):
    """Parquet."""

    about: ClassVar[str] = "a Parquet file with the columns text and label (default); or a directory of such files"
    ending: ClassVar[str] = ".parquet"
    format: Literal["parquet"] = "parquet"

    def read_rows(self, file: Path, columns: "Columns", notes: list[str]) -> Iterator[Example]:  # noqa: ARG002
        """The rows of a file."""
        return read_parquet(file, columns)


class Columns(NamedTuple):
    """The names of the columns to read."""

    text: str
    second: str | None
    label: str | None

    @property
    def wanted(self) -> list[str]:
        """The columns that must exist, each once."""
        return list(dict.fromkeys(name for name in self if name is not None))

    def check(self, where: object, there: Sequence[str]) -> None:
        """Raise `BadInput` if one of the columns is missing or occurs twice. `there` has the columns of the table."""
        for name in self.wanted:
            if there.count(name) != 1:
                listed = ", ".join(map(repr, there[:30])) + ", …" * (len(there) > 30)
                problem = "two columns" if name in there else "no column"
                raise BadInput(f"{where}: {problem} called {name!r}; expected one, and there are {listed or 'none'}")


def read_csv(path: Path, columns: Columns, delimiter: str, quoting: bool, notes: list[str]) -> Iterator[Example]:
    """The rows of a CSV or TSV file with a header, numbered as in spreadsheets: the header is row 1."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # for the whole process; the default is 128 KiB
    mode: Literal[0, 3] = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    with opened(path) as stream:
        rows = csv.reader((line for _, line in lines(stream, path)), delimiter=delimiter, strict=True, quoting=mode)
        header: list[str] = []
        number = blank = 0
        while True:
            start, number = rows.line_num + 1, number + 1
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                hint = "expected quotes inside quotes doubled, and all closed, or quoting = false for a file without"
                raise BadInput(f"{path}, row {number} (from line {start}): {error}; {hint}") from None
            if not row:
                blank += 1
            elif not header:
                header = [name.strip() for name in row]
                columns.check(path, header)
            elif len(row) != len(header):
                expected = f"expected {len(header)}, as in the header"
                raise BadInput(f"{path}, row {number} (from line {start}): {len(row)} fields; {expected}")
            else:
                yield example_of(dict(zip(header, row, strict=True)), columns, f"{path}, row {number}")
    if blank:
        notes.append(f"{path}: {blank} blank line{'s' * (blank > 1)} left out")


def read_jsonl(path: Path, columns: Columns, notes: list[str]) -> Iterator[Example]:
    """The objects of a JSON Lines file. A text may be a string, a list of sentences or a list of lists of words."""
    with opened(path) as stream:
        for where, line in filled_lines(stream, path, notes):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                problem = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
                raise BadInput(f"{where}: not JSON: {problem}; expected one whole object a line") from None
            if not isinstance(row, dict):
                raise BadInput(f"{where}: expected an object like {{{columns.text!r}: …}}, got {_shown(row)}")
            columns.check(where, list(row))
            if "\\u" in line:
                _check_characters([row[name] for name in columns.wanted], where)
            yield example_of(row, columns, where)


def read_parquet(path: Path, columns: Columns) -> Iterator[Example]:
    """The rows of a Parquet file, read in batches."""
    import pyarrow
    import pyarrow.parquet

    with opened(path) as stream:
        try:
            file = pyarrow.parquet.ParquetFile(stream)
            columns.check(path, file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches(batch_size=256, columns=columns.wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield example_of(row, columns, f"{path}, row {number}")
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            [problem, *_] = str(error).splitlines() or [""]
            raise BadInput(f"{path}: not a Parquet file, or truncated or damaged: {problem}") from None


def example_of(row: dict[str, Any], columns: Columns, where: str) -> Example:
    """An example from the cells of a row."""
    text: Any = _text(row[columns.text], columns.text, where)
    if columns.second is not None:
        text = _pair(text, _text(row[columns.second], columns.second, where), columns, where)
    return Example(text, _label(row[columns.label], columns.label, where) if columns.label else None, where)


def _text(value: Any, column: str, where: str) -> Text:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""  # an empty document
    if isinstance(value, str) or _is_list_of_strings(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, list) and all(map(_is_list_of_strings, value)):
        return value
    expected = "expected a string, a list of sentences or a list of lists of words"
    raise BadInput(f"{where}, {column!r}: {expected}, got {_shown(value)}")


def _pair(first: Any, second: Any, columns: Columns, where: str) -> list[str] | list[list[str]]:
    """Two strings, or two lists of words."""
    pair = [first, second]
    if _is_list_of_strings(pair) or all(map(_is_list_of_strings, pair)):
        return pair
    expected = "expected for each of a pair a string, or for each a list of words"
    raise BadInput(f"{where}, {columns.text!r} and {columns.second!r}: {expected}")


def _label(value: Any, column: str, where: str) -> str | None:
    """A label as a string, without white space around it; a whole number has no decimal point.

    None, an empty string and NaN (a missing number in a table) mean that there is no label.
    """
    if isinstance(value, str):
        stripped = value.strip()
        return None if stripped.lower() in ("", "nan") else stripped
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise BadInput(f"{where}, {column!r}: expected a string or a number, got {_shown(value)}")


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _check_characters(values: list[Any], where: str) -> None:
    """Refuse half a surrogate pair: JSON can escape one, but it is not a character and cannot be saved."""
    text = json.dumps(values, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise BadInput(f"{where}: {half} is half a surrogate pair; expected whole characters") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
