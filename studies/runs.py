"""Runs: each trains a model once, and writes its result to a small file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from studies.grid import Run
from treetext.data import BadInput, open_corpus
from treetext.evaluation import gold_recovery
from treetext.models import Model, load_model
from treetext.training import Recipe, load_recipe, train

Say = Callable[[str], object]


class Places(NamedTuple):
    """Directories, and settings that override those of all recipes, for trials."""

    data: Path
    """The directory of all data sets."""
    results: Path
    models: Path
    settings: Mapping[str, Any] = {}
    shipped: Path = Path("src/treetext/models/shipped")
    """The models that come with treetext."""


def recipe_of(run: Run, places: Places) -> Recipe:
    """The recipe of a run, with the paths of the data."""
    source, settings = run.cell.source, {"seed": run.seed, **places.settings}
    if source.path is not None:
        settings["data.path"] = str(_existing(places.data / source.path))
    for key, path in source.files.items():
        settings[key] = str(_existing(places.data / path))
    return load_recipe(run.cell.values, settings)


def do(run: Run, places: Places, say: Say, again: bool = False) -> dict[str, Any]:
    """Train the model of a run, unless that is done (with `again`: in any case). Returns the result."""
    recipe = recipe_of(run, places)
    result = None if again else result_of(run, places)
    if result is not None:
        if _same(load_recipe(result["recipe"]), load_recipe(_portable(recipe, places))):
            return result
        say(f"{run.name}: was run with another recipe; again")
    out = places.models / run.name
    model = None if again else _finished(out, recipe)
    if model is None:
        say(f"{run.name}: training")
        resume = not again and _unfinished(out, recipe)
        model = train(recipe, out, resume=resume, replace=not resume, say=say)
    about = model.about
    result = {
        "run": run.name,
        "recipe": _portable(recipe, places),
        "seed": run.seed,
        "fingerprint": about["fingerprint"],
        "parameters": model.size,
        "dev": about["scores"]["dev"],
        "test": about["scores"]["test"],
        "epoch": about["epoch"],
        "epochs": len(about["curve"]),
        "seconds": about["seconds"],
        "machine": about.get("machine"),  # models of earlier versions lack it
    }
    if run.cell.source.gold:
        recovery = gold_recovery(model, open_corpus(recipe.data))
        result["recovery"] = {
            level: {of: each._asdict() for of, each in shares.items()} for level, shares in recovery.items()
        }
    write(places.results / f"{run.name}.json", result)
    return result


def result_of(run: Run, places: Places) -> dict[str, Any] | None:
    """The result of a run, or None if it is not done."""
    return read(places.results / f"{run.name}.json")


def model_of(run: Run, places: Places) -> Model | None:
    """The model of a finished run, or None if it does not exist."""
    return load_model(places.models / run.name) if version_of(run, places) else None


def version_of(run: Run, places: Places) -> str | None:
    """A hash of the model of a finished run, or None if it does not exist."""
    result, config = result_of(run, places), read(places.models / run.name / "config.json")
    if result is None or config is None or config["about"]["scores"]["test"] != result["test"]:
        return None  # other scores: an old model of a run that was repeated elsewhere
    weights: str = config["sha256"]["model.safetensors"]
    return weights


def read(path: Path) -> dict[str, Any] | None:
    """Read a result, or None if there is no such file."""
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise BadInput(f"{path}: not JSON; expected the result of a run, or no such file") from None
    return result


def write(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    aside.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    aside.replace(path)


def _portable(recipe: Recipe, places: Places) -> dict[str, Any]:
    """The values of a recipe, with paths relative to the directory of all data sets."""
    text = recipe.model_dump_json()
    values: dict[str, Any] = json.loads(text.replace(json.dumps(f"{places.data}/")[1:-1], ""))
    return values


def _finished(out: Path, recipe: Recipe) -> Model | None:
    """A trained model of this recipe whose result is missing, or None."""
    if not (out / "model.safetensors").exists():
        return None
    model = load_model(out)
    return model if _same(load_recipe(model.about["recipe"]), recipe) else None


def _same(recipe: Recipe, other: Recipe) -> bool:
    """Whether two recipes are the same except for their descriptions."""
    return recipe == other.model_copy(update={"about": recipe.about})


def _unfinished(out: Path, recipe: Recipe) -> bool:
    """Whether there is a training of this recipe to resume."""
    started = read(out / "training" / "recipe.json")
    return started is not None and (out / "training" / "last.ckpt").exists() and load_recipe(started) == recipe


def _existing(path: Path) -> Path:
    if not path.exists():
        raise BadInput(f"{path}: no such file or directory; expected it in the directory of all data (--data)")
    return path
