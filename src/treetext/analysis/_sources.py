"""Whose trees are looked at: a model's, those of the same model untrained, and those of other models."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Int

from treetext.analysis._reference_trees import REFERENCES
from treetext.models import Classifier
from treetext.nn._attention import TREES
from treetext.text import BadInput
from treetext.training import Corpus

MODEL, UNTRAINED, GOLD = "model", "untrained", "gold"
LEVELS = ("words", "sentences")


def sources(
    model: Classifier, others: Mapping[str, Classifier] | None, untrained: Classifier | None
) -> dict[str, Classifier]:
    """All models by the names that they have in results."""
    if taken := {MODEL, UNTRAINED, GOLD, *REFERENCES} & set(others or {}):
        raise ValueError(f"others: {taken.pop()!r} is the name of something else; expected another name")
    return {MODEL: model, UNTRAINED: untrained or untrained_model(model), **(others or {})}


def untrained_model(model: Classifier) -> Classifier:
    """The same model before any training: with the weights that its seed gives, and with random word vectors."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(model.about.get("seed", 0)))
        made = type(model)(model.settings, model.vocabulary, model.labels, model.tokenizer, prior=model.prior)
    return made.to(model.embedding.weight).eval()


def tree_levels(model: Classifier, among: Sequence[str] = LEVELS) -> list[str]:
    """The levels of a model, words and sentences, that have trees."""
    return [level for level, kind in _kinds(model, among).items() if kind in TREES]


def checked_levels(model: Classifier, among: Sequence[str] = LEVELS) -> list[str]:
    """The same, refused where there are none."""
    found = tree_levels(model, among)
    if not found:
        listed = ", ".join(f"{level}: {kind}" for level, kind in _kinds(model, among).items())
        raise BadInput(f"the model has no trees (attention of {listed}); expected {' or '.join(TREES)} attention")
    return found


def check_levels(models: Mapping[str, Classifier], wanted: Sequence[str]) -> None:
    """Refuse models whose trees are not of all levels that are looked at."""
    for name, model in models.items():
        if missing := [level for level in wanted if level not in tree_levels(model)]:
            raise BadInput(f"{name}: no trees of {' or '.join(missing)}; expected trees as those of the model")


def checked_targets(model: Classifier, corpus: Corpus, split: str) -> Int[np.ndarray, "rows"] | None:
    """The class of each text of a split, None without any label; refused where some are not known."""
    corpus.check_split(split)
    rows = corpus.rows[split]
    if not (corpus.encoded.labels[rows] >= 0).any():
        return None
    corpus.check_labels(model.labels, (split,))
    targets: Int[np.ndarray, rows] = corpus.targets(model.labels)[rows]
    return targets


def _kinds(model: Classifier, among: Sequence[str]) -> dict[str, str]:
    return {level: getattr(model.settings, level).attention for level in among if hasattr(model, level)}
