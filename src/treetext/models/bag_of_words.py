"""A bag of words: logistic regression on word counts. It ignores word order and has no trees."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field
from torch import nn

from treetext.data import DOCUMENTS, PAIRS, Corpus, Progress, Task, Tokenizer, Vocabulary, needs
from treetext.data.batches import Batch
from treetext.data.vocabulary import PAD_ID, UNK_ID
from treetext.models.base import Output, Say
from treetext.models.settings import ModelSettings
from treetext.models.words import VocabularyModel, corpus_vocabulary
from treetext.nn import Replacement

FIRST = max(PAD_ID, UNK_ID) + 1
"""The id of the first word that has a weight. The weights of padding and of unknown words stay 0."""


class BagOfWordsSettings(ModelSettings):
    """The settings of `BagOfWords`."""

    kind: Literal["bag-of-words"] = "bag-of-words"
    min_count: int = Field(1, ge=1, description="least number of occurrences of a word in the training data")
    strength: float = Field(1.0, gt=0, description="inverse of the strength of the L2 regularisation")


class BagOfWordsPairsSettings(BagOfWordsSettings):
    """The settings of `BagOfWordsPairs`."""

    kind: Literal["bag-of-words-pairs"] = "bag-of-words-pairs"  # type: ignore[assignment]


class BagOfWords(VocabularyModel):
    """Classifies documents by the sum of a weight for each word and class."""

    Settings = BagOfWordsSettings
    task: ClassVar[Task] = DOCUMENTS
    by_gradients = False
    settings: BagOfWordsSettings

    def __init__(
        self,
        settings: Any,
        labels: Sequence[str],
        tokenizer: Tokenizer | None = None,
        *,
        vocabulary: Vocabulary,
        **options: Any,
    ) -> None:
        super().__init__(settings, labels, tokenizer, vocabulary=vocabulary, **options)
        weight = torch.zeros(len(vocabulary), len(labels), dtype=torch.float64)
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(weight.new_zeros(len(labels)), requires_grad=False)

    @classmethod
    def for_corpus(
        cls,
        settings: Any,
        corpus: Corpus,
        *,
        seed: int = 0,  # noqa: ARG003
        progress: Progress | None = None,  # noqa: ARG003
        say: Say | None = None,  # noqa: ARG003
    ) -> Self:
        """A model with the vocabulary of the training data."""
        vocabulary, classes = corpus_vocabulary(corpus, settings.min_count), corpus.classes
        return cls(settings, classes, corpus.tokenizer, vocabulary=vocabulary, prior=corpus.prior(classes))

    def forward(
        self,
        batch: Batch,
        marginals: Mapping[str, Replacement] | None = None,  # noqa: ARG002
        reuse: Output | None = None,  # noqa: ARG002
    ) -> Output:
        """The sum of the weights of all words. Padding and unknown words have weight 0."""
        sentences = torch.cat([self.weight[ids].sum(1) for ids in batch.words])[batch.order]
        counts = torch.cat(batch.counts)[batch.document_order]
        document = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        return Output(self.bias.expand(len(counts), -1).index_add(0, document, sentences))

    def fit(self, corpus: Corpus, progress: Progress | None = None) -> None:
        """Fit the regression to the word counts of the training texts."""
        with needs("baselines"):
            from scipy.sparse import csr_array
            from sklearn.linear_model import LogisticRegression

        rows, ids = corpus.rows["train"], self.word_ids(corpus.encoded.lexicon)
        words = [ids[corpus.encoded.words(row)] for row in rows.tolist()]
        if progress:
            progress("counting words: texts", len(rows))
        ends = np.cumsum([0, *map(len, words)])
        flat = np.concatenate([np.zeros(0, np.int64), *words])
        counts = csr_array((np.ones(len(flat)), flat, ends), shape=(len(rows), len(self.vocabulary)))
        counts.sum_duplicates()
        regression = LogisticRegression(C=self.settings.strength, max_iter=2000)
        regression.fit(counts[:, FIRST:], corpus.targets(self.labels)[rows])
        weight, bias = regression.coef_, regression.intercept_
        if len(self.labels) == 2:  # scikit-learn has one row: the score of the second class minus that of the first
            weight, bias = np.vstack([np.zeros_like(weight), weight]), np.array([0.0, bias[0]])
        with torch.no_grad():
            self.weight[FIRST:] = torch.from_numpy(weight.T.copy()).to(self.weight)
            self.bias.copy_(torch.from_numpy(bias))


class BagOfWordsPairs(BagOfWords):
    """Classifies pairs in the same way, by the words of both sentences together."""

    Settings = BagOfWordsPairsSettings
    task = PAIRS
