"""The texts that `predict`, `parse` and `encode` read, as a stream."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from enum import StrEnum
from itertools import islice
from operator import ne
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from treetext.cli.common import MODEL, in_format, model_recipe, note, progress, refuse

if TYPE_CHECKING:
    from treetext.data import Reader
    from treetext.models import Model

STDIN = Path("-")
AT_ONCE = 256
"""The number of texts in memory: enough for batches of similar length."""
ID = "id"
"""The column of ids that is recognised."""


class Input(StrEnum):
    """The format of the input."""

    LINES = "lines"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"


ModelOrFile = Annotated[str | None, typer.Argument(help=f"{MODEL} Not with --model.", show_default=False)]
File = Annotated[
    Path | None,
    typer.Argument(help="Texts: one per line (pairs: two, separated by a tab), or a table; - for standard input."),
]
Name = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model, instead of the argument MODEL.")]
Text = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="The column of the text in a table; twice for pairs."),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column of a table to keep as id (default: id, if there is one)."),
]
From = Annotated[
    Input | None, typer.Option("--input", help="Format of FILE (default: by its ending; lines for standard input).")
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="How to read FILE: data.delimiter, data.encoding or data.quoting (default: a table as in the training of"
        " the model, lines as UTF-8); repeatable.",
    ),
]
READING = ("data.delimiter", "data.encoding", "data.quoting")


def chosen(model: str | None, file: Path | None, name: str | None) -> tuple[str, Path]:
    """The model and the file of texts. With --model, the only argument is the file."""
    if name is None:
        if model is None:
            refuse("no model; expected MODEL or --model NAME")
        return model, file or STDIN
    if file is not None or (model is not None and Path(model).is_dir()):
        refuse(f"--model {name}: a second model, beside {model}; expected one, and at most one file")
    return name, STDIN if model is None else Path(model)


class Row(NamedTuple):
    """A text of the input."""

    number: int
    """The number of the text in the input, from 1."""
    id: Any
    """Its id, or None if the input has no ids."""
    text: Any


def id_text(value: Any) -> str:
    """An id as text; empty for none."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


class Inputs:
    """The texts of a file for a model."""

    def __init__(
        self,
        model: "Model",
        file: Path,
        columns: list[str] | None,
        kind: Input | None,
        id_column: str | None = None,
        settings: list[str] | None = None,
    ) -> None:
        self.model, self.file, self.columns, self.kind, self.id_column = model, file, columns, kind, id_column
        self.name = "standard input" if file == STDIN else str(file)
        self.settings = _settings(settings) if settings else {}

    def check_out(self, out: Path | None) -> None:
        """Refuse to write over the input."""
        if out is not None and self.file != STDIN and out.exists() and self.file.exists() and out.samefile(self.file):
            refuse(f"--out {out}: the file of the texts; expected another one")

    def run(
        self, run: Callable[[list[list[list[str]]]], Any], shown: bool, empty: str
    ) -> Iterator[tuple[list[Row], Any]]:
        """Some texts at a time, with the results of the model.

        `shown` says whether the results appear on the terminal; if not, progress does. `empty` says what becomes of
        texts without words.
        """
        from treetext.data import BadInput, Tokenizer
        from treetext.data.document import counted

        notes: list[str] = []
        rows = self._rows(notes)
        typed = self.file == STDIN and sys.stdin.isatty()
        if typed:
            note("Reading from the keyboard, one text per line; end with Ctrl-D.")
        cut = self.model.tokenizer
        tokenizer, limits = Tokenizer(cut.language, cut.lowercase, cut.tokenized), cut.limits
        done = without = beyond = 0
        with progress() as bars:
            while some := list(islice(rows, 1 if typed else AT_ONCE)):
                whole = [self.model.task.tokens(row.text, tokenizer) for row in some]
                documents = [limits.cut(document) for document in whole]
                yield some, run(documents)
                sys.stdout.flush()
                done += len(some)
                beyond += sum(map(ne, documents, whole))
                without += sum(not self.model.is_whole(document) for document in documents)
                if not shown:
                    bars.more("texts", len(some))
        for line in notes:
            note(line)
        if not done:
            raise BadInput(f"{self.name}: empty; expected at least one text")
        if beyond:
            note(limits.remark(self.name, beyond, done))
        if without:
            note(f"{without:,} of {counted(done, 'text')} without words: {empty}")

    def _rows(self, notes: list[str]) -> Iterator[Row]:
        """Lines, or the rows of a table."""
        from treetext.data import BadInput, file_format
        from treetext.data.readers.tables import TableReader, example_of

        source = self.kind or (file_format(self.file) if self.file != STDIN else None) or Input.LINES
        if source == Input.LINES:
            options = [f"--text {column}" for column in self.columns or []]
            options += [f"--set {key}" for key in self.settings if key != "data.encoding"]
            for option in options if self.id_column is None else [*options, f"--id {self.id_column}"]:
                expected = "expected --input csv, tsv, jsonl or parquet"
                raise BadInput(f"{option}: {self.name} has no columns; {expected}")
            yield from self._lines()
            return
        table = self._table(str(source))
        assert isinstance(table, TableReader)
        [(_, path)] = table.files(notes)
        columns = table.wanted(labels=False)._replace(id=self.id_column or ID, needs_id=self.id_column is not None)
        for number, (where, row) in enumerate(table.read_rows(path, columns, notes), start=1):
            example = example_of(row, columns, where)
            yield Row(number, example.id, example.text)

    def _table(self, source: str) -> "Reader":
        from treetext.data import BadInput
        from treetext.data.document import counted
        from treetext.training import load_reader, recipe_values

        task, recipe = self.model.task, model_recipe(self.model)
        # By default, the columns of the training data or, if the recipe is not known, the usual ones of the task.
        names = self.columns or list(recipe.data.columns if recipe else task.columns)
        if len(names) != len(task.columns):
            raise BadInput(f"--text: {counted(len(names), 'column')}; expected {len(task.columns)}, for {task}")
        trained = recipe_values(in_format(recipe, source, None))["data"] if recipe else {}
        settings = {key: trained[name] for key in READING if (name := key.removeprefix("data.")) in trained}
        settings |= dict(zip(("data.text", "data.second"), names, strict=False))
        path = "/dev/stdin" if self.file == STDIN else str(self.file)
        return load_reader(source, {**settings, **self.settings, "data.test": path})

    def _lines(self) -> Iterator[Row]:
        from treetext.data.readers.files import check_encoding, existing, lines, opened

        encoding = check_encoding(self.settings.get("data.encoding", "utf-8"))
        with nullcontext(sys.stdin.buffer) if self.file == STDIN else opened(existing(str(self.file))) as stream:
            for number, line in lines(stream, self.name, encoding):
                text = line.removesuffix("\n").removesuffix("\r")
                yield Row(number, None, self.model.task.from_line(text, f"{self.name}, line {number}"))


def _settings(settings: list[str]) -> dict[str, Any]:
    """The settings of reading a file. A model that is trained cannot change, and neither can how it splits texts."""
    from treetext.data import BadInput
    from treetext.training import parse_overrides

    overrides = parse_overrides(settings)
    for key in overrides:
        if key not in READING:
            raise BadInput(f"--set {key}: not about reading the file; expected one of {', '.join(READING)}")
    return overrides
