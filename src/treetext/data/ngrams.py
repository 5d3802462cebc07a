"""N-grams of words and of characters as sparse features of texts, weighted by tf-idf."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from jaxtyping import Float32, Int

from treetext.data.document import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Kind(NamedTuple):
    """A kind of n-grams. The n-grams of a kind in a text have this norm together."""

    about: str
    norm: float = 1.0


KINDS = {
    "w": Kind("words"),
    "c": Kind("characters"),
    # In most tasks on pairs, the label is of the second sentence, given the first.
    "1": Kind("words of the first sentence", 0.5),
    "2": Kind("words of the second sentence"),
    "=": Kind("words of both sentences"),
    "<": Kind("words of the first sentence only", 0.5),
    ">": Kind("words of the second sentence only"),
    "x": Kind("pairs of words that only one sentence has"),
    "n": Kind("numbers of words, and of words in common"),
}
"""The kinds of n-grams by letter. The name of an n-gram is this letter, a space, and its words or characters."""
SHORTEST, LONGEST = 2, 5
"""The lengths of n-grams of characters."""
MOST_NEW = 30
"""The most words of a sentence that make pairs with words of the other."""
MOST_CHARACTERS = 100
"""The most characters of a word that make n-grams: longer ones are no words."""
MOST_KEPT = 1 << 18
"""The most words whose n-grams of characters are kept in memory."""


class Bag(NamedTuple):
    """The n-grams of a text, and their weights."""

    columns: Int[np.ndarray, "n"]
    weights: Float32[np.ndarray, "n"]


class Ngrams:
    """The n-grams that occur in at least `min_count` training texts.

    They are words, pairs of neighbouring words and, with `characters`, the characters within each word, with a space
    before and after it. For a `pair` of sentences they are the words of each sentence, those that both have, those that
    only one has, pairs of these, and the numbers of words. A text becomes a sparse vector of tf-idf weights. N-grams
    with line breaks in them are left out.
    """

    def __init__(self, names: Sequence[str], idf: Float32[np.ndarray, "ngrams"]) -> None:
        self.names, self.idf = list(names), idf
        self.index = {name: i for i, name in enumerate(self.names)}
        for i, name in enumerate(self.names):
            if name[:1] not in KINDS or name[1:2] != " " or "\n" in name:  # the file has one n-gram per line
                raise ValueError(f"names[{i}]: expected a letter of {''.join(KINDS)}, a space and a line, got {name!r}")
        if len(self.index) < len(self.names) or len(idf) != len(self.names):
            raise ValueError("names: expected each n-gram once, with its idf")
        kinds = {name[0] for name in self.names}
        self.pair, self.characters = not kinds <= {"w", "c"}, "c" in kinds
        self._kept: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.names)

    @property
    def words(self) -> Int[np.ndarray, "n"]:
        """The columns of all n-grams but those of characters."""
        return np.array([i for i, name in enumerate(self.names) if name[0] != "c"], np.int64)

    def only(self, columns: Int[np.ndarray, "n"]) -> "Ngrams":
        """Only the n-grams of these columns."""
        return Ngrams([self.names[i] for i in columns], self.idf[columns])

    @classmethod
    def of(
        cls, texts: Iterable[list[list[str]]], min_count: int = 2, characters: bool = True, pair: bool = False
    ) -> Self:
        """The n-grams of training texts, which are lists of sentences of words."""
        found, size, inside = Counter[str](), 0, dict[str, list[str]]()
        for sentences in texts:
            size += 1
            found.update(set(pair_ngrams(*sentences) if pair and len(sentences) == 2 else word_ngrams(sentences)))
            if characters and not pair:
                words = {word for sentence in sentences for word in sentence}
                for word in words - inside.keys():
                    inside[word] = character_ngrams(word)
                found.update(set[str]().union(*(inside[word] for word in words)))
        kept = sorted(name for name, count in found.items() if count >= min_count and "\n" not in name)
        counts = np.array([found[name] for name in kept], np.float32)
        return cls(kept, np.log((1 + size) / (1 + counts)) + 1)

    def bag(self, sentences: list[list[str]]) -> Bag:
        """The known n-grams of a text, in the order of their columns."""
        whole = pair_ngrams(*sentences) if self.pair and len(sentences) == 2 else word_ngrams(sentences)
        found = [i for name in whole if (i := self.index.get(name)) is not None]
        if self.characters:
            found += [i for sentence in sentences for word in sentence for i in self._inside(word)]
        columns, counts = np.unique(np.array(found, np.int64), return_counts=True)
        weights = (1 + np.log(counts)) * self.idf[columns]
        kinds = np.array([ord(self.names[i][0]) for i in columns], np.int64)
        squares = np.bincount(kinds, weights * weights)
        norms = np.array([KINDS[chr(kind)].norm if square else 0.0 for kind, square in enumerate(squares)])
        norms[squares > 0] /= np.sqrt(squares[squares > 0])
        return Bag(columns, (weights * norms[kinds]).astype(np.float32))

    def vectors(self, texts: Iterable[list[list[str]]]) -> "csr_array":
        """The vectors of texts, in rows."""
        from scipy.sparse import csr_array

        bags = [Bag(np.zeros(0, np.int64), np.zeros(0, np.float32)), *map(self.bag, texts)]
        columns, weights = (np.concatenate(part) for part in zip(*bags, strict=True))
        ends = np.cumsum([len(bag.columns) for bag in bags])
        return csr_array((weights, columns, ends), shape=(len(bags) - 1, len(self)))

    def _inside(self, word: str) -> list[int]:
        """The known n-grams of characters of a word."""
        columns = self._kept.get(word)
        if columns is None:
            columns = [i for name in character_ngrams(word) if (i := self.index.get(name)) is not None]
            if len(self._kept) < MOST_KEPT:
                self._kept[word] = columns
        return columns

    def save(self, path: Path) -> None:
        """Write the n-grams to a file, each in a line with its idf."""
        lines = (f"{idf!r} {name}\n" for name, idf in zip(self.names, self.idf.tolist(), strict=True))
        path.write_bytes("".join(lines).encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the n-grams that `save` wrote."""
        try:
            *lines, rest = path.read_bytes().decode().split("\n")
            if rest:
                raise ValueError(f"line {len(lines) + 1} does not end: expected a whole file")
            parts = [line.partition(" ") for line in lines]
            return cls([name for _, _, name in parts], np.array([float(idf) for idf, _, _ in parts], np.float32))
        except ValueError as error:
            raise BadInput(f"{path}: not a list of n-grams with their idf: {error}") from None


def word_ngrams(sentences: list[list[str]]) -> Iterator[str]:
    """The words and pairs of neighbouring words of a text, each as often as it occurs."""
    for words in sentences:
        yield from (f"w {gram}" for gram in _grams(words))


def pair_ngrams(first: list[str], second: list[str]) -> Iterator[str]:
    """The n-grams of a pair of sentences, each as often as it occurs."""
    one, two = _grams(first), _grams(second)
    in_one, in_two = set(one), set(two)
    yield from (f"1 {gram}" for gram in one)
    yield from (f"2 {gram}" for gram in two)
    yield from (f"= {gram}" for gram in two if gram in in_one)
    yield from (f"< {gram}" for gram in one if gram not in in_two)
    yield from (f"> {gram}" for gram in two if gram not in in_one)
    lost = [word for word in dict.fromkeys(first) if word not in in_two][:MOST_NEW]
    new = [word for word in dict.fromkeys(second) if word not in in_one][:MOST_NEW]
    yield from (f"x {word} {other}" for word in lost for other in new)
    common = sum(word in in_one for word in second)
    yield f"n {10 * common // max(1, len(second))} of 10 words in common"
    yield f"n {min(10, len(second) - common)} words of the second only"
    yield f"n {min(20, len(second))} words in the second"
    yield f"n {max(-20, min(20, len(second) - len(first)))} words more in the second"


def character_ngrams(word: str) -> list[str]:
    """The n-grams of characters of a word, with a space before and after it."""
    padded = f" {word[:MOST_CHARACTERS]} "
    return [f"c {padded[i : i + n]}" for n in range(SHORTEST, LONGEST + 1) for i in range(len(padded) - n + 1)]


def _grams(words: list[str]) -> list[str]:
    return [*words, *(f"{one} {other}" for one, other in pairwise(words))]
