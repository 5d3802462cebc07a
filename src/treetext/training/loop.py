"""Training by gradients, on Lightning."""

import logging
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint, RichProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger

from treetext.data import BadInput, Corpus
from treetext.models import Model
from treetext.training.module import Curve, Loaders, Module
from treetext.training.objectives import class_weights
from treetext.training.recipe import Recipe


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Lightning's remarks and warnings, which are for developers."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        yield


@_quiet()
def fit(
    model: Model,
    recipe: Recipe,
    corpus: Corpus,
    folder: Path,
    resume: bool,
    devices: int | str,
    accelerator: str,
    quiet: bool = False,
) -> tuple[int, float, list[dict[str, Any]]]:
    """Train a model, and load the weights of the epoch that the recipe keeps into it.

    Returns that epoch, its dev accuracy, and the loss and accuracy of all epochs. `quiet` prints no epochs.
    """
    targets, texts = corpus.targets(model.labels), len(corpus.whole("train"))
    empty = np.setdiff1d(corpus.rows["dev"], corpus.whole("dev"))
    empty_right = int((targets[empty] == np.argmax(model.prior)).sum())
    weights = class_weights(recipe.training.class_weights, corpus, model.labels)
    # Lightning's save_last would write a checkpoint only together with a new best one.
    always: Any = {"save_on_train_epoch_end": True, "enable_version_counter": False}
    best = ModelCheckpoint(folder, "best", monitor="dev_accuracy", mode="max", **always)
    last = ModelCheckpoint(folder, "last", **always)
    keep = recipe.training.keep
    patience = recipe.training.patience if keep == "best" else recipe.training.epochs
    stop = _Stop("dev_accuracy", mode="max", patience=patience, check_on_train_epoch_end=True)
    curve = Curve(quiet)
    bar = [RichProgressBar(console_kwargs={"stderr": True})] if sys.stderr.isatty() else []
    run = f"log-{len(list(folder.glob('log-*'))) + 1}"  # a resumed training logs to a new folder
    try:
        trainer = pl.Trainer(
            accelerator=accelerator,
            devices=devices,
            strategy="auto" if devices in (1, "1") else "ddp_spawn",  # only this process goes on after the fit
            max_epochs=recipe.training.epochs,
            callbacks=[curve, stop, best, last, *bar],
            logger=_loggers(folder, run),
            num_sanity_val_steps=0,
            accumulate_grad_batches=recipe.training.accumulate,
            use_distributed_sampler=False,
            enable_progress_bar=bool(bar),
            enable_model_summary=False,
            log_every_n_steps=1,
        )
    except MisconfigurationException as error:
        problem = " ".join(str(error).split())
        raise BadInput(f"accelerator {accelerator}, devices {devices}: {problem}; expected what is here") from None
    if trainer.world_size > (dev := len(corpus.whole("dev"))):
        raise BadInput(f"devices {trainer.world_size}: expected at most {dev}, the number of dev texts with words")
    module = Module(model, recipe, texts, empty_right, len(empty), weights)
    handler = signal.getsignal(signal.SIGINT)
    path = folder / "last.ckpt" if resume else None
    try:
        trainer.fit(module, Loaders(corpus, model, recipe), ckpt_path=path, weights_only=True)
    except SystemExit:  # Lightning raises it after Ctrl-C, and ignores Ctrl-C from then on
        signal.signal(signal.SIGINT, handler)
        raise KeyboardInterrupt from None
    kept, ended = (torch.load(folder / f"{name}.ckpt", "cpu", weights_only=True) for name in (keep, "last"))
    model.load_state_dict({name.removeprefix("model."): weights for name, weights in kept["state_dict"].items()})
    epoch, epochs = int(kept["epoch"]) + 1, ended["callbacks"][curve.state_key]["epochs"]
    return epoch, epochs[epoch - 1]["dev_accuracy"], epochs


def _loggers(folder: Path, run: str) -> list[Logger]:
    """Loggers to a CSV file and, if it is installed, to TensorBoard."""
    loggers: list[Logger] = [CSVLogger(folder, "", run)]
    if find_spec("tensorboard"):
        loggers.append(TensorBoardLogger(folder, "", run))
    return loggers


class _Stop(EarlyStopping):
    """Early stopping that also stops at once if a training that it has ended is resumed."""

    def on_train_start(self, trainer: pl.Trainer, _: pl.LightningModule) -> None:
        """Stop again."""
        trainer.should_stop = self.wait_count >= self.patience
