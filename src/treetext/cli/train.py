"""`treetext train` and `treetext evaluate`."""

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetext.cli.common import (
    DataOption,
    DataSetOption,
    JsonOption,
    ModelArgument,
    SetOption,
    Split,
    load,
    load_data,
    note,
    percent,
    progress,
    show,
    show_json,
    stop,
)
from treetext.cli.common import table as new_table

if TYPE_CHECKING:
    from treetext.models import Model
    from treetext.training import Recipe

MODELS = Path("models")


class Accelerator(StrEnum):
    """The hardware to train on."""

    CPU = "cpu"
    GPU = "gpu"
    AUTO = "auto"


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe by its name (see `treetext recipes`) or a TOML file.")],
    data: DataOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to save the model in (default: models/RECIPE).")
    ] = None,
    settings: SetOption = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of weights, dropout and the order of batches.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted training.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Start again, and replace the model in DIR.")] = False,
    devices: Annotated[int, typer.Option(min=1, metavar="N", help="Number of devices to train on.")] = 1,
    accelerator: Annotated[Accelerator, typer.Option(help="Hardware to train on.")] = Accelerator.CPU,
    as_json: JsonOption = False,
) -> None:
    """Train a model with a recipe.

    The model of the best epoch by dev accuracy is saved, with its scores.

    Your own file of texts and labels: treetext train documents/both --data reviews.csv --set data.label=stars
    """
    from treetext.training import Interrupted
    from treetext.training import train as train_model

    loaded = load(recipe, data, settings, {} if seed is None else {"seed": seed})
    out = out or MODELS / loaded.name.replace("/", "-")
    with progress() as bars:
        try:
            model = train_model(
                loaded,
                out,
                resume=resume,
                replace=replace,
                devices=devices,
                accelerator=accelerator.value,
                progress=bars.more,
                say=bars.say,
            )
        except Interrupted as stopped:
            stop(stopped)
    result = _result(model, loaded, out)
    if as_json:
        show_json(result)
    else:
        _show(result, model)


def evaluate(
    model: ModelArgument,
    data: DataOption = None,
    split: Annotated[
        Split | None, typer.Option(help="Part of the data (default: test, or all of a file given by --data).")
    ] = None,
    settings: DataSetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model on labelled texts.

    The texts are the test data of its recipe (default), or others by --data.
    """
    from treetext.data import open_corpus
    from treetext.evaluation import evaluate as score
    from treetext.models import load_model

    loaded = load_model(model)
    recipe, part = load_data(loaded, data, settings, split, "--data"), split or Split.TEST
    with progress() as bars:
        corpus = open_corpus(recipe.data, bars.more)
        evaluation = score(loaded, corpus, part, bars.more)
    for line in corpus.notes:
        note(line)
    counts = [sum(row) for row in evaluation.confusion]
    result = {"model": model, "data": corpus.name, "fingerprint": corpus.fingerprint, **evaluation._asdict()}
    result["majority"] = max(counts) / evaluation.documents
    if as_json:
        show_json(result)
        return
    about = new_table("", "")
    about.show_header = False
    about.add_row("data", f"{corpus.name}, {part}")
    about.add_row("texts", f"{evaluation.documents:,}")
    about.add_row("without words", f"{evaluation.empty:,} (predicted: the most frequent class)")
    about.add_row("accuracy", percent(evaluation.accuracy))
    about.add_row("largest class", percent(result["majority"]))
    headers = [f"as {label}" for label in evaluation.labels]
    confusion = new_table("", *headers, "texts", "right", numbers=[*headers, "texts", "right"])
    for i, (label, row, count) in enumerate(zip(evaluation.labels, evaluation.confusion, counts, strict=True)):
        confusion.add_row(label, *map(str, row), str(count), percent(row[i] / count if count else None))
    show(about, "\nPredicted classes (columns) of the texts of each class (rows)", confusion)


def _result(model: "Model", recipe: "Recipe", out: Path) -> dict[str, Any]:
    scores = model.about["scores"]
    return {
        "recipe": recipe.name,
        "seed": recipe.seed,
        "dev": scores["dev"],
        "test": scores.get("test"),
        "majority": max(model.prior),
        "epoch": model.about["epoch"],
        "seconds": model.about["seconds"],
        "documents": model.about["documents"],
        "labels": model.labels,
        "out": str(out),
    }


def _show(result: dict[str, Any], model: "Model") -> None:
    table = new_table("", "")
    table.show_header = False
    table.add_row("dev accuracy", percent(result["dev"]))
    if result["test"] is not None:
        table.add_row("test accuracy", percent(result["test"]))
    table.add_row("most frequent class (train)", percent(result["majority"]))
    if result["epoch"]:  # none where a model is not trained by gradients
        table.add_row("best epoch", str(result["epoch"]))
    table.add_row("seconds", str(result["seconds"]))
    table.add_row("saved in", result["out"])
    where = quote(result["out"])
    text = model.task.shell
    show(
        table,
        "\nWhat to try next:",
        f"  treetext evaluate {where}",
        f"  {text} | treetext predict {where}",
        f"  {text} | treetext parse {where} --format conllu",
    )
