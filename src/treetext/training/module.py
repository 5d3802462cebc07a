"""Training of a model with Lightning: the module, the data loaders and the learning curve."""

import math
import sys
import time
from functools import cached_property, partial
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

from treetext.data import BadInput, Corpus
from treetext.data.batches import Batch, Batches, LengthBatches, Texts
from treetext.models import Model, Output
from treetext.training.objectives import OBJECTIVES, cross_entropy
from treetext.training.optimizers import clip, make_optimizer, sparse_parameters
from treetext.training.recipe import Recipe, Training
from treetext.training.score_function import score_function
from treetext.trees import NonFiniteScores


class Module(pl.LightningModule):
    """Training and validation steps, and the optimiser. The same seed gives the same weights, also after a resume."""

    def __init__(
        self,
        model: Model,
        recipe: Recipe,
        texts: int,
        empty_right: int,
        empty: int,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.model, self.recipe, self.texts = model, recipe, texts
        self.empty_right, self.empty = empty_right, empty
        """Dev texts without words get the prior's class: the number of right predictions, and of such texts."""
        self.right = self.scored = 0
        if recipe.training.vectors_rate == 0:  # here: later, several devices would wait for the gradients
            for vectors in sparse_parameters(model):
                vectors.requires_grad_(False)
        self.objectives = {name: objective.value for name, objective in OBJECTIVES.items()}
        smoothing = recipe.training.label_smoothing
        self.objectives["cross_entropy"] = partial(cross_entropy, weights=class_weights, smoothing=smoothing)

    def on_train_epoch_start(self) -> None:
        """Seed the dropout of this epoch, so that a resumed training gives the same result."""
        seeds = np.random.SeedSequence([self.recipe.seed, self.current_epoch, self.global_rank])
        torch.manual_seed(int(seeds.generate_state(1)[0]))
        # Lightning calls set_epoch of samplers, but not of batch samplers.
        self.trainer.train_dataloader.batch_sampler.set_epoch(self.current_epoch)  # type: ignore[union-attr]

    @property
    def steps(self) -> int:
        """The number of steps of all epochs. Lightning's own count draws batches before it knows the resumed epoch."""
        settings = self.recipe.training
        batches = -(-self.texts // settings.batch_size)
        return settings.epochs * -(-batches // (self.trainer.world_size * settings.accumulate))

    def training_step(self, batch: Batch, index: int) -> Tensor:
        """The weighted sum of the objectives on a batch. Logs the cross entropy, or the sum if there is none.

        A step averages over `training.accumulate` batches or, at the end of an epoch, over those that are left. Its
        gradient is that of one larger batch, except that a text in a smaller batch, which is the one with the longest
        texts, weighs more.
        """
        progress = self.global_step / self.steps
        self.model.anneal(progress)
        output, weights = self._output(batch), self.recipe.training.objectives
        losses = {name: self.objectives[name](batch, output, progress) for name, weight in weights.items() if weight}
        total = sum((loss if weights[name] == 1 else weights[name] * loss for name, loss in losses.items()), start=0.0)
        if self.model.sampled:
            total = total + score_function(self.model, batch, output)
        shown = losses.get("cross_entropy", total)
        self.log("loss", shown, on_step=False, on_epoch=True, prog_bar=True, batch_size=len(batch.labels))
        return total * self._share(index)  # type: ignore[return-value]  # a recipe has at least one objective

    def _share(self, index: int) -> float:
        """A factor for the loss of a batch: Lightning divides by `accumulate`, also where fewer batches are left."""
        wanted = self.recipe.training.accumulate
        left = int(self.trainer.num_training_batches) - index // wanted * wanted
        return wanted / min(wanted, left)

    def validation_step(self, batch: Batch, _: int) -> None:
        """Count the right predictions."""
        logits = self._output(batch).logits
        if not logits.isfinite().all():  # the last step of the epoch was too large
            raise diverged(self.current_epoch + 1)
        self.right += int((logits.argmax(-1) == batch.labels).sum())
        self.scored += len(batch.labels)

    def _output(self, batch: Batch) -> Output:
        """The output of the model. Scores that are NaN or infinite raise `BadInput`; other errors are not changed."""
        try:
            output: Output = self.model(batch)
        except NonFiniteScores:
            raise diverged(self.current_epoch + 1) from None
        return output

    def on_validation_epoch_end(self) -> None:
        """Log the accuracy on all dev texts, including those without words."""
        counts: Any = self.all_gather(torch.tensor([self.right, self.scored], device=self.device))
        right, scored = counts.reshape(-1, 2).sum(0)
        accuracy = (right + self.empty_right) / (scored + self.empty)
        self.log("dev_accuracy", accuracy.float(), prog_bar=True, rank_zero_only=False)
        self.right = self.scored = 0

    def configure_optimizers(self) -> Any:
        """The optimiser and the learning rate schedule of the recipe."""
        optimizer = make_optimizer(self.model, self.recipe.training)
        settings = self.recipe.training
        if settings.schedule == "constant" and not settings.warmup:
            return optimizer
        scheduled = LambdaLR(optimizer, lambda step: _rate(step / self.steps, settings))
        return [optimizer], [{"scheduler": scheduled, "interval": "step"}]

    def configure_gradient_clipping(self, *_: Any, **__: Any) -> None:
        """Clip dense and sparse gradients to the norm of the recipe."""
        if self.recipe.training.clip is not None:
            clip(self.model.parameters(), self.recipe.training.clip)


def _rate(progress: float, settings: Training) -> float:
    """The learning rate as a share of the recipe's. It rises linearly in the warm-up, then follows the schedule."""
    if progress < settings.warmup:
        return progress / settings.warmup
    falling = max(0.0, 1 - progress) / (1 - settings.warmup)
    return 1.0 if settings.schedule == "constant" else falling


class Loaders(pl.LightningDataModule):
    """Loaders of batches of similar length, divided among the devices."""

    def __init__(self, corpus: Corpus, model: Model, recipe: Recipe) -> None:
        super().__init__()
        self.corpus, self.model, self.recipe = corpus, model, recipe

    @cached_property
    def collate(self) -> Batches:
        """Made where it is used: with several devices, a process for each gets a copy of all that is there before."""
        weights = self.recipe.training.objectives
        gold = any(OBJECTIVES[name].needs_gold for name, weight in weights.items() if weight)
        return self.model.batches(Texts.from_corpus(self.corpus, classes=self.model.labels), gold)

    def train_dataloader(self) -> "DataLoader[Any]":
        """The training texts, in another order in each epoch."""
        return self._loader("train", shuffle=True)

    def val_dataloader(self) -> "DataLoader[Any]":
        """The dev texts, shortest first."""
        return self._loader("dev", shuffle=False)

    def _loader(self, split: str, shuffle: bool) -> "DataLoader[Any]":
        rows, encoded, settings = self.corpus.whole(split), self.corpus.encoded, self.recipe.training
        lengths = self.corpus.task.lengths(encoded, rows)
        world, rank = (self.trainer.world_size, self.trainer.global_rank) if self.trainer else (1, 0)
        size = settings.batch_size if shuffle else min(settings.batch_size, max(1, len(rows) // world))  # some for each
        batches = LengthBatches(*lengths, size, rows=rows, shuffle=shuffle, seed=self.recipe.seed)
        if self.trainer:  # the first batches are drawn before on_train_epoch_start, also after a resume
            batches.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)  # type: ignore[attr-defined]
        share: Any = Share(batches, rank, world, even=shuffle)
        # Its own generator: a loader draws a number whenever it starts, which must not change the dropout.
        own = torch.Generator()
        every = range(len(encoded))
        return DataLoader(every, batch_sampler=share, collate_fn=self.collate, generator=own)  # type: ignore[arg-type]


class Share:
    """The batches of one of several devices: every `world`-th one. With `even`, all devices get the same number."""

    def __init__(self, batches: LengthBatches, rank: int, world: int, even: bool) -> None:
        self.batches, self.rank, self.world, self.even = batches, rank, world, even

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next batches."""
        self.batches.set_epoch(epoch)

    def __len__(self) -> int:
        extra = self.world - 1 if self.even else self.world - 1 - self.rank
        return (len(self.batches) + extra) // self.world

    def __iter__(self) -> Any:
        mine = list(self.batches)
        if self.even:
            mine += (mine * self.world)[: -len(mine) % self.world]
        return iter(mine[self.rank :: self.world])


class Curve(pl.Callback):
    """The learning curve: prints a line for each epoch, and keeps its values, also across a resume."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.epochs: list[dict[str, Any]] = []

    def on_train_epoch_start(self, *_: Any) -> None:
        """Start the clock."""
        self.start = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, _: pl.LightningModule) -> None:
        """Add the epoch to the curve. This runs before the checkpoint is written, which includes it."""
        loss, accuracy = (float(trainer.callback_metrics[name]) for name in ("loss", "dev_accuracy"))
        epoch, seconds = trainer.current_epoch + 1, round(time.perf_counter() - self.start, 2)
        if not math.isfinite(loss):
            raise diverged(epoch)
        self.epochs.append({"epoch": epoch, "loss": loss, "dev_accuracy": accuracy, "seconds": seconds})
        if trainer.is_global_zero and not self.quiet:
            line = f"epoch {epoch:3}: loss {loss:.4f}, dev accuracy {100 * accuracy:.1f}, {seconds:.1f} s"
            print(line, file=sys.stderr, flush=True)

    def state_dict(self) -> dict[str, Any]:
        """The state for the checkpoint."""
        return {"epochs": self.epochs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        self.epochs = state["epochs"]


def diverged(epoch: int) -> BadInput:
    """The error for a training that has diverged."""
    return BadInput(f"epoch {epoch}: loss is NaN or infinite; lower training.learning_rate or set training.clip")
