"""Words make sentences, sentences make the document (Liu and Lapata 2018)."""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.functional import embedding

from treetext.models._classifier import Classifier, Scored, are_sentences
from treetext.models._settings import DocumentSettings
from treetext.nn import Chunks, Composed, Dropout, Level
from treetext.text import Batch, chunks


class Documents(NamedTuple):
    """The sentences of a batch, and which of them are whose, in groups of documents with about as many."""

    sentences: Batch
    groups: list[Int[Tensor, "m n"]]
    """The sentences of each document of a group, as indices into those of all chunks; padded with 0."""
    counts: list[Int[Tensor, "m"]]
    """How many sentences the documents of each group have."""
    order: Int[Tensor, "b"]
    """The vectors of all groups, concatenated and then indexed by this, are in the order of the batch."""


class DocumentClassifier(Classifier):
    """Classifies documents. Both levels may have any kind of attention; see `DocumentSettings`."""

    Settings = DocumentSettings
    settings: DocumentSettings

    def __init__(self, settings: DocumentSettings, *args: Any, **options: Any) -> None:
        super().__init__(settings, *args, **options)
        self.words = Level(settings.embedding, **settings.level("words"))
        self.sentences = Level(self.words.size, **settings.level("sentences"))
        sizes = [self.sentences.size] + [settings.hidden] * settings.layers
        layers: list[nn.Module] = [Dropout(settings.dropout)]
        for size in sizes[:-1]:
            layers += [nn.Linear(size, settings.hidden), nn.LeakyReLU(), Dropout(settings.dropout)]
        self.classifier = nn.Sequential(*layers, nn.Linear(sizes[-1], len(self.labels)))

    def score(self, batch: Documents, words: list[Composed] | None = None) -> Scored:
        """Scores of the classes, words and sentences in their contexts."""
        words = words or self.words_in_context(batch)
        vectors = torch.cat([chunk.vectors for chunk in words])
        # The gradient of an embedding takes less time than that of indexing.
        gathered = embedding(torch.cat([which.T.flatten() for which in batch.groups]), vectors)
        sentences = self.sentences.compose(gathered, Chunks.of([which.shape for which in batch.groups], batch.counts))
        documents = torch.cat([group.vectors for group in sentences])
        documents = documents.index_select(0, batch.order)
        return Scored(self.classifier(documents), words, sentences)

    @staticmethod
    def batch(sentences: Batch) -> Documents:
        """The sentences, grouped by documents."""
        counts, order = sentences.sentences.numpy(), sentences.order.numpy()
        starts = np.cumsum(counts) - counts
        groups, group_counts, cut = [], [], chunks(counts)
        for group in cut:
            position = np.arange(counts[group].max())
            real = position < counts[group, None]
            groups.append(torch.from_numpy(np.where(real, order[np.where(real, starts[group, None] + position, 0)], 0)))
            group_counts.append(torch.from_numpy(counts[group]))
        back = np.argsort(np.concatenate(cut))
        return Documents(sentences, groups, group_counts, torch.from_numpy(back))

    @staticmethod
    def is_whole(sentences: Any) -> Any:
        """Whether there is a sentence at all."""
        return sentences > 0

    def tokens(self, text: Any) -> list[list[str]]:
        """The sentences of a text, as words."""
        if not isinstance(text, str) and not are_sentences(text):
            raise TypeError(f"expected a string, a list of sentences or a list of lists of words, got {text!r:.40}")
        return self.tokenizer(text if isinstance(text, str) else list(text))
