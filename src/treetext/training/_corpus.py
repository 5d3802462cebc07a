"""A corpus made ready for a model: encoded once and kept, split, with its vocabulary, its classes and its vectors."""

import functools
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int
from platformdirs import user_cache_path

from treetext import corpora, text
from treetext.corpora import Data, fingerprint, read, split_rows
from treetext.text import UNK, BadInput, Batch, Encoded, Tokenizer, Vocabulary, batch, encode, read_vectors, word2vec
from treetext.training import _recipe

Progress = Callable[[str, int], object]
"""Is told what is being done, and how many more items are."""
UNKNOWN = -1


@dataclass(frozen=True)
class Corpus:
    """The encoded texts, and which of them are for training, development and testing."""

    data: Data
    encoded: Encoded
    rows: dict[str, Int[np.ndarray, "_"]]
    fingerprint: str
    notes: list[str]
    """What was left out on the way, and why."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What cut the texts into words."""
        return Tokenizer(self.data.language, self.data.lowercase, self.data.tokenized)

    @cached_property
    def classes(self) -> list[str]:
        """The labels of the training data: numbers in their order, all else by the alphabet."""
        found = {self.encoded.label_names[i] for i in np.unique(self.encoded.labels[self.rows["train"]]) if i >= 0}
        if len(found) < 2:
            raise BadInput(f"{self.name}: the training data have {len(found)} classes; expected two or more")
        return sorted(found, key=_in_order)

    def targets(self, classes: list[str]) -> Int[np.ndarray, "rows"]:
        """The class of each row of the corpus, `UNKNOWN` for labels that are not among the classes."""
        index = {label: i for i, label in enumerate(classes)}
        known = np.array([index.get(label, UNKNOWN) for label in self.encoded.label_names] + [UNKNOWN])
        targets: np.ndarray = known[self.encoded.labels]
        return targets

    def check_split(self, split: str) -> None:
        """Refuse a split that is not there."""
        if not len(self.rows.get(split, ())):
            there = ", ".join(name for name, rows in self.rows.items() if len(rows)) or "none"
            raise BadInput(f"{self.name}: no {split} data; expected one of the splits that there are: {there}")

    def check_labels(self, classes: list[str], splits: tuple[str, ...] = ("dev", "test")) -> None:
        """Refuse labels in these splits that no training text has."""
        targets = self.targets(classes)
        for split in splits:
            for row in self.rows[split][targets[self.rows[split]] == UNKNOWN]:
                label = self.encoded.label(int(row))
                problem = "no label" if label is None else f"label {label!r} is not among those of the training data"
                raise BadInput(f"{self.encoded.where(int(row))}: {problem}; expected one of {', '.join(classes)}")

    def vocabulary(self, settings: "_recipe.Vocabulary") -> Vocabulary:
        """The words that are frequent enough in the training data."""
        counts = self.encoded.counts(self.rows["train"]).tolist()
        return Vocabulary.from_counts(dict(zip(self.encoded.lexicon, counts, strict=True)), settings.min_count)

    def vectors(
        self, settings: "_recipe.Vocabulary", vocabulary: Vocabulary, size: int, seed: int, progress: Progress | None
    ) -> tuple[Float32[np.ndarray, "words size"] | None, str | None]:
        """Where the vectors of the words start, None for random ones; and a remark on how many were found."""
        if settings.vectors == "random":
            if settings.deviation is None:
                return None, None
            drawn = np.random.default_rng(seed).normal(0, settings.deviation, (len(vocabulary), size))
            return drawn.astype(np.float32), None
        if settings.vectors == "word2vec":
            rows = np.concatenate([self.rows["train"], self.rows["dev"]])
            learnt = word2vec(
                self.encoded.sentences(rows),
                size,
                words=vocabulary.words,
                skip_gram=settings.skip_gram,
                window=settings.window,
                epochs=settings.epochs,
                seed=seed,
                progress=partial(progress, "word2vec: sentences") if progress else None,
            )
            return _scaled(learnt, learnt[1:], settings.deviation), None  # that of the padding is 0
        vectors, found = read_vectors(Path(settings.vectors).expanduser(), vocabulary.words, size)
        vectors = _scaled(vectors, vectors[found], settings.deviation)
        vectors[~found] = np.random.default_rng(seed).normal(0, 0.1, (np.count_nonzero(~found), size))
        return vectors, f"{settings.vectors} has vectors for {found.sum():,} of {len(vocabulary):,} words"

    @property
    def name(self) -> str:
        """What to call the corpus in messages."""
        return self.data.path or self.data.train or self.data.format


class Batches:
    """From rows to tensors, with the words of a vocabulary: what a `DataLoader` calls to collate."""

    def __init__(
        self, corpus: Corpus, vocabulary: Vocabulary, classes: list[str], finish: Callable[[Batch], Any]
    ) -> None:
        self.encoded, self.targets, self.finish = corpus.encoded, corpus.targets(classes), finish
        self.ids = np.array(vocabulary.ids(corpus.encoded.lexicon) or [UNK])

    def __call__(self, rows: list[int]) -> Any:
        """All tensors of a batch."""
        documents = [(self.ids[self.encoded.words(row)], self.encoded.lengths(row)) for row in rows]
        return self.finish(batch(documents, self.targets[rows], rows))


def open_corpus(data: Data, progress: Progress | None = None, labels: bool = True) -> Corpus:
    """Read, tokenise and encode a corpus; what was encoded before, by the same code, is taken from the cache."""
    key, notes = fingerprint(data), list[str]()
    path = cache() / f"{key if labels else 'unlabelled-' + key}-{_code()}.arrow"
    note_path = path.with_suffix(".txt")  # written last, so that it says that all is there
    encoded = _opened(path) if note_path.exists() else None
    if encoded is None:
        tokenizer = Tokenizer(data.language, data.lowercase, data.tokenized)
        told = partial(progress, "reading texts") if progress else None
        encoded = encode(read(data, notes, labels), tokenizer, path, told)
        note_path.write_text("".join(f"{note}\n" for note in notes), encoding="utf-8")
    notes = note_path.read_text(encoding="utf-8").splitlines()
    rows = split_rows(np.array(encoded.split_names)[encoded.splits], data)
    return Corpus(data, encoded, rows, key, notes)


def cache() -> Path:
    """Where encoded corpora are kept: TREETEXT_CACHE, or where this system keeps such things."""
    path = Path(os.environ.get("TREETEXT_CACHE") or user_cache_path("treetext"))
    path.mkdir(parents=True, exist_ok=True)
    return path


@functools.cache
def _code() -> str:
    """A hash of what reads, generates, tokenises and encodes texts: another version of it may do so otherwise."""
    files = sorted(file for package in (corpora, text) for file in Path(package.__path__[0]).glob("*.py"))
    found = hashlib.sha256(version("spacy").encode())
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _opened(path: Path) -> Encoded | None:
    try:
        return Encoded(path)
    except BadInput:  # of another version, or damaged: made again
        return None


def _scaled(
    vectors: Float32[np.ndarray, "words size"], known: Float32[np.ndarray, "some size"], deviation: float | None
) -> Float32[np.ndarray, "words size"]:
    """By the factor that gives the numbers of the known ones a deviation; as they are, if these are all the same."""
    spread = known.std(dtype=np.float64) if known.size else 0  # in float32, that of equal numbers need not be 0
    return vectors if deviation is None or not spread else (vectors * (deviation / spread)).astype(np.float32)


def _in_order(label: str) -> tuple[int, float, str]:
    number = re.fullmatch(r"[+-]?\d+(\.\d+)?", label)
    return (0, float(label), label) if number else (1, 0.0, label)
