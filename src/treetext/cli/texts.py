"""`treetext predict` and `treetext parse`: texts in, labels and trees out, as a stream."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from treetext.cli.common import MODEL, JsonOption, model_recipe, note, progress, refuse, show, show_json, written
from treetext.cli.common import table as new_table

if TYPE_CHECKING:
    from treetext.models import Model, Parsed, Prediction

STDIN = Path("-")
AT_ONCE = 256
"""The number of texts in memory: enough for batches of similar length."""


class Input(StrEnum):
    """The format of the input."""

    LINES = "lines"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"


class Output(StrEnum):
    """The format of the output."""

    DRAWING = "drawing"
    JSONL = "jsonl"
    CONLLU = "conllu"
    DOT = "dot"


class Decode(StrEnum):
    """The criterion of the decoded tree."""

    MARGINALS = "marginals"
    LOG_MARGINALS = "log-marginals"
    SCORES = "scores"


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
From = Annotated[
    Input | None, typer.Option("--input", help="Format of FILE (default: by its ending; lines for standard input).")
]


def predict(
    model: ModelOrFile = None,
    file: File = None,
    name: Name = None,
    text: Text = None,
    kind: From = None,
    as_json: JsonOption = False,
) -> None:
    """Label texts.

    Each text becomes a line of JSON or, on a terminal, a row of a table, in the order of the texts.

    A text without words gets the most frequent label of the training data.
    """
    from treetext.models import load_model

    chosen, source = _chosen(model, file, name)
    loaded = load_model(chosen)
    first = True
    for texts, predictions in _stream(loaded, source, text, kind, loaded.predict_tokens):
        if as_json or not sys.stdout.isatty():
            for prediction in predictions:
                show_json(prediction._asdict())
        else:
            _show(texts, predictions, loaded.labels, header=first)
        first = False


def parse(
    model: ModelOrFile = None,
    file: File = None,
    name: Name = None,
    text: Text = None,
    kind: From = None,
    output: Annotated[
        Output | None, typer.Option("--format", help="Output format (default: drawing on a terminal, else jsonl).")
    ] = None,
    decode: Annotated[
        Decode, typer.Option(help="The decoded tree maximises the sum of these over its arcs.")
    ] = Decode.MARGINALS,
    weights: Annotated[bool, typer.Option("--weights", help="Add the marginals to jsonl.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file (default: standard output).")
    ] = None,
) -> None:
    """Show the trees that a model induces.

    In CoNLL-U, documents are numbered in their order; a document without words has no sentences. In dot, the language
    of GraphViz, each document is a graph.
    """
    from treetext.models import load_model
    from treetext.show import to_dot

    chosen, source = _chosen(model, file, name)
    loaded = load_model(chosen)
    if not loaded.levels_with_trees:
        note(f"{chosen}: a model without trees: nothing has a head")
    output = output or (Output.DRAWING if out is None and sys.stdout.isatty() else Output.JSONL)
    number = 0
    with written(out) as stream:
        for _, batch in _stream(
            loaded, source, text, kind, lambda documents: loaded.parse_tokens(documents, decode.value)
        ):
            for parsed in batch:
                number += 1
                if output == Output.DRAWING:
                    stream.write(_drawn(parsed, stream) + "\n\n")
                elif output == Output.CONLLU:
                    stream.write(parsed.to_conllu(str(number)))
                elif output == Output.DOT:
                    stream.write(to_dot(parsed, str(number)))
                else:
                    stream.write(_json(parsed, weights) + "\n")


def _chosen(model: str | None, file: Path | None, name: str | None) -> tuple[str, Path]:
    """The model and the file of texts. With --model, the only argument is the file."""
    if name is None:
        if model is None:
            refuse("no model; expected MODEL or --model NAME")
        return model, file or STDIN
    if file is not None or (model is not None and Path(model).is_dir()):
        refuse(f"--model {name}: a second model, beside {model}; expected one, and at most one file")
    return name, STDIN if model is None else Path(model)


def _stream(
    model: "Model",
    file: Path,
    columns: list[str] | None,
    kind: Input | None,
    run: Callable[[list[list[list[str]]]], list[Any]],
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Batches of texts, with the results of the model."""
    from treetext.data import BadInput

    notes: list[str] = []
    texts = _texts(model, file, columns, kind, notes)
    typed = file == STDIN and sys.stdin.isatty()
    if typed:
        note("Reading from the keyboard, one text per line; end with Ctrl-D.")
    done = empty = 0
    with progress() as bars:
        while some := list(islice(texts, 1 if typed else AT_ONCE)):
            documents = [model.tokens(text) for text in some]
            yield some, run(documents)
            sys.stdout.flush()
            done, empty = done + len(some), empty + sum(not model.is_whole(document) for document in documents)
            if not sys.stdout.isatty():
                bars.more("texts", len(some))
    for line in notes:
        note(line)
    if not done:
        raise BadInput(f"{_name(file)}: empty; expected at least one text")
    if empty:
        label = model.labels[max(range(len(model.prior)), key=model.prior.__getitem__)]
        note(f"{empty:,} of {done:,} texts without words: labelled with the most frequent class in training, {label}")


def _texts(
    model: "Model", file: Path, columns: list[str] | None, kind: Input | None, notes: list[str]
) -> Iterator[Any]:
    """The texts of a file: lines or a table."""
    from treetext.data import BadInput, file_format, reader

    source = kind or (file_format(file) if file != STDIN else None) or Input.LINES
    if source == Input.LINES:
        if columns:
            raise BadInput(
                f"--text {columns[0]}: {_name(file)} has no columns; expected --input csv, tsv, jsonl or parquet"
            )
        yield from _lines(file, model)
        return
    names = columns or _columns(model)
    if len(names) != len(model.task.columns):
        raise BadInput(f"--text: {len(names)} columns; expected {len(model.task.columns)}, for {model.task}")
    path = "/dev/stdin" if file == STDIN else str(file)
    table = reader(str(source), test=path, **dict(zip(("text", "second"), names, strict=False)))
    for _, example in table.read(notes, labels=False):
        yield example.text


def _lines(file: Path, model: "Model") -> Iterator[Any]:
    from treetext.data.readers.files import existing, lines, opened

    with nullcontext(sys.stdin.buffer) if file == STDIN else opened(existing(str(file))) as stream:
        for number, line in lines(stream, _name(file)):
            text = line.removesuffix("\n").removesuffix("\r")
            yield model.task.from_line(text, f"{_name(file)}, line {number}")


def _columns(model: "Model") -> list[str]:
    """The columns of the model's training data or, if its recipe is not known, the usual ones of its task."""
    recipe = model_recipe(model)
    return list(recipe.data.columns if recipe else model.task.columns)


def _name(file: Path) -> str:
    return "standard input" if file == STDIN else str(file)


def _line(text: Any) -> str:
    """The beginning of a text, on one line."""
    if isinstance(text, list):
        text = " ".join(part if isinstance(part, str) else " ".join(part) for part in text)
    return " ".join(str(text)[:1000].split())


def _show(texts: list[Any], predictions: "list[Prediction]", labels: list[str], header: bool) -> None:
    """Print a part of a table. All parts have the same widths, and each text is on one line."""
    from rich.console import Console
    from rich.text import Text as Plain

    table = new_table("label", "probability", "text", numbers=["probability"])
    table.show_header = header
    used = 0
    for column, least in zip(table.columns, (max(5, *map(len, labels)), len("probability")), strict=False):
        column.min_width, column.no_wrap = least, True
        used += least + 2
    for text, prediction in zip(texts, predictions, strict=True):
        line = Plain(_line(text))
        line.truncate(max(10, Console().width - used), overflow="ellipsis")
        table.add_row(Plain(prediction.label), f"{prediction.probability:.3f}", line)
    show(table)


def _json(parsed: "Parsed", weights: bool) -> str:
    values = parsed.to_dict()
    if not weights:
        for part in (values, *values["sentences"]):
            del part["weights"]
    return json.dumps(values, ensure_ascii=False)


def _drawn(parsed: "Parsed", stream: IO[str]) -> str:
    """A drawing: on a terminal in its width and with colours, elsewhere of any width and without colours."""
    from rich.console import Console

    from treetext.show import draw_parsed

    console = Console(file=stream)
    if not console.is_terminal:
        return draw_parsed(parsed)
    return draw_parsed(parsed, console.width, console.color_system is not None and not console.no_color)
