"""Does the tree matter? A trained model with something else in the place of its marginals."""

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
from treetext.trees import ROOT, Marginals, TreeDistribution

MOST_DOCUMENTS, MOST_WORDS = 256, 50_000  # in a batch: enough for most to meet others of their length


class Ablated(NamedTuple):
    """What a model does with other marginals."""

    marginals: str
    """own, uniform, shuffled or best tree."""
    levels: list[str]
    """Where they were replaced."""
    accuracy: Interval | None
    """None where the texts have no labels."""
    changed: Interval
    """The share of texts that get another label than by the model's own marginals."""
    moved: float | None
    """For shuffled ones: the share of sequences that met another of their length, to exchange marginals with."""


def ablate(
    model: Model,
    corpus: Corpus,
    split: str = "test",
    *,
    seed: int = 0,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> list[Ablated]:
    """Label all texts with a model's own marginals, and with others, at each level that has trees and at all of them.

    The others: ``uniform``, those of a distribution in which all trees are equally likely; ``shuffled``, those of
    another sequence (a sentence of words, a document of sentences) of the same length; ``best tree``, 1 for the arcs
    of the tree that a parse would give and 0 for all others.
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
    found = _classes(model, corpus, split, trials, batch_size, progress)
    return [
        _ablated(trial, classes, found[0], targets, resamples, seed)
        for trial, classes in zip(trials, found, strict=True)
    ]


def uniform_marginals(trees: TreeDistribution) -> Marginals:
    """Those where all trees of this kind are equally likely."""
    scores = torch.zeros_like(trees.arcs), torch.zeros_like(trees.roots)
    return type(trees)(*scores, trees.lengths, trees.single_root).marginals


def best_tree(trees: TreeDistribution) -> Marginals:
    """1 for the arcs and the root of the tree that a parse would give, 0 for all others."""
    heads = trees.mbr()
    candidates = torch.arange(heads.shape[-1], device=heads.device)
    arcs = candidates[:, None] == heads[..., None, :]
    return Marginals(arcs.to(trees.arcs.dtype), (heads == ROOT).to(trees.arcs.dtype))


class Shuffled:
    """The marginals of another sequence of the same length in the same chunk of a batch; its own where there is none.

    Counts the sequences of two nodes or more that were `seen`, and those of them that were `moved`.
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
            source[some] = np.roll(some, 1)  # around a ring: nobody keeps its own, unless alone
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
    """By level."""


def _classes(
    model: Model, corpus: Corpus, split: str, trials: Sequence[_Trial], batch_size: int, progress: Progress | None
) -> list[Int[np.ndarray, "documents"]]:
    """For each trial, the class of each text of a split."""
    found = [prior_classes(model, corpus, split) for _ in trials]
    doing = "scoring with other marginals"
    for texts, batch, own in run(model, corpus, split, batch_size, progress=progress, doing=doing):
        outputs: dict[str, Output] = {"own": own}  # words take most of the time: once for each kind of marginals
        for (name, levels, kinds), classes in zip(trials, found, strict=True):
            kind = name if "words" in levels else "own"
            output = own
            if levels:
                with torch.inference_mode():
                    output = model(batch, kinds, outputs.get(kind))
            outputs.setdefault(kind, output)
            classes[texts] = output.logits.argmax(-1).cpu().numpy()
    return found


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
    right = np.zeros(len(classes), bool) if targets is None else classes == targets
    counts = np.stack([right, classes != own], -1).astype(float)
    accuracy, changed = intervals(np.stack([counts, np.ones_like(counts)], -1), resamples, seed)
    return Ablated(trial.name, trial.levels, None if targets is None else accuracy, changed, moved)
