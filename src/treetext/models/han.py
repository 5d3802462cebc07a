"""The hierarchical attention network (Yang, Yang, Dyer, He, Smola and Hovy 2016).

A bidirectional GRU reads the words of a sentence, and attention pools them; another one reads the sentences of the
document. With h_i the state of a word, its weight is softmax_i(tanh(W h_i + b) · u), where u is learnt.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding

from treetext.data import DOCUMENTS
from treetext.data.batches import Batch
from treetext.models.output import Output
from treetext.models.settings import Size
from treetext.models.words import WordModel, WordSettings
from treetext.nn import Buckets, Dropout, LevelOutput, Replacement, both_directions


class HanSettings(WordSettings):
    """The sizes of a hierarchical attention network."""

    kind: Literal["han"] = "han"
    hidden: Size = Field(75, description="size of a GRU in each direction")
    attention: Size = Field(150, description="size of the hidden layer of the attention")
    dropout: float = Field(0.0, ge=0, lt=1, description="on word vectors and on the document vector")


class Han(WordModel):
    """Classifies documents; see `HanSettings`."""

    Settings = HanSettings
    task = DOCUMENTS
    settings: HanSettings

    def __init__(self, settings: HanSettings, *args: Any, **options: Any) -> None:
        super().__init__(settings, *args, **options)
        self.words = AttentiveGRU(settings.embedding, settings.hidden, settings.attention)
        self.sentences = AttentiveGRU(2 * settings.hidden, settings.hidden, settings.attention)
        self.classifier = nn.Sequential(Dropout(settings.dropout), nn.Linear(2 * settings.hidden, len(self.labels)))

    def forward(
        self,
        batch: Batch,
        marginals: Mapping[str, Replacement] | None = None,  # noqa: ARG002 (it has no trees)
        reuse: Output | None = None,
    ) -> Output:
        """Scores of the classes, words and sentences in context."""
        words = list(reuse.levels["words"]) if reuse else self.words(*self.embedded(batch))
        vectors = torch.cat([bucket.vectors for bucket in words])
        gathered = embedding(torch.cat([which.T.flatten() for which in batch.documents]), vectors)
        sentences = self.sentences(gathered, Buckets.of([which.shape for which in batch.documents], batch.counts))
        texts = torch.cat([bucket.vectors for bucket in sentences]).index_select(0, batch.document_order)
        return Output(self.classifier(texts), texts, {"words": words, "sentences": sentences})


class AttentiveGRU(nn.Module):
    """A bidirectional GRU, and attention that pools its states."""

    def __init__(self, inputs: int, hidden: int, attention: int) -> None:
        super().__init__()
        self.rightward, self.leftward = nn.GRU(inputs, hidden), nn.GRU(inputs, hidden)
        self.project = nn.Linear(2 * hidden, attention)
        self.context = nn.Linear(attention, 1, bias=False)

    def forward(self, x: Float[Tensor, "p d"], buckets: Buckets) -> list[LevelOutput]:
        """What each bucket becomes. Rows of `x` are time-major within each bucket."""
        states = torch.cat(both_directions(self.rightward, self.leftward, x, buckets), -1)
        scores = self.context(torch.tanh(self.project(states)))
        outputs = []
        for h, score, real in zip(buckets.split(states), buckets.split(scores), buckets.real, strict=True):
            masked = score if real is None else score.masked_fill(~real[..., None], -torch.inf)
            outputs.append(LevelOutput((masked.softmax(1) * h).sum(1), h, None, None))
        return outputs
