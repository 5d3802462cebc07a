"""Readers of corpora and of treebanks: a registry. A new format is one new file in this folder."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from treetext.data.document import BadInput
from treetext.data.readers.base import Reader
from treetext.data.readers.files import existing, reading
from treetext.data.readers.tables import TableReader
from treetext.data.readers.treebanks import Treebank, read_treebank, treebank_formats
from treetext.data.registry import subclasses

__all__ = [
    "Reader",
    "Treebank",
    "corpus_formats",
    "file_format",
    "find_reader",
    "formats_with",
    "read_treebank",
    "reader",
    "table_format",
    "treebank_formats",
]


@cache
def corpus_formats() -> dict[str, type[Reader]]:
    """The reader classes by the names of their formats."""
    # A class without a default for its format is a base class.
    named = [cls for cls in subclasses(Reader, __name__) if not cls.model_fields["format"].is_required()]
    return {str(cls.model_fields["format"].default): cls for cls in sorted(named, key=_order)}


def find_reader(format: object) -> type[Reader]:  # noqa: A002
    """The reader class of a format."""
    if not isinstance(format, str) or format not in corpus_formats():
        raise BadInput(f"format: expected one of {', '.join(corpus_formats())}, got {format!r}")
    return corpus_formats()[format]


def reader(format: str, **settings: Any) -> Reader:  # noqa: A002
    """A corpus of some format, as in ``reader("csv", path="reviews.csv", label="stars")``."""
    try:
        return find_reader(format)(format=format, **settings)
    except ValidationError as error:
        raise BadInput(f"{format}: {_problem(error, format)}") from None


def file_format(path: str | Path) -> str | None:
    """The format of a table, by the ending of the file name; None if no format has this ending."""
    ending = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    tables: Mapping[str | None, str] = {
        cls.ending: name for name, cls in corpus_formats().items() if issubclass(cls, TableReader)
    }
    return tables.get(ending)


def table_format(path: str | Path) -> str:
    """The format of a table, or of a directory of tables. Raises `BadInput` if no format has such an ending."""
    place = existing(str(path))
    files = [place]
    if place.is_dir():
        with reading(place):
            files = sorted(place.iterdir())
    named = [name for file in files if (name := file_format(file))]
    if not named:
        endings = ", ".join(f".{name}" for name, cls in corpus_formats().items() if issubclass(cls, TableReader))
        raise BadInput(f"{place}: no table by its name; expected {endings}, or data.format to name its format")
    return named[0]


def formats_with(option: str) -> list[str]:
    """The formats that have an option of this name."""
    return [name for name, cls in corpus_formats().items() if option in cls.options()]


def _order(cls: type[Reader]) -> tuple[bool, str]:
    """Sort key: formats of tables first."""
    return not issubclass(cls, TableReader), str(cls.model_fields["format"].default)


def _problem(error: ValidationError, format: str) -> str:  # noqa: A002
    first = error.errors()[0]
    message, where = first["msg"].removeprefix("Value error, "), ".".join(map(str, first["loc"]))
    if first["type"] == "value_error":
        return f"{where}: {message}" if where else message  # without a place, the message names the settings itself
    if first["type"] == "extra_forbidden":
        formats = ", ".join(formats_with(where))
        return f"{where}: does not go with {format}; expected it only for {formats}" if formats else f"{where}: unknown"
    return f"{where}: {message}; got {first['input']!r:.60}"
