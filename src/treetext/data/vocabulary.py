"""The words that a model knows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from treetext.data.document import BadInput
from treetext.data.tokens import check_unicode

PAD_ID, UNK_ID = 0, 1
SPECIAL = ["<pad>", "<unk>"]


class Vocabulary:
    """Words and their ids. ``PAD_ID`` (0) is padding, ``UNK_ID`` (1) stands for all unknown words.

    `words` are in the order of their ids. A word "<pad>" in a text gets the id ``UNK_ID``.
    """

    def __init__(self, words: list[str]) -> None:
        if words[:2] != SPECIAL:
            raise ValueError(f"words: expected {' and '.join(SPECIAL)} first, got {words[:2]}")
        self.words = words
        self.index = {word: i for i, word in enumerate(words) if i != PAD_ID}
        for i, word in enumerate(words[1:], start=1):
            if self.index[word] != i:
                raise ValueError(f"words: expected each word once, got {word!r} at {i} and at {self.index[word]}")
            if not word or "\n" in word:  # the file has one word per line
                raise ValueError(f"words[{i}]: expected a word without line breaks, got {word!r}")
            check_unicode(word, f"words[{i}]")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_count: int) -> Self:
        """The words that occur at least `min_count` times, by descending frequency, then alphabetically."""
        kept = [(-count, word) for word, count in counts.items() if count >= min_count and word not in SPECIAL]
        return cls(SPECIAL + [word for _, word in sorted(kept)])

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Iterable[str]) -> list[int]:
        """The id of each word, ``UNK_ID`` for unknown words."""
        return [self.index.get(word, UNK_ID) for word in words]

    def save(self, path: Path) -> None:
        """Write a text file with one word per line."""
        path.write_bytes("".join(f"{word}\n" for word in self.words).encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        try:
            *words, rest = path.read_bytes().decode().split("\n")
            if rest:
                raise ValueError(f"line {len(words) + 1} does not end: expected a whole file")
            return cls(words)
        except ValueError as error:
            raise BadInput(f"{path}: not a vocabulary with a word a line: {error}") from None
