"""The split of a corpus into rows for training, development and testing."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from treetext.data.document import BadInput
from treetext.data.readers.base import Reader


def split_rows(splits: Sequence[str] | np.ndarray, data: Reader) -> dict[str, Int[np.ndarray, "_"]]:
    """The rows of train, dev and test, in ascending order. `splits` has the split of each row, as the reader gave it.

    Unsplit rows are split at random, into the shares `split` or into `folds` folds, each of which is the test set once.
    If there is a training set but no development set, `dev_share` of the former becomes the latter. The same seed
    gives the same split.
    """
    given = np.asarray(splits, dtype=str)
    rows = {name: np.flatnonzero(given == name) for name in ("train", "dev", "test")}
    unsplit = np.flatnonzero(given == "all")
    if sum(map(len, rows.values())) + len(unsplit) != len(given):
        unknown = sorted(set(given.tolist()) - {"all", *rows})
        raise ValueError(f"splits: expected train, dev, test or all, got {', '.join(unknown)}")
    # NumPy guarantees that this legacy generator gives the same numbers in all versions.
    shuffled = np.random.RandomState(data.seed).permutation(unsplit)
    if data.folds is not None:
        if len(unsplit) != len(given):
            raise BadInput("folds: the data come split into train, dev and test; expected data that are not")
        if len(unsplit) < data.folds:
            raise BadInput(f"folds: {data.folds} folds of {len(unsplit)} rows; expected at most one fold a row")
        parts = np.array_split(shuffled, data.folds)
        rest = np.concatenate(parts[: data.fold] + parts[data.fold + 1 :])
        rows["train"], rows["dev"], rows["test"] = *_dev(rest, data), parts[data.fold]
    elif len(unsplit):
        ends = np.rint(np.cumsum(data.split[:2]) * len(unsplit)).astype(int)
        for name, part in zip(rows, np.split(shuffled, ends), strict=True):
            rows[name] = np.concatenate([rows[name], part])
    elif len(rows["train"]) and not len(rows["dev"]):
        rows["train"], rows["dev"] = _dev(rows["train"], data)
    return {name: np.sort(part) for name, part in rows.items()}


def _dev(train: Int[np.ndarray, "_"], data: Reader) -> tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]:
    """Split a training set into what remains of it and a development set."""
    shuffled = np.random.RandomState(data.seed).permutation(train)
    size = round(data.dev_share * len(train))
    return shuffled[size:], shuffled[:size]
