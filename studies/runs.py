"""Runs: each trains a model, once, and leaves a small file of what came out."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from treetext.analysis import gold_recovery
from treetext.models import Classifier, load_model
from treetext.reproduce._plan import Run
from treetext.text import BadInput
from treetext.training import Recipe, load_recipe, open_corpus, train


class Places(NamedTuple):
    """Directories: of all data, of the results, of the models, and of those that ship; settings of all recipes."""

    data: Path
    results: Path
    models: Path
    settings: Mapping[str, Any] = {}
    """For trials."""
    shipped: Path = Path("src/treetext/models/shipped")


def recipe_of(run: Run, places: Places) -> Recipe:
    """The recipe of a run, with the data where they are."""
    settings = {"seed": run.seed, **places.settings}
    if run.source.path is not None:
        settings["data.path"] = str(_existing(places.data / run.source.path))
    for key, path in run.source.settings.items():
        settings[key] = str(_existing(places.data / path))
    return load_recipe(run.recipe, settings)


def do(run: Run, places: Places, say: Callable[[str], object]) -> dict[str, Any]:
    """Train what a run asks for, unless that is done; its result."""
    recipe = recipe_of(run, places)
    found = result_of(run, places)
    if found is not None:
        if _same(Recipe.model_validate(found["recipe"]), Recipe.model_validate(_portable(recipe, places))):
            return found  # settings that came later had their defaults
        say(f"{run.name}: was run with another recipe; again")
    out = places.models / run.name
    model = _finished(out, recipe)
    if model is None:
        say(f"{run.name}: training")
        resume = _unfinished(out, recipe)
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
        "machine": about.get("machine"),  # models of earlier versions do not say
    }
    if recipe.data.format == "hidden-trees":
        recovery = gold_recovery(model, open_corpus(recipe.data))
        result["recovery"] = {
            level: {of: each._asdict() for of, each in shares.items()} for level, shares in recovery.items()
        }
    write(places.results / f"{run.name}.json", result)
    return result


def result_of(run: Run, places: Places) -> dict[str, Any] | None:
    """What came out of a run, if it is done."""
    return read(places.results / f"{run.name}.json")


def model_of(run: Run, places: Places) -> Classifier | None:
    """The model of a run that is done, if it is still there."""
    return load_model(places.models / run.name) if version_of(run, places) else None


def version_of(run: Run, places: Places) -> str | None:
    """What tells the model of a run that is done from others of the same run, if it is still there."""
    result, config = result_of(run, places), read(places.models / run.name / "config.json")
    if result is None or config is None or config["about"]["scores"]["test"] != result["test"]:
        return None  # the last: a model from before the run was done anew elsewhere
    weights: str = config["sha256"]["model.safetensors"]
    return weights


def read(path: Path) -> dict[str, Any] | None:
    """A result, if there is one."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise BadInput(f"{path}: not JSON; expected the result of a run, or no such file") from None
    return found


def write(path: Path, result: dict[str, Any]) -> None:
    """Save a result, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    aside.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    aside.replace(path)


def _portable(recipe: Recipe, places: Places) -> dict[str, Any]:
    """A recipe whose files are named as in the directory of all data."""
    text = recipe.model_dump_json()
    found: dict[str, Any] = json.loads(text.replace(json.dumps(f"{places.data}/")[1:-1], ""))
    return found


def _finished(out: Path, recipe: Recipe) -> Classifier | None:
    """The model of a run whose result was lost on the way."""
    if not (out / "model.safetensors").exists():
        return None
    model = load_model(out)
    return model if _same(Recipe.model_validate(model.about["recipe"]), recipe) else None


def _same(recipe: Recipe, other: Recipe) -> bool:
    """Whether two recipes lead to the same model, whatever they say of it."""
    return recipe == other.model_copy(update={"about": recipe.about})


def _unfinished(out: Path, recipe: Recipe) -> bool:
    """Whether a training of this very recipe can go on."""
    started = out / "training" / "recipe.json"
    return (out / "training" / "last.ckpt").exists() and started.exists() and load_recipe(started) == recipe


def _existing(path: Path) -> Path:
    if not path.exists():
        raise BadInput(f"{path}: no such file or directory; expected it in the directory of all data (--data)")
    return path
