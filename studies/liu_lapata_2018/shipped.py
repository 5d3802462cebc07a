"""The models that ship with treetext: for each name, the best run by dev accuracy, made smaller."""

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from studies.grid import Run
from studies.liu_lapata_2018.grid import GRID
from studies.markdown import NOT_RUN, markdown
from studies.runs import Places, Say, recipe_of, result_of, version_of
from treetext.data import BadInput, Corpus, open_corpus
from treetext.evaluation import evaluate
from treetext.models import load_model, save_model, shrink
from treetext.models.words import WordModel

CANDIDATES = {
    name: [GRID.run(cell, seed) for cell in cells for seed in range(1, GRID.cells[cell].seeds + 1)]
    for name, cells in {
        "debates": ("debates/ours-both",),  # has trees at both levels
        "snli": ("snli/ours-nonprojective", "snli/ours-projective"),
        "czech": ("czech/ours-both",),
    }.items()
}
MOST_BYTES, MOST_LOSS = 10_000_000, 0.005
ROOM = 1_000  # bytes for the lines on the smaller model in its card


def ship(places: Places, before: dict[str, Any], say: Say) -> dict[str, Any]:
    """Save small copies of the best models. Names without a trained model keep what was saved before."""
    made = {}
    for name, runs in CANDIDATES.items():
        there = {run: result["dev"] for run in runs if (result := _result(run, places)) is not None}
        if there:
            run = max(there, key=there.__getitem__)
            say(f"{name}: {run.name}, the best by dev of {len(there)}")
            corpus = open_corpus(recipe_of(run, places).data)
            model = load_model(places.models / run.name)
            assert isinstance(model, WordModel)  # all candidates have a vocabulary to shrink
            made[name] = small_copy(model, corpus, name, run)
    for name, model in made.items():  # after all copies are made, so an error leaves all as they were
        save_model(model, places.shipped / name, replace=True, half=True)
    return {
        "models": before.get("models", {}) | {name: _row(model, places.shipped / name) for name, model in made.items()}
    }


def small_copy(model: WordModel, corpus: Corpus, name: str, run: Run, most: int = MOST_BYTES) -> WordModel:
    """A copy in half precision with at most `most` bytes and about the same dev accuracy; may leave out rare words."""
    full, words = model.about["scores"]["dev"], len(model.vocabulary)
    while True:
        small = shrink(model, words)
        with TemporaryDirectory() as folder:
            save_model(small, folder, half=True)
            dev = evaluate(load_model(folder), corpus, "dev").accuracy
            excess = _bytes(Path(folder)) + ROOM - most
        if dev < full - MOST_LOSS:
            step = f"{words:,} of {len(model.vocabulary):,} words in half precision"
            fall = f"dev accuracy falls from {100 * full:.1f} to {100 * dev:.1f}"
            raise BadInput(f"{run.name}: with {step}, {fall}; expected at most {100 * MOST_LOSS:g} points less")
        if excess <= 0:
            small.about = _about(model, name, run, words, dev)
            return small
        words = _fewer(small, excess)
        if words < 3:
            raise BadInput(f"{run.name}: too large even without words; expected one that fits into {most:,} bytes")


def shown_shipped(saved: dict[str, Any] | None) -> str:
    """A table with a row for each shipped model."""
    rows = []
    for name in CANDIDATES:
        model = (saved or {}).get("models", {}).get(name)
        cells = [NOT_RUN] * 5
        if model:
            scores = (f"{100 * model[of]:.1f}" for of in ("full", "dev"))
            cells = [f"`{model['run']}`", *scores, f"{model['words']:,} of {model['of']:,}", f"{model['bytes']:,}"]
        rows.append([f"`{name}`", *cells])
    note = (
        "Of the runs with trees (of documents, at both levels), those that are best on dev data come with treetext, in"
        " half precision and, where that takes more than 10 MB, without their rarest words. Test data are not scored"
        " again.\n\n"
    )
    return note + markdown(["", "run", "dev, full model", "dev, as shipped", "words", "bytes"], rows)


def _result(run: Run, places: Places) -> dict[str, Any] | None:
    """The result of a run, or None if its model does not exist."""
    return result_of(run, places) if version_of(run, places) else None


def _fewer(model: WordModel, excess: int) -> int:
    """The number of words that remain after the last ones are dropped to save `excess` bytes."""
    words, vector = model.vocabulary.words, 2 * model.settings.embedding
    kept = len(words)
    while excess > 0 and kept > 0:
        kept -= 1
        excess -= vector + len(f"{words[kept]}\n".encode())
    return kept


def _about(model: WordModel, name: str, run: Run, words: int, dev: float) -> dict[str, Any]:
    """The origin of the model, without the directories of this machine."""
    about = copy.deepcopy(model.about)
    about["data"] = Path(about["data"]).name
    for key, section in about["recipe"].items():
        if isinstance(section, dict):
            about["recipe"][key] = _without_folders(section)
    about["command"] = GRID.command(run)
    known = {"name": name, "run": run.name, "dev": dev, "words": words, "of": len(model.vocabulary)}
    return {**about, "shipped": {**known, "precision": "float16"}}


def _without_folders(value: Any) -> Any:
    """A section of a recipe, with existing paths replaced by the names of their files."""
    if isinstance(value, dict):
        return {key: _without_folders(each) for key, each in value.items()}
    return Path(value).name if isinstance(value, str) and Path(value).exists() else value


def _row(model: WordModel, place: Path) -> dict[str, Any]:
    return {**model.about["shipped"], "full": model.about["scores"]["dev"], "bytes": _bytes(place)}


def _bytes(place: Path) -> int:
    return sum(file.stat().st_size for file in place.iterdir())
