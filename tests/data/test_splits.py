"""Which rows are for training, development and testing."""

import numpy as np
import pytest

from treetext.data import BadInput, reader, split_rows

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
