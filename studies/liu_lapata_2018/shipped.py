"""The models that ship with treetext: of each task, the best by dev accuracy, made small."""

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
        "debates": ("debates/ours-both",),  # which has trees of both kinds to show
        "snli": ("snli/ours-nonprojective", "snli/ours-projective"),
        "czech": ("czech/ours-both",),
    }.items()
}
MOST_BYTES, MOST_LOSS = 10_000_000, 0.005
ROOM = 1_000  # bytes, for what the card says of the smaller model


def ship(places: Places, before: dict[str, Any], say: Say) -> dict[str, Any]:
    """Write the best models that are there, small; where there are none, what was written before stays."""
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
    for name, model in made.items():  # all of them, or none
        save_model(model, places.shipped / name, replace=True, half=True)
    return {
        "models": before.get("models", {}) | {name: _row(model, places.shipped / name) for name, model in made.items()}
    }


def small_copy(model: WordModel, corpus: Corpus, name: str, run: Run, most: int = MOST_BYTES) -> WordModel:
    """In half precision of no more bytes than `most`, if need be by leaving out rare words, and as good on dev."""
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
    """A row for each name."""
    rows = []
    for name in CANDIDATES:
        found = (saved or {}).get("models", {}).get(name)
        cells = [NOT_RUN] * 5
        if found:
            scores = (f"{100 * found[of]:.1f}" for of in ("full", "dev"))
            cells = [f"`{found['run']}`", *scores, f"{found['words']:,} of {found['of']:,}", f"{found['bytes']:,}"]
        rows.append([f"`{name}`", *cells])
    note = (
        "Of the runs with trees (of documents, at both levels), those that are best on dev data come with treetext, in"
        " half precision and, where that takes more than 10 MB, without their rarest words. Test data are not scored"
        " again.\n\n"
    )
    return note + markdown(["", "run", "dev, full model", "dev, as shipped", "words", "bytes"], rows)


def _result(run: Run, places: Places) -> dict[str, Any] | None:
    """What came out of a run whose model is still there."""
    return result_of(run, places) if version_of(run, places) else None


def _fewer(model: WordModel, excess: int) -> int:
    """How many words stay, when the last ones go until so many bytes are gone."""
    words, vector = model.vocabulary.words, 2 * model.settings.embedding
    kept = len(words)
    while excess > 0 and kept > 0:
        kept -= 1
        excess -= vector + len(f"{words[kept]}\n".encode())
    return kept


def _about(model: WordModel, name: str, run: Run, words: int, dev: float) -> dict[str, Any]:
    """Where it comes from, without the directories of this machine."""
    about = copy.deepcopy(model.about)
    about["data"] = Path(about["data"]).name
    for name, section in about["recipe"].items():
        if isinstance(section, dict):
            about["recipe"][name] = _without_folders(section)
    about["command"] = GRID.command(run)
    known = {"name": name, "run": run.name, "dev": dev, "words": words, "of": len(model.vocabulary)}
    return {**about, "shipped": {**known, "precision": "float16"}}


def _without_folders(value: Any) -> Any:
    """A section of a recipe in which files that are here are called by their names alone."""
    if isinstance(value, dict):
        return {key: _without_folders(each) for key, each in value.items()}
    return Path(value).name if isinstance(value, str) and Path(value).exists() else value


def _row(model: WordModel, place: Path) -> dict[str, Any]:
    return {**model.about["shipped"], "full": model.about["scores"]["dev"], "bytes": _bytes(place)}


def _bytes(place: Path) -> int:
    return sum(file.stat().st_size for file in place.iterdir())
