"""Counts of a corpus, as in the paper's table of statistics."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from treetext.data.encoded import Encoded


class SplitCounts(NamedTuple):
    """The size of a split of a corpus."""

    split: str
    """train, dev, test, or all for the whole corpus."""
    documents: int
    sentences: float
    """Mean number of sentences of a document."""
    words: float
    """Mean number of words of a document."""
    empty: int
    """The number of documents without words."""
    classes: dict[str, int]
    """The number of documents of each class, largest class first. Unlabelled documents are not counted."""


def describe(encoded: Encoded, rows: Mapping[str, Int[np.ndarray, "_"]]) -> list[SplitCounts]:
    """Counts for each nonempty split of `rows` (as from `split_rows`), and for all of them together."""
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
