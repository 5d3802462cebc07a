"""Tables: CSV, TSV, JSON Lines and Parquet, with columns for the text (for pairs, two) and the label."""

import csv
import json
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, field_validator

from treetext.data.document import BadInput, Example, Text, counted
from treetext.data.readers.base import FileReader, Reader, Split
from treetext.data.readers.columns import recognise
from treetext.data.readers.files import check_encoding, filled_lines, lines, opened
from treetext.data.tasks import DOCUMENTS, PAIRS, Task

LONGEST = 1 << 27
"""Most characters of a CSV field: enough for any document, too few for a large file after an unclosed quote."""


DELIMITERS = ",;\t|"
NAMES = re.compile(r"\w+(?:([~^:#])\w+)(?:\1\w+)*")
"""Names with a symbol in between that is rarely a delimiter."""
HEAD = 1000
"""The number of rows by which columns are recognised."""
MOST_CHARACTERS = 1 << 24
"""Fewer rows, if they have more characters."""
Row = tuple[str, dict[str, Any]]
"""The place of a row, for messages, and its cells."""
Rows = Generator[Row, None, None]


class ColumnReader(Reader):
    """A format with named columns. With a column for a second sentence, its rows are pairs.

    Columns that are not given are recognised by their names and by what is in them.
    """

    text: str | None = Field(None, description="the column of the text (default: recognised)")
    second: str | None = Field(None, description="the column of the other sentence, for pairs")
    label: str | None = Field(None, description="the column of the label (default: recognised)")
    stratify: bool = Field(True, description=Reader.model_fields["stratify"].description)

    @property
    def task(self) -> Task:
        """Pairs if there is a column for the second sentence, else documents."""
        return DOCUMENTS if self.second is None else PAIRS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the text; the usual ones, if they are not known yet."""
        if self.text is None:
            return self.task.columns
        return (self.text,) if self.second is None else (self.text, self.second)

    def fits(self, task: Task) -> bool:
        """Whether the texts are inputs of a task. Columns that are not known yet may be those of any task."""
        return (self.text is None and self.second is None) or super().fits(task)

    def recognised(self, say: Callable[[str], object], task: Task | None = None, labels: bool = True) -> Self:
        """The same reader with all its columns. Those that are not given are recognised, and `say` gets which."""
        if self.text is not None and (self.label is not None or not labels):
            return self
        given = {"text": self.text, "second": self.second, "label": self.label}
        known = self.model_copy(update=recognise(self.name, self.head(), given, task, labels))
        texts = f"column{'s' * (len(known.columns) > 1)} {' and '.join(map(repr, known.columns))}"
        say(f"{self.name}: text in {texts}" + (f", label in column {known.label!r}" if known.label else ""))
        return known

    def wanted(self, labels: bool) -> "Columns":
        """The columns to read. They must be known: see `recognised`."""
        assert self.text is not None
        return Columns(self.text, self.second, self.label if labels else None)

    @abstractmethod
    def head(self) -> list[dict[str, Any]]:
        """The first rows, with all columns."""


class TableReader(ColumnReader, FileReader):
    """A table in one file, or in one file per split."""

    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:
        """The rows of all files."""
        known = self.recognised(notes.append, labels=labels)
        return FileReader.examples(known, labels, notes)

    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:
        """The rows of a file."""
        columns = self.wanted(labels)
        for place, row in self.read_rows(file, columns, notes):
            yield example_of(row, columns, place)

    def head(self) -> list[dict[str, Any]]:
        """The first rows of the first file, with all columns."""
        [(_, file), *_] = self.files([])
        rows, size = list[dict[str, Any]](), 0
        with closing(self.read_rows(file, None, [])) as all_rows:
            for _, row in all_rows:
                rows.append(row)
                size += sum(len(value) for value in row.values() if isinstance(value, str))
                if len(rows) == HEAD or size > MOST_CHARACTERS:
                    break
        if not rows:
            raise BadInput(f"{file}: empty; expected at least one text")
        return rows

    @abstractmethod
    def read_rows(self, file: Path, columns: "Columns | None", notes: list[str]) -> Rows:
        """The rows of a file. Only these columns need be read (None: all)."""


class TextTable(TableReader):
    """A table in a text file."""

    encoding: str = Field("utf-8", description="the encoding of the file, such as latin-1, cp1252 or utf-16")

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, encoding: str) -> str:
        return check_encoding(encoding)


class Csv(TextTable):
    """Comma-separated values."""

    about: ClassVar[str] = (
        "a file with a header, or a directory of train, dev and test files; columns by data.text and data.label"
    )
    ending: ClassVar[str] = ".csv"
    separator: ClassVar[str] = ","
    format: Literal["csv"] = "csv"
    delimiter: str | None = Field(None, description="between columns (default: by the format)")
    quoting: bool = Field(True, description="whether a CSV or TSV file has fields in double quotes")

    @field_validator("delimiter")
    @classmethod
    def _check_character(cls, delimiter: str | None) -> str | None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ValueError(f"expected one character, such as ; or \\t, but no quote or line end; got {delimiter!r}")
        return delimiter

    def read_rows(self, file: Path, columns: "Columns | None", notes: list[str]) -> Rows:
        """The rows of a file, numbered as in spreadsheets."""
        return csv_rows(file, columns, self.delimiter or self.separator, self.quoting, self.encoding, notes)


class Tsv(Csv):
    """Tab-separated values."""

    about: ClassVar[str] = "the same, with tabs between the columns"
    ending: ClassVar[str] = ".tsv"
    separator: ClassVar[str] = "\t"
    format: Literal["tsv"] = "tsv"  # type: ignore[assignment]


class JsonLines(TextTable):
    """JSON Lines."""

    about: ClassVar[str] = "a JSON object a line, with fields by data.text and data.label; or a directory of such files"
    ending: ClassVar[str] = ".jsonl"
    format: Literal["jsonl"] = "jsonl"

    def read_rows(self, file: Path, columns: "Columns | None", notes: list[str]) -> Rows:
        """The objects of a file."""
        return jsonl_rows(file, columns, notes, self.encoding)


class Parquet(TableReader):
    """Parquet."""

    about: ClassVar[str] = "a Parquet file, with columns by data.text and data.label; or a directory of such files"
    ending: ClassVar[str] = ".parquet"
    format: Literal["parquet"] = "parquet"

    def read_rows(self, file: Path, columns: "Columns | None", notes: list[str]) -> Rows:  # noqa: ARG002
        """The rows of a file."""
        return parquet_rows(file, columns)


class Columns(NamedTuple):
    """The names of the columns to read."""

    text: str
    second: str | None
    label: str | None
    id: str | None = None
    needs_id: bool = True
    """Whether the column of ids must exist."""

    @property
    def wanted(self) -> list[str]:
        """The columns to read, each once."""
        names = (self.text, self.second, self.label, self.id)
        return list(dict.fromkeys(name for name in names if name is not None))

    def check(self, where: object, there: Sequence[str]) -> "Columns":
        """Raise `BadInput` if one of the columns is missing or occurs twice. `there` has the columns of the table.

        Returns the columns to read: without that of ids if it is missing, and need not exist.
        """
        if self.id not in there and not self.needs_id:
            return self._replace(id=None, needs_id=True).check(where, there)
        for name in self.wanted:
            if there.count(name) != 1:
                listed = ", ".join(map(repr, there[:30])) + ", …" * (len(there) > 30)
                problem = "two columns" if name in there else "no column"
                raise BadInput(f"{where}: {problem} called {name!r}; expected one, and there are {listed or 'none'}")
        return self


def csv_rows(
    path: Path, columns: Columns | None, delimiter: str, quoting: bool, encoding: str, notes: list[str]
) -> Rows:
    """The rows of a CSV or TSV file with a header, numbered as in spreadsheets: the header is row 1."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # for the whole process; the default is 128 KiB
    mode: Literal[0, 3] = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    with opened(path) as stream:
        text = (line for _, line in lines(stream, path, encoding))
        first = next(text, "")
        rows = csv.reader(chain([first] if first else [], text), delimiter=delimiter, strict=True, quoting=mode)
        header: list[str] = []
        number = blank = 0
        while True:
            start, number = rows.line_num + 1, number + 1
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                if not header:
                    _check_delimiter(path, first, delimiter)
                hint = (
                    "expected quotes within quotes doubled, all closed, or --set data.quoting=false if there are none"
                )
                raise BadInput(f"{path}, row {number} (from line {start}): {error}; {hint}") from None
            if not row:
                blank += 1
            elif not header:
                header = [name.strip() for name in row]
                if columns is None or not {columns.text, columns.second or columns.text} <= set(header):
                    _check_delimiter(path, first, delimiter)
                columns = columns and columns.check(path, header)
            elif len(row) != len(header):
                expected = f"expected {len(header)}, as in the header"
                raise BadInput(f"{path}, row {number} (from line {start}): {counted(len(row), 'field')}; {expected}")
            else:
                yield f"{path}, row {number}", dict(zip(header, row, strict=True))
    if blank:
        notes.append(f"{path}: {counted(blank, 'blank line')} left out")


def jsonl_rows(path: Path, columns: Columns | None, notes: list[str], encoding: str | None = None) -> Rows:
    """The objects of a JSON Lines file. A text may be a string, a list of sentences or a list of lists of words."""
    first = None
    with opened(path) as stream:
        for where, line in filled_lines(stream, path, notes, encoding):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                problem = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
                raise BadInput(f"{where}: not JSON: {problem}; expected one whole object a line") from None
            if not isinstance(row, dict):
                example = columns.text if columns else "text"
                raise BadInput(f"{where}: expected an object like {{{example!r}: …}}, got {_shown(row)}")
            if columns is not None:
                here = columns.check(where, list(row))
                first = first or here
                if here != first:
                    problem = f"{'no' if here.id is None else 'a'} field {columns.id!r}"
                    raise BadInput(f"{where}: {problem}; expected it in all objects or in none, as in the first one")
                if "\\u" in line:
                    _check_characters([row[name] for name in here.wanted], where)
            yield where, row


def parquet_rows(path: Path, columns: Columns | None) -> Rows:
    """The rows of a Parquet file, read in batches."""
    import pyarrow
    import pyarrow.parquet

    with opened(path) as stream:
        try:
            file = pyarrow.parquet.ParquetFile(stream)
            columns = columns and columns.check(path, file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches(batch_size=256, columns=columns.wanted if columns else None):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            [problem, *_] = str(error).splitlines() or [""]
            raise BadInput(f"{path}: not a Parquet file, or truncated or damaged: {problem}") from None


def example_of(row: dict[str, Any], columns: Columns, where: str) -> Example:
    """An example from the cells of a row."""
    text: Any = _text(row[columns.text], columns.text, where)
    if columns.second is not None:
        text = _pair(text, _text(row[columns.second], columns.second, where), columns, where)
    label = _label(row[columns.label], columns.label, where) if columns.label else None
    return Example(text, label, where, id=_id(row[columns.id]) if columns.id in row else None)


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
    """A label as a string, with its white space; a whole number has no decimal point.

    None, an empty string and NaN (a missing number in a table) mean that there is no label.
    """
    if isinstance(value, str):
        return None if value.strip().lower() in ("", "nan") else value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise BadInput(f"{where}, {column!r}: expected a string or a number, got {_shown(value)}")


def _id(value: Any) -> Any:
    """An id as it is in the table; an empty string if it is missing."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _check_delimiter(path: Path, header: str, delimiter: str) -> None:
    """Raise `BadInput` for a header without the delimiter but with another one."""
    other = max(DELIMITERS, key=header.count)
    if match := NAMES.fullmatch(header.strip().replace('"', "")):
        other = match[1]
    if delimiter not in header and other in header:
        listed, quoted = header.strip(), other.replace("\t", '"\\t"')
        expected = f"expected also --set 'data.delimiter={quoted}'"
        raise BadInput(f"{path}: no {delimiter!r} in the header {_shown(listed)}, but {other!r}; {expected}")


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
