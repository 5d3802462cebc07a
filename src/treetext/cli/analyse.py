"""`treetext analyse`."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treetext.cli.common import (
    MOST_SEED,
    DataSetOption,
    JsonOption,
    ModelArgument,
    Split,
    load_data,
    note,
    open_data,
    percent,
    progress,
    show,
    show_json,
    show_tables,
    written,
)
from treetext.cli.threads import ThreadsOption, use_threads

if TYPE_CHECKING:
    from treetext.evaluation import Analysis


def analyse(
    model: ModelArgument,
    data: Annotated[
        str | None, typer.Argument(help="Texts: a file, a directory or an archive (default: the model's own data).")
    ] = None,
    split: Annotated[
        Split | None, typer.Option(help="Part of the data (default: test, or all of a file given as DATA).")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL", help="Another model, such as one of another seed, to compare trees with; repeatable."
        ),
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation/--no-ablation", help="Also label the texts with other marginals.")
    ] = True,
    resamples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Bootstrap samples for confidence intervals.")
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(min=0, max=MOST_SEED, metavar="N", help="Seed of random trees, shuffling and bootstrap samples."),
    ] = 0,
    settings: DataSetOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write all figures to this file as JSON.")
    ] = None,
) -> None:
    """Analyse the trees that a model induces.

    Prints statistics of their shapes, also for the untrained model, random trees, chains and stars; agreement with gold
    trees, if known, and with other models; and the accuracy with other marginals in place of the model's own.
    Ends with a verdict: whether the trees matter for the label, are flat, or are vacuous.
    """
    use_threads(threads)
    from treetext.evaluation import analyse as analyse_trees
    from treetext.models import load_model
    from treetext.show import analysis_tables

    loaded, others = load_model(model), {name: load_model(name) for name in models or []}
    recipe, part = load_data(loaded, data, settings, split, "DATA"), split or Split.TEST
    with progress() as bars, written(out) if out else nullcontext() as stream:
        corpus, seen = open_data(loaded, recipe, part.value, bars)
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
        result = {"model": model, "seen": seen, **analysis.to_dict()}
        if stream:
            stream.write(json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    for line in [*corpus.notes, *corpus.cut(part.value)]:
        note(line)
    if as_json:
        show_json(result)
        return
    print(_summary(analysis))
    show_tables(analysis_tables(analysis))
    show("\nVerdict\n", *analysis.verdict)


def _summary(analysis: "Analysis") -> str:
    """The data and the accuracy in one line."""
    from treetext.data.document import counted
    from treetext.show import scored_texts

    parts = [f"{scored_texts(analysis.data, analysis.split)}: {counted(analysis.documents, 'text')}"]
    if analysis.without_trees:
        parts.append(f"{analysis.without_trees:,} without words")
    if analysis.accuracy:
        value, low, high = analysis.accuracy
        interval = "" if low is None else f" (95% interval {percent(low)} to {percent(high)})"
        parts.append(f"accuracy {percent(value)}{interval}")
    return ", ".join(parts)
