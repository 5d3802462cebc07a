"""Whose trees are looked at: a model's, those of the same model untrained, and those of other models."""

from collections.abc import Mapping, Sequence

import torch

from treetext.analysis._reference_trees import REFERENCES
from treetext.models import Classifier
from treetext.nn._attention import TREES
from treetext.text import BadInput

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


def _kinds(model: Classifier, among: Sequence[str]) -> dict[str, str]:
    return {level: getattr(model.settings, level).attention for level in among if hasattr(model, level)}
