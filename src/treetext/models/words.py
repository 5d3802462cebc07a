"""Models with a word table: a vocabulary with a vector for each word."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from pydantic import Field
from torch import Tensor, nn

from treetext.data import Corpus, Progress, Settings, Tokenizer, Vocabulary, piece_vectors, read_vectors, word2vec
from treetext.data.batches import Batch
from treetext.data.vocabulary import PAD_ID, UNK_ID
from treetext.models.base import Model, Say
from treetext.models.settings import ModelSettings, Size
from treetext.nn import Buckets, Dropout

VOCABULARY = "vocabulary.txt"


class VocabularySettings(Settings):
    """The vocabulary of a model, and the initial vectors of its words."""

    min_count: int = Field(6, ge=1, description="least number of occurrences of a word in the training data")
    vectors: str = Field(
        "word2vec",
        min_length=1,
        description="word2vec (trained on train and dev), wordllama (pretrained on English), random, or a file of"
        " vectors",
    )
    deviation: float | None = Field(None, gt=0, description="standard deviation of the initial vectors, if set")
    skip_gram: bool = Field(False, description="word2vec with skip-gram instead of CBOW")
    window: int = Field(5, ge=1, description="window of word2vec")
    epochs: int = Field(5, ge=1, description="epochs of word2vec")


class WordSettings(ModelSettings):
    """The settings of a word table."""

    embedding: Size = Field(200, description="size of word vectors")
    dropout: float = Field(0.3, ge=0, lt=1, description="share of the numbers in vectors that training sets to 0")
    vocabulary: VocabularySettings = Field(VocabularySettings(), description="the words and their initial vectors")


class VocabularyModel(Model):
    """A model whose batches have word ids of a vocabulary."""

    files = (VOCABULARY,)

    def __init__(
        self,
        settings: Any,
        labels: Sequence[str],
        tokenizer: Tokenizer | None = None,
        *,
        vocabulary: Vocabulary,
        prior: Sequence[float] | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(settings, labels, tokenizer, prior=prior, about=about)
        self.vocabulary = vocabulary

    def facts(self) -> dict[str, str]:
        """Adds the size of the vocabulary."""
        return {**super().facts(), "Vocabulary": f"{len(self.vocabulary):,} words"}

    def word_ids(self, lexicon: Sequence[str]) -> Int[np.ndarray, "_"]:
        """The id of each word in the vocabulary."""
        return np.array(self.vocabulary.ids(lexicon) or [UNK_ID])

    @property
    def known_words(self) -> Sequence[str]:
        """The words of the vocabulary."""
        return self.vocabulary.words

    def parts(self) -> dict[str, Any]:
        """The vocabulary."""
        return {"vocabulary": self.vocabulary}

    def write_files(self, directory: Path) -> None:
        """Write the vocabulary."""
        self.vocabulary.save(directory / VOCABULARY)

    @classmethod
    def read_files(cls, directory: Path) -> dict[str, Any]:
        """Read the vocabulary."""
        return {"vocabulary": Vocabulary.load(directory / VOCABULARY)}


class WordModel(VocabularyModel):
    """A model with a vector for each word of its vocabulary."""

    settings: WordSettings

    def __init__(
        self,
        settings: Any,
        labels: Sequence[str],
        tokenizer: Tokenizer | None = None,
        *,
        vocabulary: Vocabulary,
        vectors: Float32[np.ndarray, "words size"] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(settings, labels, tokenizer, vocabulary=vocabulary, **options)
        if vectors is not None and vectors.shape != (len(vocabulary), settings.embedding):
            expected = f"{len(vocabulary)} vectors of {settings.embedding} numbers"
            raise ValueError(f"vectors: expected {expected}, as vocabulary and settings say, got {vectors.shape}")
        # Sparse gradients: a step changes only the vectors of the words in its batch.
        self.embedding = nn.Embedding(len(vocabulary), settings.embedding, padding_idx=PAD_ID, sparse=True)
        self.dropout = Dropout(settings.dropout)
        with torch.no_grad():
            self.embedding.weight.normal_(0, 0.1)
            if vectors is not None:
                self.embedding.weight.copy_(torch.from_numpy(vectors))
            self.embedding.weight[PAD_ID] = 0

    @classmethod
    def for_corpus(
        cls,
        settings: Any,
        corpus: Corpus,
        *,
        seed: int = 0,
        progress: Progress | None = None,
        say: Say | None = None,
        **options: Any,
    ) -> Self:
        """An untrained model with the vocabulary of the training data and the vectors of its settings.

        `options` go to the constructor.
        """
        vocabulary = corpus_vocabulary(corpus, settings.vocabulary.min_count)
        vectors, note = first_vectors(corpus, settings.vocabulary, vocabulary, settings.embedding, seed, progress)
        if say and note:
            say(note)
        classes = corpus.classes
        prior = corpus.prior(classes)
        return cls(settings, classes, corpus.tokenizer, vocabulary=vocabulary, vectors=vectors, prior=prior, **options)

    @property
    def size(self) -> int:
        """The number of parameters, without word vectors."""
        return super().size - self.embedding.weight.numel()

    def facts(self) -> dict[str, str]:
        """Counts parameters without word vectors."""
        parameters = {"Parameters, without word vectors": f"{self.size:,}"}
        return parameters | {name: fact for name, fact in super().facts().items() if name != "Parameters"}

    def embedded(self, batch: Batch) -> tuple[Float[Tensor, "p d"], Buckets]:
        """The vectors of all words, time-major within each bucket, for `Level.compose`."""
        flat = self.dropout(self.embedding(torch.cat([ids.T.flatten() for ids in batch.words])))
        return flat, Buckets.of([ids.shape for ids in batch.words], batch.lengths)


M = TypeVar("M", bound=WordModel)


def shrink(model: M, words: int) -> M:
    """A copy with only the first `words` entries of the vocabulary; in a trained model, these are the most frequent.

    The entries for padding and for unknown words count too. All other words become unknown.
    """
    most = len(model.vocabulary)
    if not 2 < words <= most:
        raise ValueError(f"words: expected 3 to {most}, as many as the vocabulary has, got {words}")
    weights = model.state_dict()
    weights["embedding.weight"] = weights["embedding.weight"][:words]
    vocabulary = Vocabulary(model.vocabulary.words[:words])
    parts = {**model.parts(), "vocabulary": vocabulary}
    small = type(model)(
        model.settings, model.labels, model.tokenizer, prior=model.prior, about=dict(model.about), **parts
    )
    small.temperature, small.splits = model.temperature, model.splits
    small.to(model.embedding.weight).load_state_dict(weights)
    return small.eval()


def corpus_vocabulary(corpus: Corpus, min_count: int) -> Vocabulary:
    """The words that occur at least `min_count` times in the training data."""
    counts = corpus.encoded.counts(corpus.rows["train"]).tolist()
    return Vocabulary.from_counts(dict(zip(corpus.encoded.lexicon, counts, strict=True)), min_count)


def first_vectors(
    corpus: Corpus,
    settings: VocabularySettings,
    vocabulary: Vocabulary,
    size: int,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Float32[np.ndarray, "words size"] | None, str | None]:
    """The initial vectors (None: the model draws them), and a remark on how many words a file of vectors has."""
    if settings.vectors == "random":
        if settings.deviation is None:
            return None, None
        drawn = np.random.default_rng(seed).normal(0, settings.deviation, (len(vocabulary), size))
        return drawn.astype(np.float32), None
    if settings.vectors == "word2vec":
        rows = np.concatenate([corpus.rows["train"], corpus.rows["dev"]])
        learnt = word2vec(
            corpus.encoded.sentences(rows),
            size,
            words=vocabulary.words,
            skip_gram=settings.skip_gram,
            window=settings.window,
            epochs=settings.epochs,
            seed=seed,
            progress=partial(progress, "word2vec: sentences") if progress else None,
        )
        return _scaled(learnt, learnt[1:], settings.deviation), None  # the first vector, of padding, is 0
    if settings.vectors == "wordllama":
        vectors, pieces = piece_vectors(vocabulary.words, size)
        known = pieces > 0
        vectors = _scaled(vectors, vectors[known], settings.deviation or 0.5)
        return vectors, f"wordllama has vectors for {known.sum():,} of {len(vocabulary) - 1:,} words"
    vectors, known = read_vectors(Path(settings.vectors).expanduser(), vocabulary.words, size)
    vectors = _scaled(vectors, vectors[known], settings.deviation)
    vectors[~known] = np.random.default_rng(seed).normal(0, 0.1, (np.count_nonzero(~known), size))
    return vectors, f"{settings.vectors} has vectors for {known.sum():,} of {len(vocabulary):,} words"


def _scaled(
    vectors: Float32[np.ndarray, "words size"], known: Float32[np.ndarray, "some size"], deviation: float | None
) -> Float32[np.ndarray, "words size"]:
    """Scale vectors so that the numbers of the known ones have this standard deviation, unless they are all equal."""
    spread = known.std(dtype=np.float64) if known.size else 0  # in float32, equal numbers may have a deviation
    return vectors if deviation is None or not spread else (vectors * (deviation / spread)).astype(np.float32)
