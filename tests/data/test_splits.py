"""Which rows are for training, development and testing."""

import numpy as np
import pytest

from treetext.data import BadInput, corpus_formats, reader, split_rows
from treetext.data.splits import EMPTY, kept_rows, split_hashes

UNSPLIT = reader("csv", path="a")


def test_split_is_the_same_for_ever():
    rows = split_rows(["all"] * 20, reader("csv", path="a", seed=7))
    assert {name: part.tolist() for name, part in rows.items()} == {
        "train": [0, 1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19],
        "dev": [3, 7],
        "test": [4, 15],
    }


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 999])
@pytest.mark.parametrize("shares", [(0.8, 0.1, 0.1), (1, 0, 0), (0, 0, 1), (0.5, 0.25, 0.25)])
def test_shares(n, shares):
    rows = split_rows(["all"] * n, reader("csv", path="a", split=shares))
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(n))
    assert all(abs(len(rows[name]) - share * n) <= 1 for name, share in zip(rows, shares, strict=True))


def test_split_depends_on_the_seed():
    first, second = (split_rows(["all"] * 99, reader("csv", path="a", seed=seed)) for seed in (0, 1))
    assert first["test"].tolist() != second["test"].tolist()


def test_given_splits_stay():
    splits = np.array(["train", "test", "dev", "train", "test"])
    rows = split_rows(splits, UNSPLIT)
    assert {name: part.tolist() for name, part in rows.items()} == {"train": [0, 3], "dev": [2], "test": [1, 4]}
    assert split_rows(["test"], UNSPLIT)["train"].size == 0


def test_dev_comes_from_train_where_there_is_none():
    splits = ["test", *["train"] * 50]
    rows = split_rows(splits, UNSPLIT)
    assert rows["test"].tolist() == [0]
    assert (len(rows["train"]), len(rows["dev"])) == (45, 5)
    assert sorted([*rows["train"], *rows["dev"]]) == list(range(1, 51))
    assert rows["dev"].tolist() == split_rows(splits, UNSPLIT)["dev"].tolist()
    none = split_rows(splits, reader("csv", path="a", dev_share=0))
    assert (len(none["train"]), len(none["dev"])) == (50, 0)


def test_folds_partition_the_rows():
    folds = [split_rows(["all"] * 103, reader("csv", path="a", folds=10, fold=fold)) for fold in range(10)]
    assert sorted(np.concatenate([rows["test"] for rows in folds]).tolist()) == list(range(103))
    for rows in folds:
        assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(103))
        assert len(rows["test"]) in (10, 11)
        assert len(rows["dev"]) == round((103 - len(rows["test"])) / 10)


def test_folds_need_rows_that_are_not_split():
    folded = reader("csv", path="a", folds=3)
    with pytest.raises(BadInput, match=r"^folds: the data come split into train, dev and test; expected data that are"):
        split_rows(["train", "all", "all", "all"], folded)
    with pytest.raises(BadInput, match=r"^folds: 3 folds of 2 rows; expected at most one fold a row"):
        split_rows(["all"] * 2, folded)
    with pytest.raises(ValueError, match=r"^splits: expected train, dev, test or all, got validation"):
        split_rows(["train", "validation"], UNSPLIT)


def stratified(classes, texts=None, **settings):
    classes = np.array(classes)
    texts = np.arange(1, len(classes) + 1) if texts is None else np.array(texts)
    return split_rows(["all"] * len(classes), reader("csv", path="a", **settings), classes, texts.astype(np.uint64))


def test_the_stratified_split_is_the_same_for_ever():
    rows = stratified([0, 1] * 10, seed=7)
    assert {name: part.tolist() for name, part in rows.items()} == {
        "train": [0, 1, 2, 3, 4, 5, 7, 10, 12, 13, 14, 15, 16, 17, 18, 19],
        "dev": [6, 11],
        "test": [8, 9],
    }


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 999])
@pytest.mark.parametrize("shares", [(0.8, 0.1, 0.1), (1, 0, 0), (0, 0, 1), (0.5, 0.25, 0.25), (0.34, 0.33, 0.33)])
def test_each_class_has_its_shares(n, shares):
    classes = np.repeat([0, 1, 2], [n, 2 * n, 5 * n])
    rows = stratified(classes, split=shares)
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(8 * n))
    for name, share in zip(rows, shares, strict=True):
        assert abs(len(rows[name]) - share * 8 * n) <= (1 if n > 3 else 3)
        for label in (0, 1, 2):
            count, size = np.count_nonzero(classes[rows[name]] == label), np.count_nonzero(classes == label)
            assert abs(count - share * size) <= 2
            assert count or name != "train" or not n or shares[0] == 0


@pytest.mark.parametrize("settings", [{}, {"folds": 5, "fold": 1}, {"folds": 2}, {"split": (0.2, 0.4, 0.4)}], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_every_class_is_in_training(settings, seed):
    classes = [*range(40), *np.repeat(np.arange(40, 60), 2), *np.repeat(np.arange(60, 70), 9)]
    rows = stratified(classes, seed=seed, **settings)
    assert set(np.array(classes)[rows["train"]].tolist()) == set(range(70))
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(len(classes)))
    assert len(rows["dev"])
    assert len(rows["test"])


def test_copies_of_a_text_stay_together():
    random = np.random.RandomState(0)
    classes, texts = random.randint(3, size=400), random.randint(1, 90, size=400)
    for settings in ({}, {"folds": 4, "fold": 2}):
        rows = stratified(classes, texts, **settings)
        parts = [set(texts[part].tolist()) for part in rows.values()]
        assert sum(map(len, parts)) == len(set(texts.tolist()))
        assert abs(len(rows["test"]) - (100 if settings else 40)) < 10


def test_many_copies_of_a_text_do_not_fill_the_test_data():
    rows = stratified([0, 1] * 200, [1, 1] * 100 + list(range(2, 202)))
    assert set(range(200)) <= set(rows["train"].tolist())
    assert len(rows["test"]) > 20


def test_texts_without_words_are_no_copies():
    rows = stratified([0, 1] * 50, [int(EMPTY)] * 100)
    assert (len(rows["train"]), len(rows["dev"]), len(rows["test"])) == (80, 10, 10)


def test_the_order_of_the_rows_does_not_matter():
    random = np.random.RandomState(0)
    classes, texts = random.randint(3, size=100), np.arange(1, 101)
    order = random.permutation(100)
    first, second = stratified(classes, texts), stratified(classes[order], texts[order])
    for name, part in first.items():
        assert sorted(texts[part].tolist()) == sorted(texts[order][second[name]].tolist())


def test_dev_from_train_is_stratified():
    classes = np.array([0] * 40 + [1] * 10 + [2] + [0] * 5)
    splits = ["train"] * 51 + ["test"] * 5
    rows = split_rows(splits, UNSPLIT, classes, np.arange(1, 57, dtype=np.uint64))
    assert rows["test"].tolist() == list(range(51, 56))
    assert np.bincount(classes[rows["dev"]]).tolist() == [4, 1]
    assert 50 in rows["train"]


def test_only_tables_are_stratified_unless_told():
    """The splits of published data sets stay as they were."""
    assert [name for name, cls in corpus_formats().items() if cls.model_fields["stratify"].default] == [
        "csv", "jsonl", "parquet", "tsv", "hub"
    ]  # fmt: skip
    plain, classes, texts = reader("csv", path="a", stratify=False), np.arange(20), np.ones(20, np.uint64)
    assert (
        split_rows(["all"] * 20, plain, classes, texts)["dev"].tolist()
        == split_rows(["all"] * 20, plain)["dev"].tolist()
    )


def test_kept_splits():
    rows = {"train": np.array([0, 1, 2]), "dev": np.array([3]), "test": np.array([4, 5])}
    texts = np.array([10, 11, 12, 13, 14, 15], np.uint64)
    assert {name: part.tolist() for name, part in split_hashes(rows, texts).items()} == {
        "train": [10, 11, 12], "dev": [13], "test": [14, 15]
    }  # fmt: skip
    kept = {name: np.array(part, np.uint64) for name, part in {"train": [14], "dev": [10, 14], "test": [11]}.items()}
    moved = kept_rows(rows, texts, np.array([0, 1, 2, 3, 4]), kept)
    assert {name: part.tolist() for name, part in moved.items()} == {"train": [2, 4], "dev": [0, 3], "test": [1, 5]}
    assert kept_rows(rows, texts, np.arange(2, 4), kept)["dev"].tolist() == [3], "the others stay"
