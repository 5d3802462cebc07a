"""Encoded corpora: documents as word ids in a memory-mapped Arrow file, which may be larger than memory."""

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from jaxtyping import Int
from numpy.typing import ArrayLike

from treetext.data.document import REDUCE, SHIFT, UNKNOWN, BadInput, Example
from treetext.data.tokens import Tokenizer, check_unicode

FORMAT = b"4"
INTEGERS = pa.list_(pa.int32())
SCHEMA = pa.schema(
    {
        "words": INTEGERS,  # ids, in order of first occurrence
        "new": pa.list_(pa.string()),  # words that first occur in this row; the lexicon is all of these
        "lengths": INTEGERS,
        "label": pa.string(),
        "where": pa.string(),
        "hash": pa.uint64(),  # of the words and sentences: see `text_hash`
        "split": pa.string(),
        "cut": pa.bool_(),  # whether the rest of a longer text was left out
        "heads": INTEGERS,
        "sentence_heads": INTEGERS,
        "parses": INTEGERS,
    },
    metadata={"treetext": FORMAT},
)
MOST_WORDS, MOST_ROWS = 1 << 18, 1 << 14  # in one record batch


def encode(
    examples: Iterable[tuple[str, Example]],
    tokenizer: Tokenizer,
    path: Path,
    progress: Callable[[int], object] | None = None,
) -> "Encoded":
    """Write a stream of (split, example) to a file. Only the distinct words are kept in memory.

    `progress` is a callback that gets the number of documents done since its last call. Texts beyond the limits of the
    tokenizer lose their gold trees.
    """
    unreported = 0
    with EncodedWriter(path) as writer:
        for split, example in examples:
            try:
                whole = tokenizer.whole(example.text)
            except BadInput as error:
                raise BadInput(f"{example.where}: {error}") from None
            sentences = tokenizer.limits.cut(whole)
            if cut := sentences != whole:
                example = example._replace(heads=None, sentence_heads=None, parses=None)
            writer.add(example, tokenizer.read(sentences), split, cut)
            unreported += 1
            if progress and unreported == 100:
                progress(unreported)
                unreported = 0
    if progress:
        progress(unreported)
    return Encoded(path)


def text_hash(sentences: list[list[str]]) -> int:
    """A hash of a tokenised text, in 8 bytes. Equal texts have equal hashes in all corpora."""
    text = "\n".join(map(" ".join, sentences))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


class Encoded:
    """A corpus that `encode` wrote. Rows count from 0. The arrays of a row are read-only views of the file.

    `lexicon` has all words of the corpus, in order of first occurrence. `sizes` and `sentence_counts` have the number
    of words and sentences of each row, `hashes` the `text_hash` of each. `cut` says which rows are only the start of a
    longer text. `splits` and `labels` have the split and the
    label of each row, as indices into `split_names` and `label_names` (-1 for no label).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._batches = _read(path)
        self._words = [_Lists(batch["words"]) for batch in self._batches]
        self._lengths = [_Lists(batch["lengths"]) for batch in self._batches]
        self._starts = [0, *np.cumsum([batch.num_rows for batch in self._batches]).tolist()]
        self.lexicon: list[str] = [word for batch in self._batches for word in batch["new"].values.to_pylist()]
        self.sizes = _joined([np.diff(words.offsets) for words in self._words])
        self.sentence_counts = _joined([np.diff(lengths.offsets) for lengths in self._lengths])
        self.hashes = np.concatenate([np.zeros(0, np.uint64), *(batch["hash"].to_numpy() for batch in self._batches)])
        self.cut = np.concatenate(
            [np.zeros(0, bool), *(batch["cut"].to_numpy(zero_copy_only=False) for batch in self._batches)]
        )
        self.splits, self.split_names = self._coded("split")
        self.labels, self.label_names = self._coded("label")

    def __len__(self) -> int:
        return len(self.sizes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoded, (self.path,)  # a worker process maps the file itself

    @property
    def empty(self) -> int:
        """The number of documents without words."""
        return int(np.count_nonzero(self.sizes == 0))

    def words(self, row: int) -> Int[np.ndarray, "words"]:
        """The words of all sentences of a document, concatenated, as indices into the lexicon."""
        batch, i = self._find(row)
        return self._words[batch][i]

    def lengths(self, row: int) -> Int[np.ndarray, "sentences"]:
        """The number of words of each sentence of a document."""
        batch, i = self._find(row)
        return self._lengths[batch][i]

    def heads(self, row: int) -> Int[np.ndarray, "words"] | None:
        """The gold head of each word, as an index into its sentence (-1 for a root), or None if unknown."""
        return self._known("heads", row)

    def sentence_heads(self, row: int) -> Int[np.ndarray, "sentences"] | None:
        """The gold head of each sentence (-1 for a root), or None if unknown."""
        return self._known("sentence_heads", row)

    def parses(self, row: int) -> Int[np.ndarray, "transitions"] | None:
        """The transitions of the binary parses of all sentences, concatenated, or None if unknown."""
        return self._known("parses", row)

    def label(self, row: int) -> str | None:
        """The label of a document, or None."""
        self._find(row)
        return self.label_names[self.labels[row]] if self.labels[row] >= 0 else None

    def where(self, row: int) -> str:
        """The source of a document, for messages."""
        batch, i = self._find(row)
        where: str = self._batches[batch]["where"][i].as_py()
        return where

    def document(self, row: int) -> list[list[str]]:
        """The sentences of a document, as lists of words."""
        words = [self.lexicon[word] for word in self.words(row).tolist()]
        ends = np.cumsum(self.lengths(row)).tolist()
        return [words[start:end] for start, end in pairwise([0, *ends])]

    def sentences(self, rows: ArrayLike) -> Iterable[list[str]]:
        """All sentences of these rows, as lists of words. Can be iterated many times, as `word2vec` does."""
        return _Sentences(self, rows)

    def counts(self, rows: ArrayLike) -> Int[np.ndarray, "lexicon"]:
        """How often each word of the lexicon occurs in these rows."""
        times = np.bincount(np.asarray(rows, dtype=np.int64), minlength=len(self))
        counts = np.zeros(len(self.lexicon))
        for words, (start, end) in zip(self._words, pairwise(self._starts), strict=True):
            weights = np.repeat(times[start:end], self.sizes[start:end])
            counts += np.bincount(words.values, weights, minlength=len(counts))
        return counts.astype(np.int64)

    def _find(self, row: int) -> tuple[int, int]:
        """The record batch of a row, and its index within that batch."""
        if not 0 <= row < len(self):
            raise IndexError(f"row: expected one of 0 to {len(self) - 1}, got {row}")
        batch = bisect_right(self._starts, row) - 1
        return batch, row - self._starts[batch]

    def _known(self, column: str, row: int) -> Int[np.ndarray, "_"] | None:
        batch, i = self._find(row)
        value = self._batches[batch][column][i]
        return value.values.to_numpy() if value.is_valid else None

    def _coded(self, column: str) -> tuple[Int[np.ndarray, "rows"], list[str]]:
        """A column of strings as indices into its distinct values."""
        strings = pa.chunked_array([batch[column] for batch in self._batches], pa.string())
        coded = strings.combine_chunks().dictionary_encode()
        return coded.indices.fill_null(-1).to_numpy(), coded.dictionary.to_pylist()


class EncodedWriter:
    """Writes an encoded corpus, one document at a time. Creates or replaces the file only if there was no error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._aside = path.with_name(f"{path.name}.{os.getpid()}.partial")
        self._lexicon = _Lexicon()

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = pa.OSFile(str(self._aside), "wb")
        self._writer = pa.ipc.new_file(self._file, SCHEMA)
        self._start_batch()
        return self

    def add(self, example: Example, sentences: list[list[str]], split: str, cut: bool = False) -> None:
        """Add a document with its sentences (none of them empty) to a split. `cut` says whether there were more."""
        lengths = [len(sentence) for sentence in sentences]
        if 0 in lengths:
            raise ValueError(f"sentences[{lengths.index(0)}]: expected at least one word, got none")
        try:
            _check_gold(example, lengths)
            check_unicode(example.label or "", "label")
            words = list(map(self._lexicon.__getitem__, chain.from_iterable(sentences)))
        except BadInput as error:
            raise BadInput(f"{example.where}: {error}") from None
        row = {
            "words": words,
            "new": self._lexicon.new,
            "lengths": lengths,
            "label": example.label,
            "where": example.where.encode(errors="backslashreplace").decode(),  # a path can be any bytes
            "hash": text_hash(sentences),
            "split": split,
            "cut": cut,
            "heads": None if example.heads is None else list(chain.from_iterable(example.heads)),
            "sentence_heads": example.sentence_heads,
            "parses": None if example.parses is None else list(chain.from_iterable(example.parses)),
        }
        for name, value in row.items():
            self._columns[name].append(value)
        self._lexicon.new = []
        self._size += len(words)
        if self._size >= MOST_WORDS or len(self._columns["words"]) == MOST_ROWS:
            self._write_batch()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._file:
                if kind is None:
                    self._write_batch()
                    self._writer.close()
            if kind is None:
                self._aside.replace(self.path)
        finally:
            self._aside.unlink(missing_ok=True)

    def _start_batch(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
        self._size = 0

    def _write_batch(self) -> None:
        columns = [pa.array(self._columns[field.name], field.type) for field in SCHEMA]
        self._writer.write_batch(pa.record_batch(columns, SCHEMA))
        self._start_batch()


class _Lexicon(dict[str, int]):
    """Gives each new word the next id, and keeps the words that are not yet written."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        check_unicode(word, f"word {word!a}")
        if "\n" in word:
            raise BadInput(f"word {word!r}: expected no line break within a word")
        self.new.append(word)
        return self.setdefault(word, len(self))


class _Lists:
    """The lists of an Arrow column, as views of its buffers."""

    def __init__(self, column: pa.ListArray) -> None:
        self.offsets: np.ndarray = column.offsets.to_numpy()
        self.values: np.ndarray = column.values.to_numpy()

    def __getitem__(self, i: int) -> Int[np.ndarray, "_"]:
        return self.values[self.offsets[i] : self.offsets[i + 1]]


class _Sentences:
    def __init__(self, encoded: Encoded, rows: ArrayLike) -> None:
        self.encoded, self.rows = encoded, np.asarray(rows).tolist()

    def __iter__(self) -> Iterator[list[str]]:
        return chain.from_iterable(map(self.encoded.document, self.rows))


def _read(path: Path) -> list[pa.RecordBatch]:
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    except (pa.ArrowException, OSError) as error:
        problem = str(error).splitlines()[0]
        raise BadInput(f"{path}: not a whole encoded corpus: {problem}; encode the texts again") from None
    if (version := (reader.schema.metadata or {}).get(b"treetext")) != FORMAT:
        raise BadInput(f"{path}: format {version!r}, expected {FORMAT!r}, that of this version; encode the texts again")
    return batches


def _joined(parts: list[Int[np.ndarray, "_"]]) -> Int[np.ndarray, "rows"]:
    return np.concatenate([np.zeros(0, np.int32), *parts])


def _check_gold(example: Example, lengths: list[int]) -> None:
    """Check that gold trees fit the words and sentences of the text."""
    heads, sentence_heads = example.heads, example.sentence_heads
    if heads is not None:
        if (sizes := [len(tree) for tree in heads]) != lengths:
            raise BadInput(f"heads: trees over {sizes} words; expected {lengths}, the words of each sentence")
        for i, tree in enumerate(heads):
            _check_heads(f"heads[{i}]", tree)
    if sentence_heads is not None:
        if len(sentence_heads) != len(lengths):
            expected = f"{len(lengths)}, as many as there are sentences with words"
            raise BadInput(f"sentence_heads: {len(sentence_heads)} heads; expected {expected}")
        _check_heads("sentence_heads", sentence_heads)
    if example.parses is not None:
        if len(example.parses) != len(lengths):
            raise BadInput(f"parses: {len(example.parses)} parses; expected {len(lengths)}, one for each sentence")
        for i, (transitions, words) in enumerate(zip(example.parses, lengths, strict=True)):
            _check_transitions(f"parses[{i}]", transitions, words)


def _check_heads(name: str, heads: list[int]) -> None:
    for head in heads:
        if not (-1 <= head < len(heads) or head == UNKNOWN):
            raise BadInput(f"{name}: a head of {head}; expected -1 for a root, or one of 0 to {len(heads) - 1}")


def _check_transitions(name: str, transitions: list[int], words: int) -> None:
    """Check that a binary parse shifts each word once and leaves one constituent."""
    held = 0
    for transition in transitions:
        held += 1 if transition == SHIFT else -1 if transition == REDUCE and held > 1 else -len(transitions)
    if held != 1 or transitions.count(SHIFT) != words:
        raise BadInput(f"{name}: no binary parse of {words} words; expected {2 * words - 1} transitions that make one")
