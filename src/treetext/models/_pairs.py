"""Sentence pairs: structured encoders, then attention between the sentences and comparison (Parikh et al. 2016)."""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding

from treetext.models._classifier import Classifier, Scored, are_sentences
from treetext.models._settings import PairSettings
from treetext.nn import Composed, Dropout, Level
from treetext.text import Batch


class Side(NamedTuple):
    """The first, or the second, sentences of all pairs."""

    words: Int[Tensor, "b n"]
    """Each word as an index into the positions of all chunks; padded with 0."""
    real: Bool[Tensor, "b n"]
    """Which of them are no padding."""


class Pairs(NamedTuple):
    """The sentences of a batch, and which words make up which side of each pair."""

    sentences: Batch
    first: Side
    second: Side


class PairClassifier(Classifier):
    """Classifies pairs of sentences: does the first entail the second? See `PairSettings`."""

    Settings = PairSettings
    settings: PairSettings

    def __init__(self, settings: PairSettings, *args: Any, **options: Any) -> None:
        super().__init__(settings, *args, **options)
        self.words = Level(settings.embedding, **settings.level("words"))
        size, hidden = self.words.size, settings.hidden
        self.align = _perceptron(size, hidden, settings.dropout)
        self.compare = _perceptron((4 if settings.enhanced else 2) * size, hidden, settings.dropout)
        self.classifier = nn.Sequential(
            _perceptron(2 * hidden, hidden, settings.dropout), nn.Linear(hidden, len(self.labels))
        )

    def score(self, batch: Pairs, words: list[Composed] | None = None) -> Scored:
        """Scores of the classes, and words in their contexts."""
        words = words or self.words_in_context(batch)
        flat = torch.cat([chunk.words.flatten(0, 1) for chunk in words])
        first, second = (embedding(side.words, flat) for side in (batch.first, batch.second))
        alignment = self.align(first) @ self.align(second).mT
        compared = (
            self._compared(first, second, alignment, batch.first.real, batch.second.real),
            self._compared(second, first, alignment.mT, batch.second.real, batch.first.real),
        )
        return Scored(self.classifier(torch.cat(compared, -1)), words, [])

    def _compared(
        self,
        mine: Float[Tensor, "b n k"],
        others: Float[Tensor, "b m k"],
        alignment: Float[Tensor, "b n m"],
        my_real: Bool[Tensor, "b n"],
        others_real: Bool[Tensor, "b m"],
    ) -> Float[Tensor, "b hidden"]:
        """Each word with those words of the other sentence that it is aligned with, and all of them as one vector."""
        weights = alignment.masked_fill(~others_real[:, None], -torch.inf).softmax(-1)
        parts = [mine, weights @ others]
        if self.settings.enhanced:  # as Chen et al. (2017) do
            parts += [parts[0] - parts[1], parts[0] * parts[1]]
        compared = self.compare(torch.cat(parts, -1)) * my_real[..., None]
        total: Tensor = compared.sum(1)
        return total if self.settings.aggregation == "sum" else total / my_real.sum(1, keepdim=True)

    @staticmethod
    def batch(sentences: Batch) -> Pairs:
        """The sentences, and the words of either side."""
        return Pairs(sentences, *_sides(sentences))

    @staticmethod
    def is_whole(sentences: Any) -> Any:
        """Whether both sentences have words."""
        return sentences == 2

    def tokens(self, text: Any) -> list[list[str]]:
        """The two sentences, as words; fewer if one has none."""
        if not are_sentences(text) or len(text) != 2:
            raise TypeError(f"expected two sentences, each a string or a list of words, got {text!r:.40}")
        return self.tokenizer(list(text))


def _perceptron(inputs: int, hidden: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        Dropout(dropout), nn.Linear(inputs, hidden), nn.ReLU(),
        Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU(),
    )  # fmt: skip


def _sides(sentences: Batch) -> list[Side]:
    order = sentences.order.numpy()
    lengths = torch.cat(sentences.lengths).numpy()[order]
    widths = np.concatenate([np.full(len(ids), ids.shape[1]) for ids in sentences.words])
    starts = (np.cumsum(widths) - widths)[order]
    sides = []
    for first in (0, 1):
        position = np.arange(lengths[first::2].max())
        real = position < lengths[first::2, None]
        words = np.where(real, starts[first::2, None] + position, 0)
        sides.append(Side(torch.from_numpy(words), torch.from_numpy(real)))
    return sides
