"""`treetext predict` and `treetext parse`: texts in, labels and trees out, as a stream."""

import csv
import json
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from treetext.cli.common import JsonOption, note, refuse, show, written
from treetext.cli.common import table as new_table
from treetext.cli.inputs import File, From, Id, Inputs, ModelOrFile, Name, Reading, Row, Text, chosen, id_text
from treetext.cli.threads import ThreadsOption, use_threads

if TYPE_CHECKING:
    from treetext.models import Model, Parsed, Prediction


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


def predict(
    model: ModelOrFile = None,
    file: File = None,
    name: Name = None,
    text: Text = None,
    id_column: Id = None,
    kind: From = None,
    settings: Reading = None,
    top: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Only the K most probable labels, the most probable first.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this .jsonl or .csv file (default: standard output).")
    ] = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label texts.

    Each text becomes a line of JSON or, on a terminal, a row of a table, in the order of the texts. It has the number
    of the text, from 1, and the id of a table that has ids.

    A text without words gets the most frequent label of the training data.
    """
    use_threads(threads)
    from treetext.models import load_model

    ending = out.suffix.lower() if out else None
    if out is not None and ending not in (".jsonl", ".csv"):
        refuse(f"--out {out}: expected a file that ends with .jsonl or .csv")
    if out is not None and as_json:
        refuse(f"--json: prints; expected no --out, or --out {out.with_suffix('.jsonl')} without --json")
    where, source = chosen(model, file, name)
    loaded = load_model(where)
    inputs = Inputs(loaded, source, text, kind, id_column, settings)
    inputs.check_out(out)
    shown = out is None and sys.stdout.isatty()
    with written(out) as stream:
        write: Callable[[list[Row], list[Prediction]], object]
        if shown and not as_json:
            write = _Shown(loaded.labels, top)
        else:
            write = _Csv(stream, loaded.labels, top) if ending == ".csv" else _JsonLines(stream)
        for rows, predictions in inputs.run(loaded.predict_tokens, shown, _labelled(loaded)):
            write(rows, [prediction.top(top) for prediction in predictions] if top else predictions)


def parse(
    model: ModelOrFile = None,
    file: File = None,
    name: Name = None,
    text: Text = None,
    id_column: Id = None,
    kind: From = None,
    settings: Reading = None,
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
    threads: ThreadsOption = None,
) -> None:
    """Show the trees that a model induces.

    JSON has the number of each text, from 1, and the id of a table that has ids. In CoNLL-U, the id or else the number
    is the name of a document; a document without words has no sentences. In dot, the language of GraphViz, each
    document is a graph.
    """
    use_threads(threads)
    from treetext.models import load_model
    from treetext.show import to_dot

    where, source = chosen(model, file, name)
    loaded = load_model(where)
    if not loaded.levels_with_trees:
        note(f"{where}: a model without trees: nothing has a head")
    inputs = Inputs(loaded, source, text, kind, id_column, settings)
    inputs.check_out(out)
    shown = out is None and sys.stdout.isatty()
    output = output or (Output.DRAWING if shown else Output.JSONL)
    with written(out) as stream:
        for rows, batch in inputs.run(
            lambda documents: loaded.parse_tokens(documents, decode.value), shown, _labelled(loaded)
        ):
            for row, parsed in zip(rows, batch, strict=True):
                name = " ".join(id_text(row.id).split()) or str(row.number)
                if output == Output.DRAWING:
                    stream.write(_drawn(parsed, stream) + "\n\n")
                elif output == Output.CONLLU:
                    stream.write(parsed.to_conllu(name))
                elif output == Output.DOT:
                    stream.write(to_dot(parsed, name))
                else:
                    stream.write(_json(row, _plain(parsed, weights)))


def _labelled(model: "Model") -> str:
    """What becomes of texts without words."""
    label = model.labels[max(range(len(model.prior)), key=model.prior.__getitem__)]
    return f"labelled with the most frequent class in training, {label}"


class _JsonLines:
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def __call__(self, rows: list[Row], predictions: "list[Prediction]") -> None:
        for row, prediction in zip(rows, predictions, strict=True):
            self.stream.write(_json(row, prediction._asdict()))


class _Csv:
    """A table with a column for the probability of each label or, with `top`, columns for the most probable labels."""

    def __init__(self, stream: IO[str], labels: Sequence[str], top: int | None) -> None:
        self.writer = csv.writer(stream, lineterminator="\n")
        self.labels, self.top, self.header = labels, top, False

    def __call__(self, rows: list[Row], predictions: "list[Prediction]") -> None:
        if not self.header:
            self.header = True
            others = range(2, min(self.top or 0, len(self.labels)) + 1)
            more = [f"{name}_{i}" for i in others for name in ("label", "probability")]
            more = more if self.top else [f"probability_{label}" for label in self.labels]
            self.writer.writerow(["number", *["id"] * (rows[0].id is not None), "label", "probability", *more])
        for row, (label, probability, probabilities) in zip(rows, predictions, strict=True):
            known = [] if row.id is None else [id_text(row.id)]
            ranked = [value for each in list(probabilities.items())[1:] for value in each]
            values = ranked if self.top else probabilities.values()
            self.writer.writerow([row.number, *known, label, probability, *values])


class _Shown:
    """A table on the terminal. All its parts have the same widths, and each text is on one line."""

    def __init__(self, labels: Sequence[str], top: int | None) -> None:
        lengths = sorted(map(len, labels), reverse=True)
        self.widths = {"label": max(5, lengths[0]), "probability": len("probability")}
        if top and top > 1:
            self.widths["next labels"] = max(11, sum(n + len(" 0.123, ") for n in lengths[1:top]) - 2)
        self.header = True

    def __call__(self, rows: list[Row], predictions: "list[Prediction]") -> None:
        from rich.console import Console
        from rich.text import Text as Plain

        widths = self.widths if rows[0].id is None else {"id": 16, **self.widths}
        table = new_table(*widths, "text", numbers=["probability"])
        table.show_header, self.header = self.header, False
        for column, width in zip(table.columns, widths.values(), strict=False):
            column.width, column.no_wrap, column.overflow = width, True, "ellipsis"
        room = max(10, Console().width - sum(width + 2 for width in widths.values()))
        for row, (label, probability, probabilities) in zip(rows, predictions, strict=True):
            others = ", ".join(f"{other} {p:.3f}" for other, p in list(probabilities.items())[1:])
            cells = {"id": id_text(row.id), "label": label, "probability": f"{probability:.3f}", "next labels": others}
            line = Plain(_line(row.text))
            line.truncate(room, overflow="ellipsis")
            table.add_row(*(Plain(cells[name]) for name in widths), line)
        show(table)


def _line(text: Any) -> str:
    """The beginning of a text, on one line."""
    if isinstance(text, list):
        text = " ".join(part if isinstance(part, str) else " ".join(part) for part in text)
    return " ".join(str(text)[:1000].split())


def _json(row: Row, values: dict[str, Any]) -> str:
    """A line of JSON."""
    place = {"number": row.number} if row.id is None else {"number": row.number, "id": row.id}
    return json.dumps({**place, **values}, ensure_ascii=False, default=str) + "\n"


def _plain(parsed: "Parsed", weights: bool) -> dict[str, Any]:
    values = parsed.to_dict()
    if not weights:
        for part in (values, *values["sentences"]):
            del part["weights"]
    return values


def _drawn(parsed: "Parsed", stream: IO[str]) -> str:
    """A drawing: on a terminal in its width and with colours, elsewhere of any width and without colours."""
    from rich.console import Console

    from treetext.show import draw_parsed

    console = Console(file=stream)
    if not console.is_terminal:
        return draw_parsed(parsed)
    return draw_parsed(parsed, console.width, console.color_system is not None and not console.no_color)
