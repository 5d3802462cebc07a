"""The split of a corpus into rows for training, development and testing."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int, UInt64

from treetext.data.document import BadInput
from treetext.data.encoded import text_hash
from treetext.data.readers.base import Reader

Rows = dict[str, Int[np.ndarray, "_"]]
"""The rows of train, dev and test, in ascending order."""
Hashes = dict[str, UInt64[np.ndarray, "_"]]
"""The hashes of the texts of train, dev and test, each once."""
SPLITS = ("train", "dev", "test")
EMPTY = np.uint64(text_hash([]))
"""The hash of all texts without words, which are not copies of one another."""


def split_rows(
    splits: Sequence[str] | np.ndarray,
    data: Reader,
    classes: Int[np.ndarray, "rows"] | None = None,
    texts: UInt64[np.ndarray, "rows"] | None = None,
) -> Rows:
    """The rows of train, dev and test, in ascending order. `splits` has the split of each row, as the reader gave it.

    Unsplit rows are split at random, into the shares `split` or into `folds` folds, each of which is the test set once.
    If there is a training set but no development set, `dev_share` of the former becomes the latter. The same seed
    gives the same split.

    With `classes` (numbers) and `texts` (hashes), and if the data are to be stratified, each class is split in these
    shares, and rows with the same text stay together. A class with too few texts to be split is all in training. Such a
    split does not depend on the order of the rows.
    """
    given = np.asarray(splits, dtype=str)
    rows = {name: np.flatnonzero(given == name) for name in SPLITS}
    unsplit = np.flatnonzero(given == "all")
    if sum(map(len, rows.values())) + len(unsplit) != len(given):
        unknown = sorted(set(given.tolist()) - {"all", *rows})
        raise ValueError(f"splits: expected train, dev, test or all, got {', '.join(unknown)}")
    if data.folds is not None and len(unsplit) != len(given):
        raise BadInput("folds: the data come split into train, dev and test; expected data that are not")
    if data.folds is not None and len(unsplit) < data.folds:
        raise BadInput(f"folds: {data.folds} folds of {len(unsplit)} rows; expected at most one fold a row")
    if data.stratify and classes is not None and texts is not None:
        split = _stratified(rows, unsplit, data, classes, _copies(texts))
    else:
        split = _random(rows, unsplit, data)
    return {name: np.sort(part) for name, part in split.items()}


def split_hashes(rows: Rows, texts: UInt64[np.ndarray, "rows"]) -> Hashes:
    """The hashes of the texts of each split."""
    return {name: np.unique(texts[part]) for name, part in rows.items()}


def kept_rows(
    rows: Rows, texts: UInt64[np.ndarray, "rows"], movable: Int[np.ndarray, "_"], kept: Mapping[str, np.ndarray]
) -> Rows:
    """The same rows, but each text that is in `kept` is in the split that it has there: train before dev and test."""
    target = np.full(len(texts), -1)
    for i, name in enumerate(SPLITS):
        target[rows[name]] = i
    for i, name in reversed(list(enumerate(SPLITS))):
        target[movable[np.isin(texts[movable], kept[name])]] = i
    return {name: np.flatnonzero(target == i) for i, name in enumerate(SPLITS)}


def _random(rows: Rows, unsplit: Int[np.ndarray, "_"], data: Reader) -> Rows:
    # NumPy guarantees that this legacy generator gives the same numbers in all versions.
    shuffled = np.random.RandomState(data.seed).permutation(unsplit)
    if data.folds is not None:
        parts = np.array_split(shuffled, data.folds)
        rest = np.concatenate(parts[: data.fold] + parts[data.fold + 1 :])
        return {**_random_dev(rest, data), "test": parts[data.fold]}
    if len(unsplit):
        ends = np.rint(np.cumsum(data.split[:2]) * len(unsplit)).astype(int)
        return _joined(rows, np.split(shuffled, ends))
    return {**rows, **_random_dev(rows["train"], data)} if _lacks_dev(rows) else rows


def _random_dev(train: Int[np.ndarray, "_"], data: Reader) -> Rows:
    shuffled = np.random.RandomState(data.seed).permutation(train)
    size = round(data.dev_share * len(train))
    return {"train": shuffled[size:], "dev": shuffled[:size]}


def _stratified(
    rows: Rows,
    unsplit: Int[np.ndarray, "_"],
    data: Reader,
    classes: Int[np.ndarray, "rows"],
    copies: Int[np.ndarray, "rows"],
) -> Rows:
    with_dev = [1 - data.dev_share, data.dev_share]
    if data.folds is not None:
        parts = _dealt(unsplit, [1 / data.folds] * data.folds, data.seed, classes, copies)
        rest = np.concatenate(parts[: data.fold] + parts[data.fold + 1 :])
        train, dev = _dealt(rest, with_dev, data.seed, classes, copies)
        split = {"train": train, "dev": dev, "test": parts[data.fold]}
    elif len(unsplit):
        split = _joined(rows, _dealt(unsplit, data.split, data.seed, classes, copies))
    elif _lacks_dev(rows):
        train, dev = _dealt(rows["train"], with_dev, data.seed, classes, copies)
        return {**rows, **_all_trained({"train": train, "dev": dev}, rows["train"], classes, copies)}
    else:
        return rows
    return split if data.folds is None and data.split[0] == 0 else _all_trained(split, unsplit, classes, copies)


def _dealt(
    rows: Int[np.ndarray, "_"],
    shares: Sequence[float],
    seed: int,
    classes: Int[np.ndarray, "rows"],
    copies: Int[np.ndarray, "rows"],
) -> list[Int[np.ndarray, "_"]]:
    """Deal rows to parts, class by class, so that all parts have their shares at any time. Copies go together."""
    by_text = rows[np.lexsort((classes[rows], copies[rows]))]
    starts = np.flatnonzero(np.diff(copies[by_text], prepend=-1))
    sizes = np.diff(starts, append=len(rows))
    order = np.random.RandomState(seed).permutation(len(starts))
    order = order[np.argsort(classes[by_text[starts]][order], kind="stable")]
    part_of, total, counts = np.zeros(len(starts), int), 0, [0] * len(shares)
    for text, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        total += size
        lacking = [share * total - count for share, count in zip(shares, counts, strict=True)]
        part_of[text] = part = lacking.index(max(lacking))
        counts[part] += size
    parts = np.repeat(part_of, sizes)
    return [by_text[parts == part] for part in range(len(shares))]


def _all_trained(
    split: Rows, among: Int[np.ndarray, "_"], classes: Int[np.ndarray, "rows"], copies: Int[np.ndarray, "rows"]
) -> Rows:
    """Move texts of classes that are not in training there. Only those of the rows `among` are moved."""
    lacking = among[~np.isin(classes[among], classes[split["train"]])]
    moved = among[np.isin(copies[among], copies[lacking])]
    kept = {name: part[~np.isin(part, moved)] for name, part in split.items()}
    return {**kept, "train": np.concatenate([kept["train"], moved])}


def _copies(texts: UInt64[np.ndarray, "rows"]) -> Int[np.ndarray, "rows"]:
    """A number for each text. Rows have the same number if they have the same text, which has words."""
    numbers = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    empty = np.flatnonzero(texts == EMPTY)
    numbers[empty] = len(texts) + np.arange(len(empty))
    return numbers


def _lacks_dev(rows: Rows) -> bool:
    return bool(len(rows["train"])) and not len(rows["dev"])


def _joined(rows: Rows, parts: Sequence[np.ndarray]) -> Rows:
    return {name: np.concatenate([rows[name], part]) for name, part in zip(SPLITS, parts, strict=True)}
