"""A bag of words: logistic regression on words and pairs of neighbouring words. It has no trees."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from treetext.data import DOCUMENTS, PAIRS, Corpus, Progress, Task, Tokenizer
from treetext.data.batches import Batch
from treetext.data.ngrams import Ngrams
from treetext.models.base import Say
from treetext.models.ngram_model import NGRAMS, NgramModel
from treetext.models.output import Output
from treetext.models.settings import ModelSettings
from treetext.models.wide import Wide, WideSettings
from treetext.nn import Replacement


class BagOfWordsSettings(ModelSettings):
    """The settings of `BagOfWords`."""

    kind: Literal["bag-of-words"] = "bag-of-words"
    min_count: int = Field(2, ge=1, description="least number of training texts that have a word or a pair of words")
    strength: float | None = Field(
        None, gt=0, description="inverse weight of the L2 penalty (default: chosen on held-out and dev texts)"
    )


class BagOfWordsPairsSettings(BagOfWordsSettings):
    """The settings of `BagOfWordsPairs`."""

    kind: Literal["bag-of-words-pairs"] = "bag-of-words-pairs"  # type: ignore[assignment]


class BagOfWords(NgramModel):
    """Classifies documents by the sum of a weight for each word, and each pair of neighbouring words, and class."""

    Settings = BagOfWordsSettings
    task: ClassVar[Task] = DOCUMENTS
    by_gradients = False
    files = (NGRAMS,)
    settings: BagOfWordsSettings
    wide: Wide

    def __init__(
        self,
        settings: Any,
        labels: Sequence[str],
        tokenizer: Tokenizer | None = None,
        *,
        ngrams: Ngrams,
        **options: Any,
    ) -> None:
        super().__init__(settings, labels, tokenizer, **options)
        self.wide = Wide(ngrams, len(labels))

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
        """A model without n-grams: `fit` counts them."""
        ngrams, classes = Ngrams([], np.zeros(0, np.float32)), corpus.classes
        return cls(settings, classes, corpus.tokenizer, ngrams=ngrams, prior=corpus.prior(classes))

    def forward(
        self,
        batch: Batch,
        marginals: Mapping[str, Replacement] | None = None,  # noqa: ARG002
        reuse: Output | None = None,  # noqa: ARG002
    ) -> Output:
        """The sum of the weights of all n-grams that are known."""
        return Output(self.wide(batch))

    def fit(self, corpus: Corpus, progress: Progress | None = None) -> None:
        """Count the n-grams of the training texts, and fit the regression to them."""
        settings = WideSettings(characters=False, min_count=self.settings.min_count, strength=self.settings.strength)
        self.wide, _ = Wide.fitted(settings, corpus, self.labels, progress)

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.wide.weight.numel() + self.wide.bias.numel()


class BagOfWordsPairs(BagOfWords):
    """Classifies pairs in the same way, by n-grams of each sentence and of both: see `Ngrams`."""

    Settings = BagOfWordsPairsSettings
    task = PAIRS
