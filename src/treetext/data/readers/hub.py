"""Data sets of the Hugging Face hub."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from treetext.data.document import BadInput, Example
from treetext.data.extras import needs
from treetext.data.readers.base import Name, Split, filled
from treetext.data.readers.files import split_named
from treetext.data.readers.tables import HEAD, ColumnReader, Columns, example_of


class Hub(ColumnReader):
    """A data set of the hub, or a local directory like one."""

    about: ClassVar[str] = "the name of a data set on the Hugging Face hub; downloads it"
    format: Literal["hub"] = "hub"
    subset: Name | None = Field(None, description="the subset of the data set, if it has several")

    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:
        """The rows of all splits."""
        known = self.recognised(notes.append, labels=labels)
        for name, rows in self._splits(notes).items():
            yield from filled(name, f"{self.path}, {name}", read_hub(str(self.path), rows, known.wanted(labels)))

    def head(self) -> list[dict[str, Any]]:
        """The first rows of the first split, with all columns."""
        rows = next(iter(self._splits([]).values()))
        return list(rows.select(range(min(HEAD, len(rows)))))

    def contents(self) -> Iterator[tuple[str, Path]]:
        """The files that the data set was loaded into."""
        for name, rows in self._splits([]).items():
            yield from ((name, Path(file["filename"])) for file in rows.cache_files)

    @classmethod
    def hashed(cls) -> list[str]:
        """Also the names of the splits on the hub."""
        return [*cls.options(), "train", "dev", "test"]

    def _splits(self, notes: list[str]) -> dict[str, Any]:
        named = {name: split for name, split in self.places.items() if name != "path"}
        return hub_splits(str(self.path), self.subset, named, notes)

    @model_validator(mode="after")
    def _check_path(self) -> Self:
        if self.path is None:
            raise ValueError("path: missing; expected the name of a data set on the hub")
        return self


def hub_splits(name: str, subset: str | None, named: dict[str, str], notes: list[str]) -> dict[str, Any]:
    """The `datasets.Dataset` of each split of a data set of the hub, or of a local directory like one.

    `named` has the hub's names of the splits, if they are not the usual ones. May download the data.
    """
    with needs("hub"):
        import datasets
    try:
        if named:
            return {split: datasets.load_dataset(name, subset, split=theirs) for split, theirs in named.items()}
        loaded = datasets.load_dataset(name, subset)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        [problem, *_] = str(error).splitlines() or [type(error).__name__]
        raise BadInput(f"{name}: not loaded from the hub: {problem}") from None
    if list(loaded) == ["train"]:
        return {"all": loaded["train"]}
    splits: dict[str, Any] = {}
    for theirs, rows in loaded.items():
        split = split_named(theirs)
        if split is None or split in splits:
            notes.append(f"{name}: its split {theirs!r} left out; name those to read with train, dev and test")
        else:
            splits[split] = rows
    if not splits:
        expected = "expected train, dev and test to say which to read"
        raise BadInput(f"{name}: has the splits {', '.join(loaded)}; {expected}")
    return splits


def read_hub(name: str, rows: Any, columns: Columns) -> Iterator[Example]:
    """The rows of a split of the hub. A class index becomes its name; -1 means that there is no label."""
    where = f"{name}, {rows.split}"
    columns.check(where, rows.column_names)
    feature = rows.features[columns.label] if columns.label else None
    names = getattr(feature, "names", None)
    for number, row in enumerate(rows.select_columns(columns.wanted), start=1):
        if names and isinstance(row[columns.label], int):
            row[columns.label] = names[row[columns.label]] if row[columns.label] >= 0 else None
        yield example_of(row, columns, f"{where}, row {number}")
