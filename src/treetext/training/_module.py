"""A model as Lightning trains it."""

import math
import sys
import time
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

from treetext.models import Classifier
from treetext.nn import Composed
from treetext.text import BadInput, LengthBatches
from treetext.training._corpus import Batches, Corpus
from treetext.training._optimizers import clip, make_optimizer
from treetext.training._recipe import Recipe


class Module(pl.LightningModule):
    """Steps, scores and the optimiser. The same seed gives the same weights, also after a pause between epochs."""

    def __init__(self, model: Classifier, recipe: Recipe, texts: int, empty_right: int, empty: int) -> None:
        super().__init__()
        self.model, self.recipe, self.texts = model, recipe, texts
        self.empty_right, self.empty = empty_right, empty
        """Dev texts without words, whose class is that of the prior: how many are right, of how many."""
        self.right = self.scored = 0

    def on_train_epoch_start(self) -> None:
        """Dropout starts afresh with each epoch, so that a resumed training goes on as it would have."""
        seeds = np.random.SeedSequence([self.recipe.seed, self.current_epoch, self.global_rank])
        torch.manual_seed(int(seeds.generate_state(1)[0]))
        # Lightning tells samplers only, not batch samplers.
        self.trainer.train_dataloader.batch_sampler.set_epoch(self.current_epoch)  # type: ignore[union-attr]

    @property
    def steps(self) -> int:
        """Of all epochs. Lightning's own count draws batches, before it knows in which epoch a training is resumed."""
        batches = -(-self.texts // self.recipe.training.batch_size)
        return self.recipe.training.epochs * -(-batches // self.trainer.world_size)

    def training_step(self, batch: Any, _: int) -> Tensor:
        """The loss of a batch."""
        labels = batch.sentences.labels
        try:
            scored = self.model.score(batch)
            loss = objective = cross_entropy(scored.logits, labels)
            if self.recipe.training.entropy:
                reward = self.recipe.training.entropy * (1 - 2 * self.global_step / self.steps)
                objective = loss - reward * (flatness(scored.words) + flatness(scored.sentences))
        except ValueError:  # trees have found scores that are no numbers
            raise diverged(self.current_epoch + 1) from None
        self.log("loss", loss, on_step=False, on_epoch=True, prog_bar=True, batch_size=len(labels))
        return objective

    def validation_step(self, batch: Any, _: int) -> None:
        """Count what is right."""
        labels = batch.sentences.labels
        self.right += int((self.model(batch).argmax(-1) == labels).sum())
        self.scored += len(labels)

    def on_validation_epoch_end(self) -> None:
        """The accuracy on all dev texts, with those that have no words."""
        counts: Any = self.all_gather(torch.tensor([self.right, self.scored], device=self.device))
        right, scored = counts.reshape(-1, 2).sum(0)
        accuracy = (right + self.empty_right) / (scored + self.empty)
        self.log("dev_accuracy", accuracy.float(), prog_bar=True, rank_zero_only=False)
        self.right = self.scored = 0

    def configure_optimizers(self) -> Any:
        """The recipe's."""
        optimizer = make_optimizer(self.model, self.recipe.training)
        if self.recipe.training.schedule == "constant":
            return optimizer
        falling = LambdaLR(optimizer, lambda step: max(0.0, 1 - step / self.steps))
        return [optimizer], [{"scheduler": falling, "interval": "step"}]

    def configure_gradient_clipping(self, *_: Any, **__: Any) -> None:
        """The recipe's norm, over dense and sparse gradients."""
        if self.recipe.training.clip is not None:
            clip(self.model.parameters(), self.recipe.training.clip)


def flatness(level: list[Composed]) -> Tensor | float:
    """The mean entropy of the trees of a level, each as a share of that of all trees being equally likely: 0 to 1.

    Over n nodes there are n^(n - 1) trees (Cayley). Single nodes do not count; 0 where there are no trees.
    """
    entropies, most = list[Tensor](), list[Tensor]()
    for trees in (chunk.trees for chunk in level if chunk.trees is not None):
        several = trees.lengths > 1
        lengths = trees.lengths[several].to(trees.entropy.dtype)
        entropies.append(trees.entropy[several])
        most.append((lengths - 1) * lengths.log())
    return (torch.cat(entropies) / torch.cat(most)).mean() if sum(map(len, entropies)) else 0.0


class Loaders(pl.LightningDataModule):
    """Batches of similar length, divided among the devices."""

    def __init__(self, corpus: Corpus, model: Classifier, recipe: Recipe) -> None:
        super().__init__()
        self.corpus, self.recipe = corpus, recipe
        self.collate = Batches(corpus, model.vocabulary, model.labels, model.batch)
        self.is_whole = model.is_whole(corpus.encoded.sentence_counts)

    def train_dataloader(self) -> "DataLoader[Any]":
        """The training texts in another order in each epoch."""
        return self._loader("train", shuffle=True)

    def val_dataloader(self) -> "DataLoader[Any]":
        """The dev texts, shortest first."""
        return self._loader("dev", shuffle=False)

    def _loader(self, split: str, shuffle: bool) -> "DataLoader[Any]":
        rows = self.corpus.rows[split]
        rows = rows[self.is_whole[rows]]
        encoded, settings = self.corpus.encoded, self.recipe.training
        lengths = (encoded.sentence_counts[rows], encoded.sizes[rows])
        if self.recipe.model.task == "pairs":  # all have two sentences: what is padded is the words of either
            first = [int(encoded.lengths(row)[0]) for row in rows.tolist()]
            lengths = (first, lengths[1] - first)
        batches = LengthBatches(*lengths, settings.batch_size, rows=rows, shuffle=shuffle, seed=self.recipe.seed)
        if self.trainer:  # the first batches are drawn before on_train_epoch_start, also where a training is resumed
            batches.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)  # type: ignore[attr-defined]
        world, rank = (self.trainer.world_size, self.trainer.global_rank) if self.trainer else (1, 0)
        share: Any = Share(batches, rank, world, even=shuffle)
        # With a generator of its own: a loader draws a number whenever it starts, which must not change the dropout.
        own = torch.Generator()
        every = range(len(encoded))
        return DataLoader(every, batch_sampler=share, collate_fn=self.collate, generator=own)  # type: ignore[arg-type]


class Share:
    """Every so-and-so-many-th batch, for one of several devices; `even` if all must have the same number."""

    def __init__(self, batches: LengthBatches, rank: int, world: int, even: bool) -> None:
        self.batches, self.rank, self.world, self.even = batches, rank, world, even

    def set_epoch(self, epoch: int) -> None:
        """From now on, give the batches of this epoch."""
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
    """Prints a line for each epoch, and keeps what it says: also of the epochs before a pause."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, Any]] = []

    def on_train_epoch_start(self, *_: Any) -> None:
        """Start the clock."""
        self.start = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, _: pl.LightningModule) -> None:
        """Before the checkpoint is written, which is to have this epoch too."""
        loss, accuracy = (float(trainer.callback_metrics[name]) for name in ("loss", "dev_accuracy"))
        epoch, seconds = trainer.current_epoch + 1, round(time.perf_counter() - self.start, 2)
        if not math.isfinite(loss):
            raise diverged(epoch)
        self.epochs.append({"epoch": epoch, "loss": loss, "dev_accuracy": accuracy, "seconds": seconds})
        if trainer.is_global_zero:
            line = f"epoch {epoch:3}: loss {loss:.4f}, dev accuracy {100 * accuracy:.1f}, {seconds:.1f} s"
            print(line, file=sys.stderr, flush=True)

    def state_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"epochs": self.epochs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.epochs = state["epochs"]


def diverged(epoch: int) -> BadInput:
    """What to say when the weights have grown beyond all bounds."""
    remedy = "a lower training.learning_rate, or training.clip"
    return BadInput(f"epoch {epoch}: the loss is not a number any more; expected one: try {remedy}")
