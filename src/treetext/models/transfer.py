"""Weights of a trained model for a new one, which may have other labels and other words."""

from typing import Any, NamedTuple

import torch
from torch import nn

from treetext.data.document import dotted
from treetext.data.vocabulary import SPECIAL
from treetext.models.base import Model
from treetext.models.settings import ModelSettings
from treetext.models.words import WordModel

FREE = ("dropout", "vocabulary", "wide")
"""The settings that do not belong to the weights of a model."""


class Taken(NamedTuple):
    """How many tensors and word vectors a new model has from another one, and how many it has at all."""

    tensors: int
    all_tensors: int
    words: int
    all_words: int

    def __str__(self) -> str:
        words = f", the vectors of {self.words:,} of {self.all_words:,} words" * bool(self.all_words)
        return f"{self.tensors} of {self.all_tensors} tensors{words}"


def weight_settings(settings: ModelSettings) -> dict[str, Any]:
    """The settings, by their keys in a recipe, that weights are trained with; all of them but the `FREE` ones."""
    return dict(dotted(settings.model_dump(mode="json", exclude=set(FREE)), "model."))


def take_over(model: Model, source: Model) -> Taken:
    """Copy the weights of a trained model into a new one of the same kind, where names and shapes agree.

    The last layer of the classifier is copied only if the labels are the same. Vectors are copied for the words that
    both vocabularies have. A wide part is never copied.
    """
    mine, theirs = model.state_dict(), source.state_dict()
    names = [name for name in mine if not name.startswith(("wide.", "embedding."))]
    last = () if model.labels == source.labels else (_last_layer(model),)
    same = [name for name in names if name in theirs and mine[name].shape == theirs[name].shape]
    taken = [name for name in same if not name.startswith(last)]
    shared, words = list[str](), 0
    with torch.no_grad():
        for name in taken:
            mine[name].copy_(theirs[name])
        if isinstance(model, WordModel) and isinstance(source, WordModel):
            words = len(model.vocabulary) - len(SPECIAL)
            shared = [word for word in model.vocabulary.words if word in source.vocabulary.index]
            here, there = model.vocabulary.ids(shared), source.vocabulary.ids(shared)
            model.embedding.weight[here] = source.embedding.weight[there].to(model.embedding.weight)
    return Taken(len(taken), len(names), len([word for word in shared if word not in SPECIAL]), words)


def _last_layer(model: Model) -> str:
    """The start of the names of the tensors of the classifier's last layer."""
    classifier = getattr(model, "classifier", None)
    return f"classifier.{len(classifier) - 1}." if isinstance(classifier, nn.Sequential) else "classifier."
