"""`treetext report`: a page with a model's scores and trees."""

from pathlib import Path
from typing import Annotated, Any

import typer

from treetext.cli.common import DataSetOption, ModelArgument, Split, load_data, note, open_data, progress, written
from treetext.cli.threads import ThreadsOption, use_threads


def report(
    model: ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(help="Labelled texts: a file, a directory or an archive (default: the model's own data)."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("report.html"),
    split: Annotated[
        Split | None, typer.Option(help="Part of the data (default: test, or all of a file given as DATA).")
    ] = None,
    most: Annotated[int, typer.Option("--documents", min=1, metavar="N", help="Most documents to show.")] = 500,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics/--no-statistics",
            help="Whether to add the statistics of `treetext analyse`, which take longer.",
        ),
    ] = True,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Another model for the statistics, called model 2 and so on; repeatable."),
    ] = None,
    settings: DataSetOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Write a page with scores and trees.

    The page is one HTML file that needs no network. It has scores, learning curves, statistics of the trees, and
    documents with their trees.
    """
    use_threads(threads)
    from treetext.evaluation import analyse
    from treetext.models import load_model
    from treetext.show import analysis_tables
    from treetext.show import report as page

    # Numbers instead of paths of this machine, since reports are shared.
    loaded, others = load_model(model), {f"model {i}": load_model(each) for i, each in enumerate(models or [], start=2)}
    recipe, part = load_data(loaded, data, settings, split, "DATA"), split or Split.TEST
    with progress() as bars, written(out) as stream:
        corpus, _ = open_data(loaded, recipe, part.value, bars)
        more: dict[str, Any] = {} if loaded.levels_with_trees else {"verdict": ["The model has no trees."]}
        if statistics and loaded.levels_with_trees:
            analysis = analyse(loaded, corpus, part.value, others=others, progress=bars.more)
            more = {"tables": analysis_tables(analysis), "verdict": analysis.verdict}
        stream.write(page(loaded, corpus, part.value, most=most, progress=bars.more, **more))
    for line in [*corpus.notes, *corpus.cut(part.value)]:
        note(line)
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB; to see it, open {out.resolve().as_uri()} in a browser")
