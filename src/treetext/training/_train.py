"""Training and evaluation, whole: from a recipe to a model on disk."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch

from treetext.models import Classifier, DocumentClassifier, PairClassifier
from treetext.models._files import check_free
from treetext.text import BadInput
from treetext.training._corpus import Corpus, Progress, open_corpus
from treetext.training._evaluate import evaluate
from treetext.training._machine import machine
from treetext.training._recipe import Recipe, load_recipe


class Interrupted(Exception):  # noqa: N818
    """Training was stopped by the user; the message says how to go on."""


def train(
    recipe: str | Path | Recipe,
    out: str | Path,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 (as the option of the command)
    resume: bool = False,
    replace: bool = False,
    devices: int | str = 1,
    accelerator: str = "cpu",
    progress: Progress | None = None,
    say: Any = None,
) -> Classifier:
    """Train a model, choose the best epoch by dev accuracy, score it once on the test data, save it, return it.

    `recipe` is the name of one of the package's, a file, or a `Recipe`; `set` replaces values in it. The training's
    checkpoints and logs are in ``out/training``; with `resume`, it goes on from there.
    """
    from treetext.training._fit import fit  # takes seconds to import

    found, out = load_recipe(recipe, set), Path(out)
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    check_free(out, replace or resume)
    checkpoint = out / "training" / "last.ckpt"
    if resume:
        found = _check_same(found, out)
    elif checkpoint.exists() and not replace:
        raise BadInput(f"{out}: holds an unfinished training; expected --resume to go on, or --replace to start again")
    corpus = open_corpus(found.data, progress)
    model = new_model(found, corpus, progress, say)
    if not resume:
        (out / "training").mkdir(parents=True, exist_ok=True)
        for old in (out / "training").glob("*.ckpt"):
            old.unlink()
        (out / "training" / "recipe.json").write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    try:
        fitted = fit(model, found, corpus, out / "training", resume, devices, accelerator)
        start = time.perf_counter()
        test = evaluate(model, corpus, "test") if len(corpus.rows["test"]) else None
    except KeyboardInterrupt:
        raise Interrupted(_how_to_resume(out / "training")) from None
    model.about = {
        "recipe_name": found.name,
        "recipe": found.model_dump(mode="json"),
        "seed": found.seed,
        "data": found.data.path or found.data.train or found.data.format,
        "fingerprint": corpus.fingerprint,
        "documents": {split: len(rows) for split, rows in corpus.rows.items()},
        "epoch": fitted.epoch,
        "seconds": round(sum(epoch["seconds"] for epoch in fitted.curve) + time.perf_counter() - start, 1),
        "curve": fitted.curve,
        "machine": machine(),
        "scores": {"dev": fitted.dev, **({"test": test.accuracy} if test else {})},
    }
    model.save_pretrained(out, replace=True)
    for checkpoint in (out / "training").glob("*.ckpt"):  # until here, a training that could not be saved goes on
        checkpoint.unlink()
    return model


def new_model(recipe: Recipe, corpus: Corpus, progress: Progress | None = None, say: Any = None) -> Classifier:
    """An untrained model for a corpus: its vocabulary, its classes, its word vectors."""
    classes = corpus.classes
    corpus.check_labels(classes)
    cls: type[Any] = PairClassifier if recipe.model.task == "pairs" else DocumentClassifier
    for split in ("train", "dev"):
        rows = corpus.rows[split]
        if not cls.is_whole(corpus.encoded.sentence_counts[rows]).any():
            raise BadInput(f"{corpus.name}: no text with words in {split}; expected at least one")
    torch.manual_seed(recipe.seed)
    vocabulary = corpus.vocabulary(recipe.vocabulary)
    vectors, note = corpus.vectors(recipe.vocabulary, vocabulary, recipe.model.embedding, recipe.seed, progress)
    targets = corpus.targets(classes)[corpus.rows["train"]]
    prior = np.bincount(targets, minlength=len(classes)) / len(targets)
    model: Classifier = cls(recipe.model, vocabulary, classes, corpus.tokenizer, prior=prior.tolist(), vectors=vectors)
    if say:
        for line in [*corpus.notes, *([note] if note else [])]:
            say(line)
        say(_summary(corpus, model))
    return model


def _how_to_resume(folder: Path) -> str:
    if (folder / "last.ckpt").exists():
        return (
            f"stopped; what is done up to the last whole epoch is in {folder}: the same command with --resume goes on"
        )
    return "stopped in the first epoch: nothing to resume from"


def _check_same(recipe: Recipe, out: Path) -> Recipe:
    """The recipe of the training that is to go on, which must be the one that is asked for."""
    folder = out / "training"
    if not (folder / "last.ckpt").exists():
        raise BadInput(f"{folder}: no checkpoint to resume from; expected a training that was interrupted")
    try:
        torch.load(folder / "last.ckpt", "cpu", weights_only=True, mmap=True)
    except (EOFError, RuntimeError, UnpicklingError):
        raise BadInput(f"{folder / 'last.ckpt'}: damaged; expected a whole checkpoint, or --replace") from None
    started = load_recipe(folder / "recipe.json")
    mine, theirs = recipe.model_dump(mode="json"), started.model_dump(mode="json")
    if mine != theirs:
        different = next(key for key in mine if mine[key] != theirs[key])
        raise BadInput(f"{folder}: was started with another recipe (see {different}); expected the same one to resume")
    return recipe


def _summary(corpus: Corpus, model: Classifier) -> str:
    sizes = ", ".join(f"{len(rows):,} {split}" for split, rows in corpus.rows.items())
    counts = corpus.encoded.sentence_counts
    empty = {split: int(np.count_nonzero(~model.is_whole(counts[rows]))) for split, rows in corpus.rows.items()}
    remark = "".join(f", {n} of {split} without words (predicted: the prior)" for split, n in empty.items() if n)
    return (
        f"{sizes} texts{remark}; {len(model.labels)} classes; {len(model.vocabulary):,} words;"
        f" {model.size:,} parameters without the word vectors"
    )
