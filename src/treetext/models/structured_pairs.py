"""The classifier of sentence pairs: a structured level of words, then decomposable attention (Parikh et al. 2016)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding

from treetext.data import PAIRS
from treetext.data.batches import Batch
from treetext.models.output import Output
from treetext.models.settings import Size
from treetext.models.structured import StructuredModel, StructuredSettings, new_level
from treetext.nn import Dropout, Replacement


class StructuredPairsSettings(StructuredSettings):
    """The settings of `StructuredPairs`."""

    kind: Literal["structured-pairs"] = "structured-pairs"
    embedding: Size = Field(300, description="size of word vectors")
    semantic: Size = Field(100, description="size of semantic vectors, per direction")
    structure: Annotated[int, Field(ge=0, le=100_000)] = Field(
        50, description="size of structure vectors, per direction"
    )
    hidden: Size = Field(200, description="size of the hidden layers of all perceptrons")
    dropout: float = Field(0.2, ge=0, lt=1, description="share of the numbers in vectors that training sets to 0")
    enhanced: bool = Field(False, description="also compare aligned words by their difference and product")
    aggregation: Literal["sum", "mean"] = Field("sum", description="how to aggregate the compared words of a sentence")


class Side(NamedTuple):
    """The first sentences of all pairs, or the second ones."""

    words: Int[Tensor, "b n"]
    """Each word as an index into the positions of all buckets; padded with 0."""
    real: Bool[Tensor, "b n"]
    """The mask of positions that are not padding."""


class StructuredPairs(StructuredModel):
    """Classifies pairs of sentences, as in: does the first entail the second?

    Each word of a sentence is compared with the words of the other: see `StructuredPairsSettings`.
    """

    Settings = StructuredPairsSettings
    task = PAIRS
    settings: StructuredPairsSettings

    def __init__(self, settings: StructuredPairsSettings, *args: Any, **options: Any) -> None:
        super().__init__(settings, *args, **options)
        self.words = new_level(settings, "words", settings.embedding)
        size, hidden = self.words.size, settings.hidden
        self.align = _perceptron(size, hidden, settings.dropout)
        self.compare = _perceptron((4 if settings.enhanced else 2) * size, hidden, settings.dropout)
        self.classifier = nn.Sequential(
            _perceptron(2 * hidden, hidden, settings.dropout), nn.Linear(hidden, len(self.labels))
        )

    def forward(
        self, batch: Batch, marginals: Mapping[str, Replacement] | None = None, reuse: Output | None = None
    ) -> Output:
        """The scores of the classes, and the level of words."""
        words = reuse.levels["words"] if reuse else self.words_in_context(batch, marginals or {})
        flat = torch.cat([bucket.words.flatten(0, 1) for bucket in words])
        first, second = sides(batch)
        one, other = (embedding(side.words, flat) for side in (first, second))
        alignment = self.align(one) @ self.align(other).mT
        compared = (
            self._compared(one, other, alignment, first.real, second.real),
            self._compared(other, one, alignment.mT, second.real, first.real),
        )
        texts = torch.cat(compared, -1)
        return self.output(batch, self.classifier(texts), texts, {"words": words})

    def _compared(
        self,
        mine: Float[Tensor, "b n k"],
        others: Float[Tensor, "b m k"],
        alignment: Float[Tensor, "b n m"],
        my_real: Bool[Tensor, "b n"],
        others_real: Bool[Tensor, "b m"],
    ) -> Float[Tensor, "b hidden"]:
        """Compare each word with its aligned words of the other sentence, and aggregate the results."""
        weights = alignment.masked_fill(~others_real[:, None], -torch.inf).softmax(-1)
        parts = [mine, weights @ others]
        if self.settings.enhanced:  # Chen et al. (2017)
            parts += [parts[0] - parts[1], parts[0] * parts[1]]
        compared = self.compare(torch.cat(parts, -1)) * my_real[..., None]
        total: Tensor = compared.sum(1)
        return total if self.settings.aggregation == "sum" else total / my_real.sum(1, keepdim=True)


def sides(batch: Batch) -> tuple[Side, Side]:
    """The words of the first and of the second sentence of each pair."""
    lengths = torch.cat(batch.lengths)
    widths = torch.cat([n.new_full(n.shape, ids.shape[1]) for n, ids in zip(batch.lengths, batch.words, strict=True)])
    starts = widths.cumsum(0) - widths
    made = []
    for sentences in (batch.order[0::2], batch.order[1::2]):
        real = torch.arange(int(lengths[sentences].max()), device=lengths.device) < lengths[sentences, None]
        position = starts[sentences, None] + torch.arange(real.shape[1], device=lengths.device)
        made.append(Side(position.masked_fill(~real, 0), real))
    return made[0], made[1]


def _perceptron(inputs: int, hidden: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        Dropout(dropout), nn.Linear(inputs, hidden), nn.ReLU(),
        Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU(),
    )  # fmt: skip
