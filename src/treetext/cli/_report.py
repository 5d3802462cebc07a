"""`treetext report`: a page to look at a model's scores and trees."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetext.cli._common import SetOption, note, progress
from treetext.cli._texts import _opened
from treetext.cli._train import Split, _data

if TYPE_CHECKING:
    from treetext.models import Classifier


def report(
    model: Annotated[str, typer.Argument(help="The directory of a model, or its name on the hub.")],
    data: Annotated[
        str | None, typer.Argument(help="Labelled texts: a file, a directory or an archive; unless told, its own.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("report.html"),
    split: Annotated[
        Split | None, typer.Option(help="Which part of the data: test unless told; of a file by DATA, all of it.")
    ] = None,
    most: Annotated[
        int, typer.Option("--documents", min=1, metavar="N", help="How many documents to show, at most.")
    ] = 500,
    statistics: Annotated[
        bool, typer.Option("--statistics/--no-statistics", help="With those of `treetext analyse`, which take longer.")
    ] = True,
    settings: SetOption = None,
) -> None:
    """Write a page with scores and trees.

    It is one HTML file that needs no network: scores, learning curves, statistics of the trees, and the documents, each
    with its trees.
    """
    from treetext.models import load_model
    from treetext.show import report as page
    from treetext.training import open_corpus

    loaded = load_model(model)
    found, part = _data(loaded, data, settings, split), split or Split.TEST
    with progress() as bars, _opened(out) as stream:
        corpus = open_corpus(found.data, bars.more)
        tables: Any = ()
        if statistics and has_trees(loaded):
            from treetext.analysis import analyse

            tables = analyse(loaded, corpus, part.value, progress=bars.more).tables()
        stream.write(page(loaded, corpus, part.value, tables=tables, most=most, progress=bars.more))
    for line in corpus.notes:
        note(line)
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB; to see it, open {out.resolve().as_uri()} in a browser")


def has_trees(model: "Classifier") -> bool:
    """Whether the model induces trees at all."""
    levels = (getattr(model.settings, name, None) for name in ("words", "sentences"))
    return any(level is not None and level.attention in ("projective", "nonprojective") for level in levels)
