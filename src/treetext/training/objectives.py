"""Objectives: what training minimises. A recipe lists them with their weights."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from treetext.data import Corpus
from treetext.data.batches import Batch
from treetext.models import Output


class Objective(NamedTuple):
    """A function of a batch, the model's output and the progress of training, from 0 to 1."""

    value: Callable[[Batch, Output, float], Float[Tensor, ""]]
    needs_trees: bool = False
    needs_gold: bool = False
    """Whether it reads the gold trees of a batch."""


def cross_entropy(
    batch: Batch,
    output: Output,
    progress: float,  # noqa: ARG001
    weights: Float[Tensor, "classes"] | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """The mean negative log probability of the labels.

    `weights` has the weight of a text for each label. `smoothing` is the share of the target that is spread evenly
    over all classes (Szegedy et al. 2016).
    """
    if weights is None:
        return functional.cross_entropy(output.logits, batch.labels, label_smoothing=smoothing)
    # Not torch's own weights: those make the mean weight of each batch 1, so a text's weight depends on its batch.
    losses = functional.cross_entropy(output.logits, batch.labels, label_smoothing=smoothing, reduction="none")
    return (losses * weights.to(losses)[batch.labels]).mean()


def class_weights(kind: str | None, corpus: Corpus, labels: list[str]) -> Float[Tensor, "classes"] | None:
    """The weight of a training text for each class, as ``training.class_weights`` says."""
    if kind is None:
        return None
    return balanced_weights(corpus.targets(labels)[corpus.whole("train")], len(labels))


def balanced_weights(labels: Int[np.ndarray, "n"], classes: int) -> Float[Tensor, "classes"]:
    """Weights inversely proportional to the frequency of each class, so that the mean weight of the texts is 1."""
    counts = np.bincount(labels, minlength=classes)
    return torch.from_numpy(len(labels) / (np.count_nonzero(counts) * counts.clip(min=1)))


def entropy_schedule(batch: Batch, output: Output, progress: float) -> Float[Tensor, ""]:  # noqa: ARG001
    """A bonus for the entropy of the trees that falls linearly and becomes a penalty halfway.

    It is the sum over the levels of the mean entropy as a share of its maximum (`tree_entropy`).
    """
    shares = [tree_entropy(output, level) for level in output.levels]
    return (2 * progress - 1) * torch.stack(shares).sum()


def tree_entropy(output: Output, level: str) -> Float[Tensor, ""]:
    """The mean entropy of the trees of a level, as a share of its maximum; 0 if there are no trees.

    Sequences of a single node do not count: they have only one tree.
    """
    distributions = [bucket.trees for bucket in output.levels[level] if bucket.trees is not None]
    shares = [trees.entropy_share[trees.lengths > 1] for trees in distributions]
    joined = torch.cat(shares) if shares else output.logits.new_zeros(0)
    return joined.mean() if len(joined) else output.logits.new_zeros(())


OBJECTIVES = {"cross_entropy": Objective(cross_entropy), "entropy": Objective(entropy_schedule, needs_trees=True)}
