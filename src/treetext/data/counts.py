"""Counts of a corpus, as in the paper's table of statistics."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from treetext.data.encoded import Encoded


class SplitCounts(NamedTuple):
    """How large a split of a corpus is."""

    split: str
    """train, dev, test, or all for the whole."""
    documents: int
    sentences: float
    """Sentences of a document, on average."""
    words: float
    """Words of a document, on average."""
    empty: int
    """Documents without a word."""
    classes: dict[str, int]
    """How many documents each class has, the largest class first; unlabelled documents are in none."""


def describe(encoded: Encoded, rows: Mapping[str, Int[np.ndarray, "_"]]) -> list[SplitCounts]:
    """Counts of the rows of each split that has any, as from `split_rows`, and of all of them together."""
    parts = {name: part for name, part in rows.items() if len(part)}
    if not parts:
        return []
    parts["all"] = np.concatenate(list(parts.values()))
    return [_counts(encoded, name, part) for name, part in parts.items()]


def _counts(encoded: Encoded, name: str, rows: Int[np.ndarray, "rows"]) -> SplitCounts:
    words, labels = encoded.sizes[rows], encoded.labels[rows]
    counts = np.bincount(labels[labels >= 0], minlength=len(encoded.label_names)).tolist()
    largest = sorted((-count, label) for label, count in zip(encoded.label_names, counts, strict=True) if count)
    return SplitCounts(
        name,
        documents=len(rows),
        sentences=float(encoded.sentence_counts[rows].mean()),
        words=float(words.mean()),
        empty=int(np.count_nonzero(words == 0)),
        classes={label: -count for count, label in largest},
    )
