"""Shared parts of the commands: options, errors, progress, tables, and the choice of the data."""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from treetext import show as shown
    from treetext.data import Corpus
    from treetext.models import Model
    from treetext.training import Recipe

MODEL = "A directory with a model, the name of a shipped model (such as debates), or of a model on the hub."
ModelArgument = Annotated[str, typer.Argument(help=MODEL)]
DataOption = Annotated[
    str | None, typer.Option("--data", metavar="PATH", help="The data: a file, a directory or an archive.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Replace a value of the recipe, as in model.hidden=125; repeatable."
    ),
]
DataSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Replace a setting of the data, as in data.label=stars; repeatable."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
MOST_SEED = 2**32 - 1
_arguments: ContextVar[list[str]] = ContextVar("arguments")
UsageError: Any = typer.BadParameter.__mro__[1]  # typer's own or, in older versions, click's


class Split(StrEnum):
    """A split of a corpus."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class Commands(TyperGroup):
    """All commands. Errors of the user are one line; Ctrl-C and a pipe that closes early print no traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Keep the arguments for `typed`."""
        _arguments.set(list(args))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe is still handled
            return result
        except UsageError as error:
            said = error.format_message().rstrip(".").replace("Value error, ", "")
            refuse(f"{said[:1].lower()}{said[1:]}; see {(error.ctx or ctx).command_path} --help")
        except BrokenPipeError:
            raise  # nobody reads the output any more; typer handles it
        except OSError as error:
            problem = error.strerror or error
            room = "is there room where the model and the cache of corpora (TREETEXT_CACHE) go?"
            refuse(f"{error.filename}: {problem}" if error.filename is not None else f"{problem}; {room}")
        except ValueError as error:
            from treetext.data import BadInput

            if not isinstance(error, BadInput):
                raise  # a bug: show the traceback
            refuse(error)
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and not re.search("(allocate|out of) memory", str(error)):
                raise
            refuse("out of memory; expected shorter texts (data.max_words, data.max_sentences) or smaller batches")
        except KeyboardInterrupt:
            stop("stopped")


def typed() -> str:
    """The command as it was typed, quoted for a shell."""
    return shlex.join(["treetext", *_arguments.get()])


def refuse(problem: object) -> NoReturn:
    """Print the problem in one line, and exit with status 2."""
    print(f"treetext: {problem}", file=sys.stderr)
    raise typer.Exit(2)


def stop(message: object) -> NoReturn:
    """Print a message, and exit with status 130, as after Ctrl-C."""
    print(f"treetext: {message}", file=sys.stderr)
    raise typer.Exit(130)


def note(line: str) -> None:
    """Print a remark to standard error."""
    print(line, file=sys.stderr, flush=True)


def load(
    source: "str | Recipe | None",
    data: str | None,
    settings: Sequence[str] | None,
    more: dict[str, Any] | None = None,
    option: str = "--data",
) -> "Recipe":
    """A recipe with the data and the settings of the options. The ending of a file decides the format of a table.

    Without a `source`, the recipe is the default for the task of the data.
    """
    from treetext.data import BadInput, corpus_formats, file_format
    from treetext.training import load_recipe, load_template, needs_data, parse_overrides

    overrides = {**(more or {}), **parse_overrides(settings or [])}
    if source is None:
        source, overrides["data.format"] = default_recipe(data, overrides)
    if isinstance(source, str) and file_format(source) and Path(source).is_file():
        raise BadInput(f"{source}: data, not a recipe; expected {option} {source}, with a recipe or without")
    name = source if isinstance(source, str) else source.name
    ending = file_format(data) if data else None
    chosen = in_format(source, overrides.get("data.format"), ending)
    if data is None:
        if needs_data(chosen, overrides):
            raise BadInput(f"{name}: data.path: missing; expected the data by {option}")
        return load_recipe(chosen, overrides)
    template = load_template(chosen, overrides)
    if template.data.generated:  # only another format can read data
        expected = f"expected no {option}, or also --set data.format={ending or 'csv'}"
        raise BadInput(f"{data}: {name} generates its texts; {expected}")
    if ending and "data.format" not in overrides and template.data.ending != corpus_formats()[ending].ending:
        raise BadInput(
            f"{data}: {template.name} reads {template.data.format}; expected such data, a recipe for your own files"
            f" such as {template.data.task.recipe}, or --set data.format={ending}"
        )
    places = {**dict.fromkeys(("data.train", "data.dev", "data.test")), "data.path": data}
    return load_recipe(chosen, {**overrides, **places})


def default_recipe(data: str | None, overrides: Mapping[str, Any]) -> tuple[str, str]:
    """The recipe for the user's own table, by the task that its columns are for, and the format of the table."""
    from treetext.data import BadInput, table_format
    from treetext.training import load_reader

    if data is None:
        raise BadInput("no recipe; expected one (`treetext recipes` lists them), or your own file by --data")
    table = str(overrides.get("data.format") or table_format(data))
    settings = {key: value for key, value in overrides.items() if key.startswith("data.")}
    task = load_reader(table, {**settings, "data.path": data}).recognised(lambda _: None).task
    note(f"{data}: {task}, so the recipe is {task.recipe}")
    return task.recipe, table


def in_format(source: "str | Recipe", wanted: Any, ending: str | None) -> "str | Recipe | dict[str, Any]":
    """A recipe with another data format: the wanted one or, for tables, the one of the file's ending.

    Options that the new format does not have are left out.
    """
    from treetext.data import corpus_formats
    from treetext.data.readers.tables import TableReader
    from treetext.training import recipe_values

    values = recipe_values(source)
    section = values.get("data")
    before = corpus_formats().get(str(section.get("format"))) if isinstance(section, dict) else None
    if before is None:
        return source
    if wanted is None and issubclass(before, TableReader):
        wanted = ending
    after = corpus_formats().get(str(wanted))
    if after is None or after is before:
        return source
    for option in {"delimiter"} | set(before.options()) - set(after.options()):  # each format has its own delimiter
        values["data"].pop(option, None)
    return {**values, "data": {**values["data"], "format": wanted}}


def load_data(
    model: "Model", data: str | None, settings: Sequence[str] | None, split: Split | None, option: str
) -> "Recipe":
    """The recipe with the data for a model: its own data or others, tokenised in the same way."""
    from treetext.data import BadInput, corpus_formats, file_format
    from treetext.data.readers.base import FileReader
    from treetext.training import load_recipe

    for setting in settings or []:
        if not setting.startswith("data."):
            raise BadInput(
                f"--set {setting}: a trained model cannot change; expected a setting of data, such as data.label=stars"
            )
    base = model_recipe(model)
    if data is None and base is None:
        raise BadInput(f"the model does not say what it was trained on; expected {option}")
    if data is None and "shipped" in model.about:
        raise BadInput(f"{model.about['data']}: does not ship with the model; expected {option}")
    if data is None and base and model.about.get("in_memory") and not Path(base.data.name).exists():
        problem = f"the model was trained on data in memory, and their copy is not in {Path(base.data.name).parent}"
        raise BadInput(f"{problem}; expected {option}")
    cut = model.tokenizer
    words = {"data.language": cut.language, "data.lowercase": cut.lowercase, "data.tokenized": cut.tokenized}
    words |= {"data.max_words": cut.limits.words, "data.max_sentences": cut.limits.sentences}
    ending = file_format(data) if data else None
    if base and ending and base.data.ending != corpus_formats()[ending].ending:
        words["data.format"] = ending
    recipe = load(base or model.task.recipe, data, settings, words, option)
    if data and split is None and isinstance(recipe.data, FileReader) and Path(data).is_file():
        return load_recipe(recipe, {"data.path": None, "data.test": data, "data.folds": None, "data.fold": 0})
    return recipe


def open_data(model: "Model", recipe: "Recipe", split: str, bars: "Bars") -> "tuple[Corpus, int | None]":
    """The corpus, split as in the training of the model, and how many texts of a split are known from training.

    The number is None if the model does not say what it was trained on. The notes of the corpus tell the user.
    """
    from treetext.data import open_corpus
    from treetext.evaluation import seen

    columns: list[str] = []
    corpus = open_corpus(recipe.data.recognised(columns.append, model.task), bars.more)
    corpus.notes[:0] = columns
    if model.splits is not None:
        corpus = corpus.as_trained(model.splits)
    known = seen(model, corpus, split)
    if known.remark:
        corpus.notes.append(f"{corpus.name}: {known.remark}")
    return corpus, known.texts


def model_recipe(model: "Model") -> "Recipe | None":
    """The recipe of a model, or None if it has no valid one."""
    from treetext.data import BadInput
    from treetext.training import load_recipe

    try:
        return load_recipe(model.about.get("recipe") or {})
    except BadInput:
        return None


class Bars:
    """Progress of long work on the terminal. Prints nothing if standard error is not a terminal."""

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def more(self, what: str, done: int) -> None:
        """Advance the bar of a step by the number of items that are done."""
        if self._bars is not None:
            if what not in self._tasks:
                self._tasks[what] = self._bars.add_task(what, total=None)
            self._bars.start()
            self._bars.advance(self._tasks[what], done)

    def say(self, line: str) -> None:
        """Print a remark. Stops the bars, so that other output can follow."""
        if self._bars is not None:
            self._bars.stop()
        note(line)


@contextmanager
def progress() -> Iterator[Bars]:
    """A context manager for `Bars`."""
    bars = Bars()
    if not sys.stderr.isatty():
        yield bars
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}: {task.completed:,.0f}"), TimeElapsedColumn())
    bars._bars = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        yield bars
    finally:
        bars._bars.stop()


def table(*headers: str, numbers: Sequence[str] = ()) -> "Table":
    """An empty table without borders. The columns in `numbers` are right-aligned."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        made.add_column(header, justify="right" if header in numbers else "left")
    return made


def show(*parts: object) -> None:
    """Print tables and text. Outside of a terminal, the width is not limited."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    console.width = 10_000
    with console.capture() as printed:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in printed.get().splitlines()))


def show_tables(tables: "Iterable[shown.Table]") -> None:
    """Print the tables of an analysis, as wide as the terminal."""
    from rich.console import Console

    from treetext.show import draw_tables

    console = Console()
    print(draw_tables(tables, console.width if console.is_terminal else None, color=console.is_terminal))


@contextmanager
def written(out: Path | None) -> Iterator[IO[str]]:
    """A context manager: a file that appears once it is completely written, or standard output."""
    if out is None:
        yield sys.stdout
        return
    with aside(out) as path, path.open("w", encoding="utf-8") as stream:
        yield stream


@contextmanager
def aside(out: Path) -> Iterator[Path]:
    """A context manager: the path of a new file, which becomes `out` once it is completely written."""
    if out.is_dir():
        refuse(f"{out}: a directory; expected a file to write")
    if not out.parent.is_dir():
        refuse(f"{out.parent}: no such directory; expected one, for {out.name}")
    path = out.with_name(f"{out.name}.{os.getpid()}.partial")
    try:
        yield path
        path.replace(out)
    finally:
        path.unlink(missing_ok=True)


def show_json(value: object) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False))


def percent(share: float | None) -> str:
    """A share in percent, with one decimal, as in the paper."""
    return "–" if share is None else f"{100 * share:.1f}"
