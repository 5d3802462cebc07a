"""`treetext agree`."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from treetext.cli.common import (
    MOST_SEED,
    JsonOption,
    ModelArgument,
    Split,
    note,
    progress,
    show_json,
    show_tables,
    written,
)
from treetext.cli.threads import ThreadsOption, use_threads


def agree(
    model: ModelArgument,
    treebank: Annotated[str, typer.Argument(help="Trees to compare with: a file, a directory or an archive.")],
    kind: Annotated[
        str | None, typer.Option("--format", help="Format; see `treetext data` (default: detected from the files).")
    ] = None,
    split: Annotated[Split, typer.Option(help="Part of a directory of train, dev and test files.")] = Split.TEST,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Another model, such as one of another seed, to compare with; repeatable."),
    ] = None,
    punctuation: Annotated[
        bool, typer.Option("--punctuation/--no-punctuation", help="Whether to count heads of punctuation.")
    ] = True,
    resamples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Bootstrap samples for confidence intervals.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option(min=0, max=MOST_SEED, metavar="N", help="Seed of random trees and bootstrap samples.")
    ] = 0,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write each tree and its reference to this file as a line of JSON."),
    ] = None,
) -> None:
    """Compare a model's trees with those of a treebank.

    A treebank has trees over words (Universal Dependencies, SNLI's parses) or also over sentences (GUM's discourse
    trees). The model gets the treebank's own words.
    """
    use_threads(threads)
    from treetext.data import read_treebank
    from treetext.evaluation import agreement
    from treetext.models import load_model
    from treetext.show import agreement_tables

    loaded, others = load_model(model), {name: load_model(name) for name in models or []}
    references = read_treebank(treebank, kind, split)
    with progress() as bars, written(out) if out else nullcontext() as stream:
        result = agreement(
            loaded,
            references,
            punctuation=punctuation,
            others=others,
            resamples=resamples,
            seed=seed,
            progress=bars.more,
        )
        if stream:
            stream.writelines(json.dumps(tree.record(), ensure_ascii=False) + "\n" for tree in result.trees)
    for line in result.notes:
        note(line)
    if as_json:
        show_json({"model": model, **result.to_dict()})
    else:
        show_tables(agreement_tables(result))
