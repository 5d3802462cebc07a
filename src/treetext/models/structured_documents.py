"""The document classifier of Liu and Lapata (2018): a level of words, then a level of sentences."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import embedding

from treetext.data import DOCUMENTS
from treetext.data.batches import Batch
from treetext.models.output import Output
from treetext.models.settings import LevelSettings, Size
from treetext.models.structured import StructuredModel, StructuredSettings, new_level
from treetext.nn import Buckets, Dropout, LevelOutput, Replacement


class StructuredDocumentsSettings(StructuredSettings):
    """The settings of `StructuredDocuments`."""

    kind: Literal["structured-documents"] = "structured-documents"
    sentences: LevelSettings = Field(LevelSettings(), description="from sentences to documents")
    layers: int = Field(2, ge=0, le=10, description="hidden layers of the classifier; 0 for one linear map")
    hidden: Size = Field(150, description="size of the hidden layers of the classifier")

    @model_validator(mode="after")
    def _check_sentences(self) -> Self:
        return self.check_structure("sentences")


class StructuredDocuments(StructuredModel):
    """Classifies documents: words are composed to sentences, sentences to the document.

    Both levels may have any kind of attention: see `StructuredDocumentsSettings`.
    """

    Settings = StructuredDocumentsSettings
    task = DOCUMENTS
    settings: StructuredDocumentsSettings

    def __init__(self, settings: StructuredDocumentsSettings, *args: Any, **options: Any) -> None:
        super().__init__(settings, *args, **options)
        self.words = new_level(settings, "words", settings.embedding)
        self.sentences = new_level(settings, "sentences", self.words.size)
        sizes = [self.sentences.size] + [settings.hidden] * settings.layers
        layers: list[nn.Module] = [Dropout(settings.dropout)]
        for size in sizes[:-1]:
            layers += [nn.Linear(size, settings.hidden), nn.LeakyReLU(), Dropout(settings.dropout)]
        self.classifier = nn.Sequential(*layers, nn.Linear(sizes[-1], len(self.labels)))

    def forward(
        self, batch: Batch, marginals: Mapping[str, Replacement] | None = None, reuse: Output | None = None
    ) -> Output:
        """The scores of the classes, and the levels of words and sentences."""
        marginals = marginals or {}
        words = reuse.levels["words"] if reuse else self.words_in_context(batch, marginals)
        sentences = self.sentences_in_context(batch, words, marginals.get("sentences"))
        texts = torch.cat([bucket.vectors for bucket in sentences]).index_select(0, batch.document_order)
        return self.output(batch, self.classifier(texts), texts, {"words": words, "sentences": sentences})

    def sentences_in_context(
        self, batch: Batch, words: list[LevelOutput], marginals: Replacement | None
    ) -> list[LevelOutput]:
        """The outputs of the level of sentences for each bucket of documents."""
        vectors = torch.cat([bucket.vectors for bucket in words])
        # The gradient of an embedding is faster than that of indexing.
        gathered = embedding(torch.cat([which.T.flatten() for which in batch.documents]), vectors)
        buckets = Buckets.of([which.shape for which in batch.documents], batch.counts)
        return self.sentences.compose(gathered, buckets, marginals)
