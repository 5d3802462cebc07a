"""`treetext analyse`."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from treetext.cli._common import JsonOption, SetOption, note, progress, show, show_json
from treetext.cli._common import table as new_table
from treetext.cli._texts import Model, _opened
from treetext.cli._train import Split, _data


def analyse(
    model: Model,
    data: Annotated[
        str | None, typer.Argument(help="Texts: a file, a directory or an archive; the model's own unless told.")
    ] = None,
    split: Annotated[
        Split | None, typer.Option(help="Which part of the data: test unless told; of a file by DATA, all of it.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Another model, as of another seed, to compare the trees with; repeatable."),
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation/--no-ablation", help="Whether to label the texts with other marginals, too.")
    ] = True,
    resamples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of the bootstrap, for confidence intervals.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of random trees and of all that is drawn.")] = 0,
    settings: SetOption = None,
    as_json: JsonOption = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write all figures there, as JSON.")] = None,
) -> None:
    """Judge the trees that a model induces.

    Statistics of their shapes beside those of the untrained model, of random trees, chains and stars; agreement with
    gold trees where these are known, and with other models; and labels with other marginals in the place of its own.
    """
    from treetext.analysis import analyse as analyse_trees
    from treetext.models import load_model
    from treetext.training import open_corpus

    loaded, others = load_model(model), {name: load_model(name) for name in models or []}
    found, part = _data(loaded, data, settings, split), split or Split.TEST
    with progress() as bars, _opened(out) if out else nullcontext() as stream:
        corpus = open_corpus(found.data, bars.more)
        analysis = analyse_trees(
            loaded,
            corpus,
            part.value,
            others=others,
            ablation=ablation,
            resamples=resamples,
            seed=seed,
            progress=bars.more,
        )
        result = {"model": model, **analysis.to_dict()}
        if stream:
            stream.write(json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    for line in corpus.notes:
        note(line)
    if as_json:
        show_json(result)
        return
    for title, columns, rows, remark in analysis.tables():
        table = new_table(*columns, numbers=columns[1:])
        for row in rows:
            table.add_row(*map(_cell, row))
        show(f"\n{title}\n", table, f"\n{remark}")


def _cell(value: str | float | None) -> str:
    """Numbers with the digits that all of their kind have."""
    return "–" if value is None else value if isinstance(value, str) else f"{value:.2f}"
