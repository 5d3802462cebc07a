"""Documents in batches of similar length, and their sentences in chunks of similar length, as tensors."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numba import njit
from numpy.typing import ArrayLike
from torch import Tensor


class Batch(NamedTuple):
    """The sentences of some documents, flattened, in chunks of similar length."""

    words: list[Int[Tensor, "m n"]]
    """The word ids of each chunk, padded with ``PAD``."""
    lengths: list[Int[Tensor, "m"]]
    """How many words the sentences of each chunk have."""
    order: Int[Tensor, "S"]
    """The vectors of all chunks, concatenated and then indexed by this, are in document order."""
    sentences: Int[Tensor, "B"]
    """How many sentences each document has: at least 1."""
    labels: Int[Tensor, "B"]
    """The class of each document, -1 where unknown."""
    rows: Int[Tensor, "B"]
    """Which rows of the corpus these are."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """The same batch on a device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Batch":
        """The same batch in memory that is fast to copy to a GPU."""
        return self._map(Tensor.pin_memory)

    def _map(self, function: Callable[[Tensor], Tensor]) -> "Batch":
        return Batch(
            [function(words) for words in self.words], [function(n) for n in self.lengths], *map(function, self[2:])
        )


class LengthBatches:
    """Batches of rows, in each those of similar length: for the ``batch_sampler`` of a torch ``DataLoader``.

    `sentences` and `words` say how many the document of each row has; `rows` which rows these are (0, 1, … if not
    given). Every row comes once an epoch. Which documents meet, and the order of the batches, depend on the seed
    and the epoch alone. With ``shuffle=False``, shortest first.
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
        """From now on, give the batches of this epoch; Lightning calls it."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.rows) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        sentences, words = self.sentences, self.words
        random = np.random.default_rng([self.seed, self.epoch])
        if self.shuffle:
            # Other documents meet in each epoch; the sentences, which are what is padded, stay almost in order.
            noise = np.exp(random.standard_normal((len(self.rows), 2)) * [0.02, 0.1])
            sentences, words = np.rint(sentences * noise[:, 0]), words * noise[:, 1]
        by_length = self.rows[np.lexsort((words, sentences))]
        starts = np.arange(len(self)) * self.batch_size
        for start in random.permutation(starts) if self.shuffle else starts:
            yield by_length[start : start + self.batch_size].tolist()


def batch(
    documents: Sequence[tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]],
    labels: ArrayLike,
    rows: ArrayLike,
    *,
    most: int = 128,
    waste: float = 0.095,
) -> Batch:
    """The tensors of some documents, each given as the ids of its words and as the lengths of its sentences.

    `most` and `waste` are those of `chunks`.
    """
    for i, (ids, lengths) in enumerate(documents):
        if not len(lengths):
            raise ValueError(f"documents[{i}]: expected at least one sentence, got none")
        if len(ids) != np.sum(lengths):
            raise ValueError(f"documents[{i}]: expected {np.sum(lengths)} words, as its lengths say, got {len(ids)}")
    ids = np.concatenate([ids for ids, _ in documents])
    lengths = np.concatenate([lengths for _, lengths in documents])
    starts = np.cumsum(lengths) - lengths
    cut = chunks(lengths, most, waste)
    order = np.empty(len(lengths), np.int64)
    order[np.concatenate(cut)] = np.arange(len(lengths))
    return Batch(
        words=[_padded(ids, starts[chunk], lengths[chunk]) for chunk in cut],
        lengths=[_tensor(lengths[chunk]) for chunk in cut],
        order=_tensor(order),
        sentences=_tensor([len(lengths) for _, lengths in documents]),
        labels=_tensor(labels),
        rows=_tensor(rows),
    )


def chunks(
    lengths: Int[np.ndarray, "n"] | Sequence[int], most: int = 128, waste: float = 0.095
) -> list[Int[np.ndarray, "_"]]:
    """Cut sequences, longest first, into chunks to be padded: the indices of each chunk.

    In each chunk are at most `most` sequences, and at most the share `waste` of all positions is padding. Within these
    limits, the cuts are such that a recurrent layer takes the least time.
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
        cuts = _cuts(sizes, counts, most, scale * CHUNK, scale * STEP)
        positions = sum(int(sizes[i] * counts[i:j].sum()) for i, j in pairwise(cuts))
        if positions - lengths.sum() <= waste * positions:
            break
        scale = 0.7 * scale if scale > 1e-3 else 0.0  # if chunks cost nothing, nothing is padded
    ends = [0, *np.cumsum(counts).tolist()]
    parts = [order[ends[i] : ends[j]] for i, j in pairwise(cuts)]
    return [piece for part in parts for piece in np.array_split(part, -(-len(part) // most))]


CHUNK, STEP = 200.0, 4.0  # the time of a chunk, and of a step of an LSTM over it, beside that of a word, which is 1


@njit(cache=True)
def _cuts(sizes: Any, counts: Any, most: int, chunk: float, step: float) -> Any:
    """Where to cut a falling sequence of distinct sizes, of which there are so many each, such that time is least."""
    least, cut = np.zeros(len(sizes) + 1), np.zeros(len(sizes) + 1, np.int64)
    for end in range(1, len(sizes) + 1):
        held, least[end] = 0, np.inf
        for start in range(end - 1, -1, -1):
            held += counts[start]
            time = least[start] + -(-held // most) * (chunk + sizes[start] * step) + sizes[start] * held
            if time < least[end]:
                least[end], cut[end] = time, start
    cuts = [len(sizes)]
    while cuts[-1]:
        cuts.append(cut[cuts[-1]])
    return cuts[::-1]


def _padded(ids: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> Int[Tensor, "m n"]:
    position = np.arange(lengths[0])
    real = position < lengths[:, None]
    words = np.zeros(real.shape, np.int64)
    words[real] = ids[(starts[:, None] + position)[real]]
    return torch.from_numpy(words)


def _tensor(values: ArrayLike) -> Int[Tensor, "_"]:
    return torch.from_numpy(np.array(values, dtype=np.int64))
