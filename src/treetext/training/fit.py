"""The whole of training: from a recipe to a model on disk."""

import json
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from shlex import quote
from typing import Any, NamedTuple

import torch

from treetext.data import BadInput, Corpus, Progress, open_corpus
from treetext.data.document import dotted
from treetext.data.memory import InMemory
from treetext.evaluation import evaluate
from treetext.evaluation.scores import first_labels
from treetext.models import Model, check_free, find_model, load_model, save_model
from treetext.models.transfer import take_over
from treetext.training.baselines import measure_baselines
from treetext.training.machine import machine
from treetext.training.objectives import class_weights
from treetext.training.recipe import Recipe, load_recipe
from treetext.training.sizes import sized
from treetext.training.start import start_recipe

SIZED = "sized.json"
"""The file with the recipe after the data have chosen the values of its ``auto``."""
FINGERPRINT = "fingerprint.txt"
"""The file with the fingerprint of the data, beside the recipe of a training."""
START_FROM = "start_from.json"
"""The file with the name of the model that a training started from, or null, beside its recipe."""
TRIALS = "trials/trials.jsonl"
"""The file with the finished trials of a search, in a folder with the best model so far, until the search ends."""


class Interrupted(Exception):  # noqa: N818
    """The user stopped the training. The message says how to resume."""


class Fitted(NamedTuple):
    """The epoch that is kept, its dev accuracy, and the loss and accuracy of all epochs."""

    epoch: int
    dev: float
    curve: list[dict[str, Any]]


def train(
    recipe: str | Path | Recipe,
    out: str | Path,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 (as the option of the command)
    texts: Any = None,
    labels: Any = None,
    data: Any = None,
    dev: Any = None,
    test: Any = None,
    start_from: str | Path | None = None,
    resume: bool = False,
    replace: bool = False,
    devices: int | str = 1,
    accelerator: str = "cpu",
    progress: Progress | None = None,
    say: Any = None,
    command: str | None = None,
    trial: bool = False,
) -> Model:
    """Train a model, keep the best epoch by dev accuracy or the last one, score it once on test, save and return it.

    `recipe` is the name of a recipe of the package, a file, or a `Recipe`; `set` replaces values in it. Columns that it
    does not name are recognised, and the recipe that is saved with the model names them. Checkpoints
    and logs are in ``out/training``. With `resume`, training continues from there. `say` is a callback that gets
    remarks (default: print them to standard error). `command` is the shell command for this, for the model card.

    Data in memory replace those of the recipe: lists of `texts` and `labels`, or `data`, a DataFrame or another table
    whose columns are recognised as those of a file. `dev` and `test` are tuples (texts, labels) or tables; without
    them, treetext splits the data. A copy is kept in ``out/training/data``, for `resume` and for later evaluations.

    `start_from` is a trained model of the same kind (a directory, or the name of one that ships) whose weights are the
    initial ones. Sizes and other settings of these weights are those of the trained model. The last layer, for the new
    labels, and the vectors of words that the trained model does not know are those of a new model.

    A `trial` is one of several trainings to choose from, as in `search`. It scores neither test data nor baselines, and
    prints no epochs.
    """
    out = Path(out)
    memory = InMemory.of(out / "training" / "data", texts, labels, data, dev, test)
    recipe = load_recipe(recipe, {**(set or {}), **memory.settings} if memory else set)
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    check_free(out, replace or resume)
    check_finished(out, replace or resume)
    source = None if start_from is None else load_model(start_from)
    recipe = start_recipe(recipe, source, str(start_from), say) if source else recipe
    task = find_model({"kind": recipe.model.kind}).task
    if memory and not resume:  # a training that goes on has its copy
        memory.write(task)
    recipe = recipe.model_copy(update={"data": recipe.data.recognised(say, task)})
    if resume:
        _check_checkpoint(out / "training")
        check_same(recipe, out / "training", start_from)
    corpus = open_corpus(recipe.data, progress)
    if resume:
        check_same_data(corpus, out / "training")
    started = recipe
    if recipe.auto and resume:
        recipe = load_recipe(out / "training" / SIZED)
    elif recipe.auto:
        _check_trainable(corpus)
        recipe, lines = sized(recipe, corpus)
        for line in lines:
            say(line)
    model = new_model(recipe, corpus, progress, say)
    taken = take_over(model, source) if source else None
    if taken:
        say(f"taken over from {start_from}: {taken}")
    if not resume:
        clear(out / "training")
        keep_start(started, corpus, out / "training", start_from)
        (out / "training" / SIZED).write_text(recipe.model_dump_json(indent=2) + "\n", encoding="utf-8")
    baselines: dict[str, dict[str, float]] = {}
    try:
        if model.by_gradients and recipe.training.baselines and not trial:
            baselines = measure_baselines(corpus, progress, say)
        fitted, start = _fit(model, recipe, corpus, out, resume, devices, accelerator, progress, quiet=trial)
        model.finish(corpus, progress, say, class_weights(recipe.training.class_weights, corpus, model.labels))
        splits = [split for split in ("dev", *([] if trial else ["test"])) if len(corpus.rows[split])]
        measured = {split: evaluate(model, corpus, split) for split in splits}
    except KeyboardInterrupt:
        raise Interrupted(_how_to_resume(out / "training")) from None
    model.about = {
        "recipe_name": recipe.name,
        "recipe": recipe.model_dump(mode="json"),
        "seed": recipe.seed,
        "data": corpus.name,
        **({"in_memory": True} if memory else {}),
        **({"start_from": {"model": str(start_from), "taken": str(taken)}} if taken else {}),
        "fingerprint": corpus.fingerprint,
        "fingerprints": {split: corpus.split_fingerprint(split) for split in corpus.rows},
        "documents": {split: len(rows) for split, rows in corpus.rows.items()},
        "epoch": fitted.epoch,
        "seconds": round(sum(epoch["seconds"] for epoch in fitted.curve) + time.perf_counter() - start, 1),
        "curve": fitted.curve,
        "machine": machine(),
        "scores": {split: each.accuracy for split, each in measured.items()},
        "measures": {split: each.summary() for split, each in measured.items()},
        **({"command": command} if command else {}),
        "baselines": baselines,
    }
    model.splits = corpus.hashes
    save_model(model.eval(), out, replace=True)
    for checkpoint in (out / "training").glob("*.ckpt"):  # kept until here, in case the model cannot be saved
        checkpoint.unlink()
    if not trial:
        say_missing(model, out, say)
    return model


def say_missing(model: Model, out: Path, say: Any) -> None:
    """Say which classes of the dev data a trained model never predicts."""
    if missing := model.about["measures"]["dev"]["never_predicted"]:
        see = f"see `treetext evaluate {quote(str(out))} --split dev`"
        say(f"never predicted on dev: {first_labels(missing)}; {see}")


def new_model(recipe: Recipe, corpus: Corpus, progress: Progress | None = None, say: Any = None) -> Model:
    """An untrained model for a corpus."""
    _check_trainable(corpus)
    torch.manual_seed(recipe.seed)
    for line in [*corpus.notes, *corpus.remarks] if say else ():
        say(line)
    cls = find_model({"kind": recipe.model.kind})
    model = cls.for_corpus(recipe.model, corpus, seed=recipe.seed, progress=progress, say=say)
    if say:
        say(_summary(corpus, model))
    return model


def _fit(
    model: Model,
    recipe: Recipe,
    corpus: Corpus,
    out: Path,
    resume: bool,
    devices: int | str,
    accelerator: str,
    progress: Progress | None,
    quiet: bool,
) -> tuple[Fitted, float]:
    """Train by gradients or by the model's own `fit`. Also returns the start of the time that no epoch includes."""
    if model.by_gradients:
        from treetext.training.loop import fit  # takes seconds to import

        fitted = Fitted(*fit(model, recipe, corpus, out / "training", resume, devices, accelerator, quiet))
        return fitted, time.perf_counter()
    start = time.perf_counter()
    model.fit(corpus, progress)
    return Fitted(0, evaluate(model, corpus, "dev", progress).accuracy, []), start


def clear(folder: Path) -> None:
    """Delete the checkpoints of a training, and the trials of a search, that was interrupted."""
    shutil.rmtree((folder / TRIALS).parent, ignore_errors=True)
    for old in folder.glob("*.ckpt"):
        old.unlink()


def keep_start(recipe: Recipe, corpus: Corpus, folder: Path, start_from: str | Path | None) -> None:
    """Keep what a training or a search was started with, for `check_same` and `check_same_data`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(recipe.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / FINGERPRINT).write_text(corpus.fingerprint + "\n", encoding="utf-8")
    (folder / START_FROM).write_text(json.dumps(_name(start_from)) + "\n", encoding="utf-8")


def _how_to_resume(folder: Path) -> str:
    if (folder / "last.ckpt").exists():
        return f"stopped; {folder} holds all whole epochs: the same command with --resume continues"
    return "stopped in the first epoch: nothing to resume from"


def _check_trainable(corpus: Corpus) -> None:
    """Raise `BadInput` unless there are two classes or more, no others in dev and test, and words in train and dev."""
    corpus.check_labels(corpus.classes)
    for split in ("train", "dev"):
        if not len(corpus.whole(split)):
            remark, shares = "", corpus.data.split
            if not shares[("train", "dev").index(split)]:
                remark = f": its share is 0 in data.split={list(shares)}"
            elif corpus.data.stratify and not len(corpus.rows[split]):
                remark = ": copies of a text stay together unless data.stratify=false"
            raise BadInput(f"{corpus.name}: no text with words in {split}; expected at least one{remark}")


def check_finished(out: Path, allowed: bool) -> None:
    """Raise `BadInput` if a directory holds a training or a search that was interrupted, unless that is allowed."""
    for what, file in {"training": "last.ckpt", "search": TRIALS}.items():
        if (out / "training" / file).exists() and not allowed:
            expected = "expected --resume to go on, or --replace to start again"
            raise BadInput(f"{out}: holds an unfinished {what}; {expected}")


def _check_checkpoint(folder: Path) -> None:
    """Raise `BadInput` unless there is a checkpoint to resume from."""
    if not (folder / "last.ckpt").exists():
        raise BadInput(f"{folder}: no checkpoint to resume from; expected a training that was interrupted")
    try:
        torch.load(folder / "last.ckpt", "cpu", weights_only=True, mmap=True)
    except (EOFError, RuntimeError, UnpicklingError):
        raise BadInput(f"{folder / 'last.ckpt'}: damaged; expected a whole checkpoint, or --replace") from None


def check_same(recipe: Recipe, folder: Path, start_from: str | Path | None) -> None:
    """Raise `BadInput` if a training or a search was started from another model, or with another recipe."""
    kept, origin = folder / START_FROM, _name(start_from)
    first = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else origin  # not kept by earlier versions
    before = {"--start-from": first, **dict(dotted(load_recipe(folder / "recipe.json").model_dump(mode="json")))}
    now = {"--start-from": origin, **dict(dotted(recipe.model_dump(mode="json")))}
    for key in before | now:
        if before.get(key) != now.get(key):
            was, got = ("unset" if each is None else json.dumps(each) for each in (before.get(key), now.get(key)))
            expected = "expected the same values to resume, or --replace"
            raise BadInput(f"{folder}: was started with {key} = {was}, got {got}; {expected}")


def check_same_data(corpus: Corpus, folder: Path) -> None:
    """Raise `BadInput` if the data have changed since the training was started. Earlier versions did not keep that."""
    path = folder / FINGERPRINT
    if path.exists() and path.read_text(encoding="utf-8").strip() != corpus.fingerprint:
        expected = "expected the same data to resume, or --replace"
        raise BadInput(f"{folder}: {corpus.name} has changed since the training was started; {expected}")


def _name(start_from: str | Path | None) -> str | None:
    return None if start_from is None else str(start_from)


def _summary(corpus: Corpus, model: Model) -> str:
    sizes = ", ".join(f"{len(rows):,} {split}" for split, rows in corpus.rows.items())
    empty = {split: len(rows) - len(corpus.whole(split)) for split, rows in corpus.rows.items()}
    remark = "".join(f", {n} of {split} without words (predicted: the prior)" for split, n in empty.items() if n)
    facts = model.facts() if model.by_gradients else {}  # others have no size before `fit`
    listed = "".join(f"; {name}: {fact}" for name, fact in facts.items())
    return f"{sizes} texts{remark}; {len(model.labels)} classes{listed}"
