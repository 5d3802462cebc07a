"""Ablation: does the tree matter? Scores a trained model with other marginals in place of its own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from treetext.data import Corpus, Progress
from treetext.evaluation.bootstrap import Interval, intervals
from treetext.evaluation.run import prior_classes, run
from treetext.evaluation.sources import checked_levels, checked_targets
from treetext.models import Model, Output
from treetext.nn import Replacement
from treetext.trees import Marginals, TreeDistribution

MOST_DOCUMENTS, MOST_WORDS = 256, 50_000  # in a batch: large, so most sequences meet others of the same length


class Ablated(NamedTuple):
    """The predictions of a model with other marginals."""

    marginals: str
    """own, uniform, shuffled or best tree."""
    levels: list[str]
    """The levels whose marginals were replaced."""
    accuracy: Interval | None
    """None if the texts have no labels."""
    changed: Interval
    """The share of texts whose label changes."""
    moved: float | None
    """For shuffled marginals, the share of sequences that got the marginals of another sequence."""
    lost: Interval | None = None
    """The accuracy with the model's own marginals minus this one, on the same texts; None if they have no labels."""


def ablate(
    model: Model,
    corpus: Corpus,
    split: str = "test",
    *,
    seed: int = 0,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> list[Ablated]:
    """Label all texts with a model's own marginals and with other ones, at each level with trees and at all of them.

    Other marginals are ``uniform`` (all trees are equally likely), ``shuffled`` (those of another sequence of the same
    length: of another sentence, or of another document) and ``best tree`` (1 for the arcs of the decoded tree, 0 for
    all others).
    """
    levels = checked_levels(model)
    targets = checked_targets(model, corpus, split)
    words = int(corpus.encoded.sizes[corpus.rows[split]].mean()) + 1
    batch_size = max(1, min(MOST_DOCUMENTS, MOST_WORDS // words))
    scopes = [levels, *([level] for level in levels if len(levels) > 1)]
    words_kinds = {name: make(seed) for name, make in OTHERS.items()}
    trials = [_Trial("own", [], {})]
    for scope in scopes:
        for name, make in OTHERS.items():
            kinds = {level: words_kinds[name] if level == "words" else make(seed) for level in scope}
            trials.append(_Trial(name, scope, kinds))
    predicted = _classes(model, corpus, split, trials, batch_size, progress)
    return [
        _ablated(trial, classes, predicted[0], targets, resamples, seed)
        for trial, classes in zip(trials, predicted, strict=True)
    ]


def uniform_marginals(trees: TreeDistribution) -> Marginals:
    """The marginals if all trees of this kind are equally likely."""
    scores = torch.zeros_like(trees.arcs), torch.zeros_like(trees.roots)
    return type(trees)(*scores, trees.lengths, trees.single_root).marginals


def best_tree(trees: TreeDistribution) -> Marginals:
    """1 for the arcs and the root of the decoded tree (minimum Bayes risk), 0 for all others."""
    return Marginals.of(trees.mbr(), trees.arcs.dtype)


class Shuffled:
    """The marginals of another sequence of the same length in the same bucket, or its own if there is none.

    Counts the sequences of two or more nodes (`seen`), and those of them that got other marginals (`moved`).
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.seen = self.moved = 0

    def __call__(self, trees: TreeDistribution) -> Marginals:
        """Exchange marginals."""
        lengths = trees.lengths.cpu().numpy()
        source = np.arange(len(lengths))
        for length in np.unique(lengths):
            some = self.random.permutation((lengths == length).nonzero()[0])
            source[some] = np.roll(some, 1)  # a cycle: a sequence keeps its own marginals only if it is alone
        self.seen += int(np.count_nonzero(lengths > 1))
        self.moved += int(np.count_nonzero((lengths > 1) & (source != np.arange(len(lengths)))))
        which: Tensor = torch.from_numpy(source).to(trees.arcs.device)
        return Marginals(*(part[which] for part in trees.marginals))


OTHERS: dict[str, Callable[[int], Replacement]] = {
    "uniform": lambda _: uniform_marginals,
    "shuffled": Shuffled,
    "best tree": lambda _: best_tree,
}


class _Trial(NamedTuple):
    """Other marginals at some levels."""

    name: str
    levels: list[str]
    kinds: dict[str, Replacement]
    """The replacement at each level."""


def _classes(
    model: Model, corpus: Corpus, split: str, trials: Sequence[_Trial], batch_size: int, progress: Progress | None
) -> list[Int[np.ndarray, "documents"]]:
    """For each trial, the class of each text of a split."""
    predicted = [prior_classes(model, corpus, split) for _ in trials]
    doing = "scoring with other marginals"
    for texts, batch, own in run(model, corpus, split, batch_size, progress=progress, doing=doing):
        outputs: dict[str, Output] = {"own": own}  # words take most of the time, so reuse them where they are the same
        for (name, levels, kinds), classes in zip(trials, predicted, strict=True):
            kind = name if "words" in levels else "own"
            output = own
            if levels:
                with torch.inference_mode():
                    output = model(batch, kinds, outputs.get(kind))
            outputs.setdefault(kind, output)
            classes[texts] = output.logits.argmax(-1).cpu().numpy()
    return predicted


def _ablated(
    trial: _Trial,
    classes: np.ndarray,
    own: np.ndarray,
    targets: np.ndarray | None,
    resamples: int,
    seed: int,
) -> Ablated:
    shuffles = [kind for kind in trial.kinds.values() if isinstance(kind, Shuffled) and kind.seen]
    moved = sum(each.moved for each in shuffles) / sum(each.seen for each in shuffles) if shuffles else None
    right, before = (np.zeros(len(classes)) if targets is None else each == targets for each in (classes, own))
    # The difference of each text: an interval of paired differences is narrower than those of both accuracies.
    counts = np.stack([right, classes != own, before.astype(float) - right], -1).astype(float)
    accuracy, changed, lost = intervals(np.stack([counts, np.ones_like(counts)], -1), resamples, seed)
    known = targets is not None
    return Ablated(trial.name, trial.levels, accuracy if known else None, changed, moved, lost if known else None)
