"""The command line. Slow imports are inside the commands, so `treetext --help` is fast."""

from typing import Annotated

import typer

from treetext import __version__
from treetext.cli.agree import agree
from treetext.cli.analyse import analyse
from treetext.cli.common import Commands, SetOption, note, refuse, show, stop, table
from treetext.cli.data import data, recipes
from treetext.cli.encode import encode
from treetext.cli.evaluate import evaluate
from treetext.cli.report import report
from treetext.cli.serve import serve
from treetext.cli.texts import parse, predict
from treetext.cli.train import train
from treetext.cli.trees import trees

__all__ = ["Commands", "SetOption", "app", "note", "refuse", "show", "stop", "table"]

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
for command in (train, evaluate, predict, parse, encode, report, serve, analyse, agree, recipes, data, trees):
    app.command()(command)


def _print_version(wanted: bool) -> bool:
    if wanted:
        print(f"treetext {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Text classifiers that induce dependency trees: of words in sentences, and of sentences in documents."""
