"""Corpora for models: encoded (and cached), split, with classes and gold trees."""

import functools
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from jaxtyping import Int
from platformdirs import user_cache_path

from treetext.data.document import UNKNOWN, BadInput, Progress, counted
from treetext.data.encoded import Encoded, encode
from treetext.data.readers.base import Reader
from treetext.data.splits import EMPTY, Hashes, kept_rows, split_hashes, split_rows
from treetext.data.tasks import Task
from treetext.data.tokens import Tokenizer

NO_CLASS = -1
"""The class of a row whose label is unknown."""
FEW_CLASSES = 20
"""So many classes may be more than half as many as there are texts."""
MOST_LISTED = 20
"""The most classes that a message lists."""


@dataclass(frozen=True)
class Corpus:
    """The encoded texts, and the rows of each split: train, dev and test."""

    data: Reader
    encoded: Encoded
    rows: dict[str, Int[np.ndarray, "_"]]
    fingerprint: str
    notes: list[str]
    """Remarks on data that were left out."""

    @property
    def name(self) -> str:
        """The name of the corpus in messages."""
        return self.data.name

    @property
    def task(self) -> Task:
        """The task: documents or pairs."""
        return self.data.task

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts."""
        return self.data.tokenizer

    @cached_property
    def classes(self) -> list[str]:
        """The labels of the training data: numbers in ascending order, then all others alphabetically."""
        labels = {self.encoded.label_names[i] for i in np.unique(self.encoded.labels[self.rows["train"]]) if i >= 0}
        if len(labels) < 2:
            classes = counted(len(labels), "class", "es")
            raise BadInput(f"{self.name}: the training data have {classes}; expected two or more")
        if len(labels) > max(FEW_CLASSES, len(self.rows["train"]) / 2):
            problem = f"{len(labels):,} classes for {counted(len(self.rows['train']), 'training text')}"
            raise BadInput(f"{self.name}: {problem}; expected two or more texts of most classes: is data.label right?")
        return sorted(labels, key=_in_order)

    @cached_property
    def remarks(self) -> list[str]:
        """What is odd about the texts, the labels and the split."""
        remarks, labels, texts = self.cut(), self.encoded.labels, self.encoded.hashes
        names: dict[str, list[str]] = {}
        for label in sorted(self.encoded.label_names):
            names.setdefault(label.strip().casefold(), []).append(label)
        if spaced := [label for label in sorted(self.encoded.label_names) if label != label.strip()]:
            remarks.append(f"{self.name}: labels with spaces around them: {len(spaced):,}, such as {spaced[0]!r}")
        for same in names.values():
            if len(same) > 1:
                listed = " and ".join(map(repr, same))
                problem = "differ only in case or spaces: they are different classes"
                remarks.append(f"{self.name}: the labels {listed} {problem}")
        train = self.rows["train"]
        alone = train[~np.isin(labels[train], labels[np.concatenate([self.rows["dev"], self.rows["test"]])])]
        if 0 < len(alone) < len(train):
            count = len(np.unique(labels[alone]))
            texts_of = f"{counted(len(alone), 'text')} of {counted(count, 'class', 'es')}"
            remarks.append(f"{self.name}: only in train, not in dev or test: {texts_of}")
        for split, others in (("test", ("train", "dev")), ("dev", ("train",))):
            rows = self.rows[split]
            elsewhere = np.concatenate([texts[self.rows[other]] for other in others])
            count = int(np.count_nonzero(np.isin(texts[rows], elsewhere) & (texts[rows] != EMPTY)))
            if count:
                shared = f"{count:,} of {counted(len(rows), f'{split} text')}"
                remarks.append(f"{self.name}: {shared} are also in {' or '.join(others)}")
        return remarks

    def cut(self, split: str | None = None) -> list[str]:
        """A remark on the texts of a split (default: of all) that were cut; empty if none was."""
        cut = self.encoded.cut if split is None else self.encoded.cut[self.rows[split]]
        beyond = int(np.count_nonzero(cut))
        return [self.tokenizer.limits.remark(self.name, beyond, len(cut))] if beyond else []

    @property
    def hashes(self) -> Hashes:
        """The hashes of the texts of each split, to recognise these texts later."""
        return split_hashes(self.rows, self.encoded.hashes)

    def split_fingerprint(self, split: str) -> str:
        """A hash of the texts of a split with their labels, whatever their order and the file that they are in."""
        rows, names = self.rows[split], np.array([*self.encoded.label_names, ""])
        pairs = zip(self.encoded.hashes[rows].tolist(), names[self.encoded.labels[rows]].tolist(), strict=True)
        return hashlib.sha256(json.dumps(sorted(pairs)).encode()).hexdigest()

    def part(self, split: str) -> str:
        """The split by its name, or all if the corpus has no other texts, as a file that is used as a whole."""
        return "all" if len(self.rows[split]) == len(self.encoded) else split

    def as_trained(self, trained: Mapping[str, np.ndarray]) -> "Corpus":
        """The corpus with the split that its texts had in training, given the `hashes` of that time.

        Only what treetext split itself is split anew, and only if the texts or their splits are others now. New texts
        stay where they are.
        """
        given = np.array(self.encoded.split_names)[self.encoded.splits]
        movable = np.flatnonzero(np.isin(given, ["all"] if "dev" in given else ["all", "train"]))
        if not len(movable) or all(np.array_equal(texts, trained[name]) for name, texts in self.hashes.items()):
            return self
        texts = self.encoded.hashes
        rows = kept_rows(self.rows, texts, movable, trained)
        known = np.unique(np.concatenate([*trained.values()]))
        new, gone = int(np.count_nonzero(~np.isin(texts, known))), int(np.count_nonzero(~np.isin(known, texts)))
        counts = f"{counted(len(texts) - new, 'text')} in the same split, {new:,} new, {gone:,} missing"
        note = f"{self.name}: not the texts or the split of training: {counts}"
        return replace(self, rows=rows, notes=[*self.notes, note])

    def seen(self, split: str, trained: Mapping[str, np.ndarray]) -> dict[str, int]:
        """How many texts of a split are known from training: as texts of train or, if this is test, of dev."""
        texts = self.encoded.hashes[self.rows[split]]
        texts, counts = texts[texts != EMPTY], {}
        for name in ("train", "dev")[: ("train", "dev", "test").index(split)]:
            known = np.isin(texts, trained[name])
            counts[name], texts = int(np.count_nonzero(known)), texts[~known]
        return counts

    def targets(self, classes: list[str]) -> Int[np.ndarray, "rows"]:
        """The class of each row of the corpus, as an index; `NO_CLASS` for other labels and for none."""
        index = {label: i for i, label in enumerate(classes)}
        known = np.array([index.get(label, NO_CLASS) for label in self.encoded.label_names] + [NO_CLASS])
        targets: np.ndarray = known[self.encoded.labels]
        return targets

    def prior(self, classes: list[str]) -> list[float]:
        """The share of each class in the training data."""
        targets = self.targets(classes)[self.rows["train"]]
        shares: list[float] = (np.bincount(targets, minlength=len(classes)) / len(targets)).tolist()
        return shares

    def whole(self, split: str) -> Int[np.ndarray, "_"]:
        """The rows of a split that a model can score: documents with words, pairs with words in both sentences."""
        rows = self.rows[split]
        whole: np.ndarray = rows[self.task.is_whole(self.encoded.sentence_counts[rows])]
        return whole

    def gold_heads(self, level: str, rows: Int[np.ndarray, "_"]) -> Int[np.ndarray, "_"] | None:
        """The gold heads of some rows at a level (words or sentences), concatenated. None if a head is not known."""
        known = self.encoded.heads if level == "words" else self.encoded.sentence_heads
        heads = [known(row) for row in rows.tolist()]
        if any(each is None or (each == UNKNOWN).any() for each in heads):
            return None
        return np.concatenate([np.zeros(0, np.int32), *heads])

    def check_split(self, split: str) -> None:
        """Raise `BadInput` for a split that has no rows."""
        if not len(self.rows.get(split, ())):
            there = ", ".join(name for name, rows in self.rows.items() if len(rows)) or "none"
            raise BadInput(f"{self.name}: no {split} data; expected one of these splits: {there}")

    def check_labels(self, classes: list[str], splits: tuple[str, ...] = ("dev", "test")) -> None:
        """Raise `BadInput` for a label in these splits that is not among the classes, and for a missing label."""
        targets = self.targets(classes)
        for split in splits:
            for row in self.rows[split][targets[self.rows[split]] == NO_CLASS]:
                label = self.encoded.label(int(row))
                problem = "no label" if label is None else f"label {label!r} is not among those of the training data"
                listed = ", ".join(classes[:MOST_LISTED]) + ", …" * (len(classes) > MOST_LISTED)
                raise BadInput(f"{self.encoded.where(int(row))}: {problem}; expected one of {listed}")


def open_corpus(data: Reader, progress: Progress | None = None, labels: bool = True) -> Corpus:
    """Read, tokenise and encode a corpus, or open it from the cache if the same code has encoded it before."""
    columns: list[str] = []
    data = data.recognised(columns.append, labels=labels)
    key, notes = data.fingerprint(), list[str]()
    path = cache() / f"{key if labels else 'unlabelled-' + key}-{_code()}.arrow"
    note_path = path.with_suffix(".txt")  # written last, so if it exists, the corpus is complete
    encoded = _opened(path) if note_path.exists() else None
    if encoded is None:
        report = partial(progress, "reading texts") if progress else None
        encoded = encode(data.read(notes, labels), data.tokenizer, path, report)
        note_path.write_text("".join(f"{note}\n" for note in notes), encoding="utf-8")
    notes = note_path.read_text(encoding="utf-8").splitlines()
    order = {label: i for i, label in enumerate(sorted(encoded.label_names))}
    classes = np.array([*(order[label] for label in encoded.label_names), -1])[encoded.labels]
    rows = split_rows(np.array(encoded.split_names)[encoded.splits], data, classes, encoded.hashes)
    return Corpus(data, encoded, rows, key, [*columns, *notes])


def cache() -> Path:
    """The directory of encoded corpora: TREETEXT_CACHE (default: the user's cache directory of this system)."""
    path = Path(os.environ.get("TREETEXT_CACHE") or user_cache_path("treetext"))
    path.mkdir(parents=True, exist_ok=True)
    return path


@functools.cache
def _code() -> str:
    """A hash of the code that reads, generates, tokenises and encodes texts. Other code may give other texts."""
    code = hashlib.sha256(version("spacy").encode())
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        code.update(file.read_bytes())
    return code.hexdigest()[:16]


def _opened(path: Path) -> Encoded | None:
    try:
        return Encoded(path)
    except BadInput:  # another version, or damaged: encode again
        return None


def _in_order(label: str) -> tuple[int, float, str]:
    number = re.fullmatch(r"[+-]?\d+(\.\d+)?", label)
    return (0, float(label), label) if number else (1, 0.0, label)
