"""`treetext train`."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetext.cli.common import (
    DataOption,
    JsonOption,
    SetOption,
    load,
    percent,
    progress,
    show,
    show_json,
    stop,
    typed,
)
from treetext.cli.common import table as new_table
from treetext.cli.threads import ThreadsOption, use_threads

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
    recipe: Annotated[
        str | None,
        typer.Argument(
            help="A recipe by its name (see `treetext recipes`) or a TOML file (default: documents/default or"
            " pairs/default, by the columns of --data).",
            show_default=False,
        ),
    ] = None,
    data: DataOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to save the model in (default: models/RECIPE).")
    ] = None,
    settings: SetOption = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of weights, dropout and the order of batches.")
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            "--start-from", metavar="MODEL", help="Start with the weights of a model: a directory, or one that ships."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Train N times, with values of the ranges in the recipe's section [search], and keep the best model"
            " by dev accuracy.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted training or search.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Start again, and replace the model in DIR.")] = False,
    devices: Annotated[int, typer.Option(min=1, metavar="N", help="Number of devices to train on.")] = 1,
    accelerator: Annotated[Accelerator, typer.Option(help="Hardware to train on.")] = Accelerator.CPU,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model with a recipe.

    The model of the epoch that the recipe keeps (best by dev accuracy, or last) is saved, with its scores.

    Your own file of texts and labels: treetext train --data reviews.csv
    """
    use_threads(threads, devices)
    from treetext.training import Interrupted, search
    from treetext.training import train as train_model

    loaded = load(recipe, data, settings, {} if seed is None else {"seed": seed})
    out = out or MODELS / loaded.name.replace("/", "-")
    with progress() as bars:
        try:
            model = (partial(search, trials=trials) if trials else train_model)(
                loaded,
                out,
                start_from=start_from,
                resume=resume,
                replace=replace,
                devices=devices,
                accelerator=accelerator.value,
                progress=bars.more,
                say=bars.say,
                command=typed(),
            )
        except Interrupted as stopped:
            stop(stopped)
    result = _result(model, loaded, out)
    if as_json:
        show_json(result)
    else:
        _show(result, model)


def _result(model: "Model", recipe: "Recipe", out: Path) -> dict[str, Any]:
    about = model.about
    searched = about.get("trials")
    return {
        "recipe": recipe.name,
        "seed": recipe.seed,
        "dev": about["scores"]["dev"],
        "test": about["scores"].get("test"),
        "majority": max(model.prior),
        "measures": about["measures"],
        "baselines": about.get("baselines") or {},
        "epoch": about["epoch"],
        "seconds": about["seconds"],
        "documents": about["documents"],
        "labels": model.labels,
        **(
            {"trials": len(about["trials"]), "chosen": about["trials"][about["trial"] - 1]["values"]}
            if searched
            else {}
        ),
        "out": str(out),
    }


def _show(result: dict[str, Any], model: "Model") -> None:
    names = {"majority": "most frequent class", "bag of words": "bag of words"}
    baselines = {names[name]: measured for name, measured in result["baselines"].items()}
    headers = ("accuracy", "macro-F1", *baselines)
    scores = new_table("", *headers, numbers=headers)
    for split, measures in result["measures"].items():
        values = (result[split], measures["macro_f1"], *(measured.get(split) for measured in baselines.values()))
        scores.add_row(split, *map(percent, values))
    table = new_table("", "")
    table.show_header = False
    if result["epoch"]:  # none where a model is not trained by gradients
        table.add_row("epoch", str(result["epoch"]))
    table.add_row("seconds", str(result["seconds"]))
    if "trials" in result:
        table.add_row("trials", str(result["trials"]))
        for key, value in result["chosen"].items():
            table.add_row(key, str(value))
    table.add_row("saved in", result["out"])
    where = quote(result["out"])
    text = model.task.shell
    show(
        scores,
        "",
        table,
        "\nWhat to try next:",
        f"  treetext evaluate {where}" + ("" if "test" in result["measures"] else " --split dev"),
        f"  {text} | treetext predict {where}",
        f"  {text} | treetext parse {where} --format conllu",
    )
