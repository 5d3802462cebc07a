"""Batches of documents of similar length as tensors, with their sentences in buckets of similar length."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from numpy.typing import ArrayLike
from torch import Tensor

from treetext.data.corpus import NO_CLASS, Corpus
from treetext.data.document import UNKNOWN
from treetext.data.encoded import Encoded
from treetext.data.ngrams import Bag, Ngrams
from treetext.trees.tree import PAD


class Gold(NamedTuple):
    """The gold trees of a batch, in the layout of `Batch.words` and `Batch.documents`; None where none is known."""

    words: list[Int[Tensor, "m n"]] | None
    """The head of each word: -1 for a root, `UNKNOWN` (-3) for an unknown head, `PAD` (-2) past the length."""
    sentences: list[Int[Tensor, "m n"]] | None
    """The head of each sentence, in the same format."""
    parses: list[Int[Tensor, "m t"]] | None
    """The transitions of binary parses: 0 shifts, 1 reduces. An unknown parse is all `UNKNOWN`."""


class Bags(NamedTuple):
    """The n-grams of all texts of a batch, concatenated."""

    columns: Int[Tensor, "n"]
    """The columns of the n-grams, in the order of `Ngrams`."""
    weights: Float[Tensor, "n"]
    starts: Int[Tensor, "B"]
    """The index of the first n-gram of each text."""


class Batch(NamedTuple):
    """Documents or pairs as tensors. Sentences are in buckets of similar length, and so are documents."""

    words: list[Int[Tensor, "m n"]]
    """The word ids of each bucket of sentences, padded with 0."""
    lengths: list[Int[Tensor, "m"]]
    """The number of words of each sentence, for each bucket."""
    order: Int[Tensor, "S"]
    """Index that brings the concatenated vectors of all buckets into document order."""
    documents: list[Int[Tensor, "m n"]]
    """For each bucket of documents, the sentences of each, as indices into the concatenated buckets; padded with 0."""
    counts: list[Int[Tensor, "m"]]
    """The number of sentences of each document (at least 1), for each bucket of documents."""
    document_order: Int[Tensor, "B"]
    """Index that brings the concatenated vectors of all buckets of documents into the order of the batch."""
    labels: Int[Tensor, "B"]
    """The class of each document, or -1 if unknown."""
    rows: Int[Tensor, "B"]
    """The row of each document in its corpus."""
    gold: Gold | None = None
    ngrams: Bags | None = None
    """The n-grams of each text, for models that have a wide part."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """The same batch on a device."""
        moved: Batch = _mapped(self, lambda tensor: tensor.to(device, non_blocking=non_blocking))
        return moved

    def pin_memory(self) -> "Batch":
        """The same batch in pinned memory, for fast copies to a GPU."""
        pinned: Batch = _mapped(self, Tensor.pin_memory)
        return pinned


class DocumentIds(NamedTuple):
    """A document as arrays of numbers."""

    words: Int[np.ndarray, "_"]
    """The ids of the words of all sentences, concatenated."""
    lengths: Int[np.ndarray, "_"]
    """The number of words of each sentence."""
    heads: Int[np.ndarray, "_"] | None = None
    sentence_heads: Int[np.ndarray, "_"] | None = None
    parses: Int[np.ndarray, "_"] | None = None


class Texts:
    """Documents whose words are indices into a lexicon. Models make batches of them.

    `source` is an encoded corpus, of which these are `rows`, or a list of documents. `sentences` and `sizes` have the
    number of sentences and words of each document.
    """

    def __init__(
        self,
        lexicon: Sequence[str],
        source: Encoded | list[DocumentIds],
        rows: Int[np.ndarray, "texts"],
        labels: Int[np.ndarray, "texts"],
        sentences: Int[np.ndarray, "texts"],
        sizes: Int[np.ndarray, "texts"],
    ) -> None:
        self.lexicon, self.source, self.rows, self.labels = lexicon, source, rows, labels
        self.sentences, self.sizes = sentences, sizes

    def __len__(self) -> int:
        return len(self.rows)

    def document(self, text: int, gold: bool = False) -> DocumentIds:
        """A document; `gold` includes what is known of its trees."""
        if isinstance(self.source, list):
            return self.source[text]
        row, corpus = int(self.rows[text]), self.source
        known = (corpus.heads(row), corpus.sentence_heads(row), corpus.parses(row)) if gold else ()
        return DocumentIds(corpus.words(row), corpus.lengths(row), *known)

    def sentences_of(self, text: int) -> list[list[str]]:
        """The words of each sentence of a document."""
        document = self.document(text)
        words = iter([self.lexicon[i] for i in document.words])
        return [list(islice(words, n)) for n in document.lengths]

    @classmethod
    def from_corpus(
        cls, corpus: Corpus, rows: Int[np.ndarray, "_"] | None = None, classes: list[str] | None = None
    ) -> "Texts":
        """Rows of a corpus (default: all). Texts have labels only if `classes` are given."""
        encoded = corpus.encoded
        some = np.arange(len(encoded)) if rows is None else rows
        labels = corpus.targets(classes) if classes else np.full(len(encoded), NO_CLASS)
        return cls(encoded.lexicon, encoded, some, labels[some], encoded.sentence_counts[some], encoded.sizes[some])

    @classmethod
    def from_words(cls, documents: Sequence[list[list[str]]]) -> "Texts":
        """Documents given as sentences of words."""
        index: dict[str, int] = {}
        numbered = [
            DocumentIds(
                np.array([index.setdefault(word, len(index)) for word in chain.from_iterable(sentences)], np.int64),
                np.array(list(map(len, sentences)), np.int64),
            )
            for sentences in documents
        ]
        counts = np.array([len(document.lengths) for document in numbered], np.int64)
        sizes = np.array([len(document.words) for document in numbered], np.int64)
        return cls(list(index), numbered, np.arange(len(numbered)), np.full(len(numbered), NO_CLASS), counts, sizes)


class Batches:
    """Makes batches of texts: the ``collate_fn`` of a `DataLoader`. `ids` has a model's id of each lexicon word.

    With `ngrams`, batches have the n-grams of the texts.
    """

    def __init__(
        self, texts: Texts, ids: Int[np.ndarray, "_"], gold: bool = False, ngrams: Ngrams | None = None
    ) -> None:
        self.texts, self.ids, self.gold, self.ngrams = texts, ids, gold, ngrams

    def __call__(self, texts: Sequence[int]) -> Batch:
        """The batch of these texts."""
        documents = [self.texts.document(text, self.gold) for text in texts]
        documents = [document._replace(words=self.ids[document.words]) for document in documents]
        batch = collate(documents, self.texts.labels[list(texts)], self.texts.rows[list(texts)], gold=self.gold)
        if self.ngrams is None:
            return batch
        return batch._replace(ngrams=joined_bags([self.ngrams.bag(self.texts.sentences_of(text)) for text in texts]))


def joined_bags(bags: Sequence[Bag]) -> Bags:
    """The bags of several texts as tensors."""
    columns, weights = (np.concatenate(part) for part in zip(*bags, strict=True))
    sizes = np.array([len(bag.columns) for bag in bags])
    return Bags(_tensor(columns), torch.from_numpy(weights), _tensor(_starts(sizes)))


def similar_lengths(
    texts: Texts, some: Int[np.ndarray, "_"], batch_size: int, most_words: int | None
) -> Iterator[list[int]]:
    """Batches of some of the texts with similar numbers of sentences, and with at most `most_words` words."""
    batch, held = list[int](), 0
    for text in some[np.lexsort((texts.sizes[some], texts.sentences[some]))].tolist():
        words = int(texts.sizes[text])
        if batch and (len(batch) == batch_size or (most_words and held + words > most_words)):
            yield batch
            batch, held = [], 0
        batch.append(text)
        held += words
    if batch:
        yield batch


class LengthBatches:
    """Batches of rows of similar length: the ``batch_sampler`` of a torch ``DataLoader``.

    `sentences` and `words` have the number of sentences and words of the document of each row; `rows` has the rows
    (default: 0, 1, …). Every row comes once per epoch. The batches and their order depend only on the seed and the
    epoch. With ``shuffle=False``, the shortest documents come first.
    """

    def __init__(
        self,
        sentences: ArrayLike,
        words: ArrayLike,
        batch_size: int = 32,
        *,
        rows: ArrayLike | None = None,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        self.sentences, self.words = np.asarray(sentences), np.asarray(words)
        self.rows = np.arange(len(self.sentences)) if rows is None else np.asarray(rows)
        if not self.sentences.shape == self.words.shape == self.rows.shape == (self.rows.size,):
            shapes = f"{self.sentences.shape}, {self.words.shape} and {self.rows.shape}"
            raise ValueError(f"sentences, words and rows: expected three vectors of one length, got shapes {shapes}")
        if batch_size < 1:
            raise ValueError(f"batch_size: expected at least 1, got {batch_size}")
        self.batch_size, self.shuffle, self.seed, self.epoch = batch_size, shuffle, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next batches."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.rows) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        sentences, words = self.sentences, self.words
        random = np.random.default_rng([self.seed, self.epoch])
        if self.shuffle:
            # Noise gives other batches in each epoch. That on sentence counts is small, since they decide the padding.
            noise = np.exp(random.standard_normal((len(self.rows), 2)) * [0.02, 0.1])
            sentences, words = np.rint(sentences * noise[:, 0]), words * noise[:, 1]
        by_length = self.rows[np.lexsort((words, sentences))]
        starts = np.arange(len(self)) * self.batch_size
        for start in random.permutation(starts) if self.shuffle else starts:
            yield by_length[start : start + self.batch_size].tolist()


def collate(
    documents: Sequence[DocumentIds],
    labels: ArrayLike,
    rows: ArrayLike,
    *,
    gold: bool = False,
    most: int = 128,
    waste: float = 0.095,
) -> Batch:
    """The batch of some documents. `most` and `waste` go to `buckets`, for the sentences."""
    for i, (ids, lengths, *_) in enumerate(documents):
        if not len(lengths):
            raise ValueError(f"documents[{i}]: expected at least one sentence, got none")
        if len(ids) != np.sum(lengths):
            raise ValueError(f"documents[{i}]: expected {np.sum(lengths)} words, as its lengths say, got {len(ids)}")
    ids = np.concatenate([document.words for document in documents])
    lengths = np.concatenate([document.lengths for document in documents])
    counts = np.array([len(document.lengths) for document in documents], dtype=np.int64)
    cut, groups = buckets(lengths, most, waste), buckets(counts)
    order = np.empty(len(lengths), np.int64)
    order[np.concatenate(cut)] = np.arange(len(lengths))
    starts, firsts = _starts(lengths), _starts(counts)
    return Batch(
        words=[_padded(ids, starts[bucket], lengths[bucket]) for bucket in cut],
        lengths=[_tensor(lengths[bucket]) for bucket in cut],
        order=_tensor(order),
        documents=[_padded(order, firsts[group], counts[group]) for group in groups],
        counts=[_tensor(counts[group]) for group in groups],
        document_order=_tensor(np.argsort(np.concatenate(groups))),
        labels=_tensor(labels),
        rows=_tensor(rows),
        gold=_gold(documents, lengths, counts, cut, groups) if gold else None,
    )


def _gold(
    documents: Sequence[DocumentIds], lengths: np.ndarray, counts: np.ndarray, cut: list[Any], groups: list[Any]
) -> Gold:
    """The gold trees; documents without them have `UNKNOWN` everywhere."""

    def part(known: list[np.ndarray | None], sizes: np.ndarray, of: np.ndarray, parts: list[Any]) -> Any:
        if all(each is None for each in known):
            return None
        filled = [np.full(size, UNKNOWN) if each is None else each for each, size in zip(known, of, strict=True)]
        values, starts = np.concatenate(filled), _starts(sizes)
        return [_padded(values, starts[some], sizes[some], PAD) for some in parts]

    words = np.array([len(document.words) for document in documents])
    transitions = 2 * lengths - 1
    return Gold(
        part([document.heads for document in documents], lengths, words, cut),
        part([document.sentence_heads for document in documents], counts, counts, groups),
        part([document.parses for document in documents], transitions, 2 * words - counts, cut),
    )


def buckets(
    lengths: Int[np.ndarray, "n"] | Sequence[int], most: int = 128, waste: float = 0.095
) -> list[Int[np.ndarray, "_"]]:
    """Sort sequences by length, longest first, and cut them into buckets. Returns the indices of each bucket.

    A bucket has at most `most` sequences, and padding is at most the share `waste` of all positions. Within these
    limits, the cuts minimise the estimated time of a recurrent layer.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    if most < 1:
        raise ValueError(f"most: expected at least 1, got {most}")
    if not 0 <= waste < 1:
        raise ValueError(f"waste: expected a share of at least 0 and below 1, got {waste}")
    if (lengths < 1).any():
        raise ValueError(f"lengths[{np.argmin(lengths)}]: expected at least 1, got {lengths.min()}")
    order = np.argsort(-lengths, kind="stable")
    sizes, counts = (x[::-1] for x in np.unique(lengths, return_counts=True))
    scale = 1.0
    while True:
        cuts = _cuts(sizes, counts, most, scale * BUCKET, scale * STEP)
        positions = sum(int(sizes[i] * counts[i:j].sum()) for i, j in pairwise(cuts))
        if positions - lengths.sum() <= waste * positions:
            break
        scale = 0.7 * scale if scale > 1e-3 else 0.0  # at 0, buckets cost nothing, so there is no padding
    ends = [0, *np.cumsum(counts).tolist()]
    parts = [order[ends[i] : ends[j]] for i, j in pairwise(cuts)]
    return [piece for part in parts for piece in np.array_split(part, -(-len(part) // most))]


BUCKET, STEP = 200.0, 4.0  # the time of a bucket, and of an LSTM's step over it, in units of the time of a word


@njit(cache=True)
def _cuts(sizes: Any, counts: Any, most: int, bucket: float, step: float) -> Any:
    """The fastest cuts of a falling sequence of distinct sizes, with their counts (dynamic programming)."""
    least, cut = np.zeros(len(sizes) + 1), np.zeros(len(sizes) + 1, np.int64)
    for end in range(1, len(sizes) + 1):
        held, least[end] = 0, np.inf
        for start in range(end - 1, -1, -1):
            held += counts[start]
            time = least[start] + -(-held // most) * (bucket + sizes[start] * step) + sizes[start] * held
            if time < least[end]:
                least[end], cut[end] = time, start
    cuts = [len(sizes)]
    while cuts[-1]:
        cuts.append(cut[cuts[-1]])
    return cuts[::-1]


def _starts(lengths: np.ndarray) -> Int[np.ndarray, "_"]:
    starts: np.ndarray = np.cumsum(lengths) - lengths
    return starts


def _padded(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray, padding: int = 0) -> Int[Tensor, "m n"]:
    """A padded row for each sequence of values. The longest sequence must come first."""
    position = np.arange(lengths[0])
    real = position < lengths[:, None]
    rows = np.full(real.shape, padding, np.int64)
    rows[real] = values[(starts[:, None] + position)[real]]
    return torch.from_numpy(rows)


def _tensor(values: ArrayLike) -> Int[Tensor, "_"]:
    return torch.from_numpy(np.array(values, dtype=np.int64))


def _mapped(part: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply a function to all tensors in nested named tuples and lists."""
    if part is None or isinstance(part, Tensor):
        return part if part is None else function(part)
    parts = [_mapped(each, function) for each in part]
    return type(part)(*parts) if isinstance(part, tuple) else parts
