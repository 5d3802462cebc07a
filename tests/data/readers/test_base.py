"""The settings of a corpus, its split, its fingerprint and its statistics."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError
from treetext.corpora import Data, HiddenTrees, Statistics, describe, fingerprint, read, split_rows
from treetext.text import Encoded, Tokenizer, encode

from tests.corpora.writing import examples, write, write_corpus


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "format"),
        ({"format": "xls", "path": "a"}, "format"),
        ({"format": "csv", "path": "a", "pth": "b"}, "pth"),
        ({"format": "csv", "path": ""}, "path"),
        ({"format": "csv"}, "path: expected either it, or files for train, dev and test, got none"),
        (
            {"format": "csv", "path": "a", "train": "b"},
            "path: expected either it, or files for train, dev and test, got",
        ),
        ({"format": "convote"}, "path: expected it alone, a directory or archive of convote, got none"),
        ({"format": "convote", "path": "a", "test": "b"}, "path: expected it alone, a directory or archive of convote"),
        ({"format": "hub", "train": "a"}, "path: missing; expected the name of a data set on the hub"),
        ({"format": "hidden-trees", "path": "a"}, "path: hidden-trees are generated, not read; expected no path"),
        (
            {"format": "snli", "path": "a", "second": "b"},
            "second: does not go with snli; expected it only for csv, tsv",
        ),
        ({"format": "ss", "path": "a", "label": "b"}, "label: does not go with ss; expected it only for csv, tsv"),
        (
            {"format": "jsonl", "path": "a", "delimiter": ";"},
            "delimiter: does not go with jsonl; expected it only for c",
        ),
        ({"format": "csv", "path": "a", "subset": "b"}, "subset: does not go with csv; expected it only for hub"),
        ({"format": "csv", "path": "a", "delimiter": ", "}, "delimiter"),
        ({"format": "csv", "path": "a", "delimiter": '"'}, "delimiter"),
        (
            {"format": "csv", "path": "a", "split": (0.8, 0.1, 0.2)},
            "split: expected shares of train, dev and test that",
        ),
        (
            {"format": "csv", "path": "a", "split": (1.2, -0.1, -0.1)},
            "split: expected shares of train, dev and test that",
        ),
        ({"format": "csv", "path": "a", "dev_share": 1}, "dev_share"),
        ({"format": "csv", "path": "a", "folds": 1}, "folds"),
        ({"format": "csv", "path": "a", "folds": 5, "fold": 5}, "fold: expected 0 to 4, got 5"),
        ({"format": "csv", "path": "a", "fold": 1}, "fold: expected folds to say how many there are, got 1"),
        ({"format": "csv", "path": "a", "seed": -1}, "seed"),
        ({"format": "csv", "path": "a", "seed": 2**32}, "seed"),
        ({"format": "hidden-trees", "hidden_trees": {"tests": 3}}, "hidden_trees.tests"),
    ],
)
def test_bad_settings(settings, complaint):
    with pytest.raises(ValidationError) as caught:
        Data(**settings)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{"format": "hidden-trees"}, {"format": "csv", "path": "a", "folds": 10, "fold": 9}]
)
def test_settings_survive_being_saved(settings):
    data = Data(**settings)
    assert Data(**data.model_dump()) == data
    assert Data.model_validate_json(data.model_dump_json()) == data


def test_hidden_trees_are_one_of_the_formats():
    data = Data(format="hidden-trees", hidden_trees=HiddenTrees(train=3, dev=2, test=1))
    found = list(read(data))
    assert sorted(split for split, _ in found) == ["dev", "dev", "test", "train", "train", "train"]
    assert all(example.label and example.heads and example.sentence_heads for _, example in found)


UNSPLIT = Data(format="csv", path="a")


def test_split_is_the_same_for_ever():
    rows = split_rows(["all"] * 20, Data(format="csv", path="a", seed=7))
    assert {name: part.tolist() for name, part in rows.items()} == {
        "train": [0, 1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19],
        "dev": [3, 7],
        "test": [4, 15],
    }


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 999])
@pytest.mark.parametrize("shares", [(0.8, 0.1, 0.1), (1, 0, 0), (0, 0, 1), (0.5, 0.25, 0.25)])
def test_shares(n, shares):
    rows = split_rows(["all"] * n, Data(format="csv", path="a", split=shares))
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(n))
    assert all(abs(len(rows[name]) - share * n) <= 1 for name, share in zip(rows, shares, strict=True))


def test_split_depends_on_the_seed():
    first, second = (split_rows(["all"] * 99, Data(format="csv", path="a", seed=seed)) for seed in (0, 1))
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
    none = split_rows(splits, Data(format="csv", path="a", dev_share=0))
    assert (len(none["train"]), len(none["dev"])) == (50, 0)


def test_folds_partition_the_rows():
    folds = [split_rows(["all"] * 103, Data(format="csv", path="a", folds=10, fold=fold)) for fold in range(10)]
    assert sorted(np.concatenate([rows["test"] for rows in folds]).tolist()) == list(range(103))
    for rows in folds:
        assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(103))
        assert len(rows["test"]) in (10, 11)
        assert len(rows["dev"]) == round((103 - len(rows["test"])) / 10)


def test_folds_need_rows_that_are_not_split():
    folded = Data(format="csv", path="a", folds=3)
    with pytest.raises(ValueError, match="folds: the data come split into train, dev and test; expected data that are"):
        split_rows(["train", "all", "all", "all"], folded)
    with pytest.raises(ValueError, match="folds: 3 folds of 2 rows; expected at most one fold a row"):
        split_rows(["all"] * 2, folded)
    with pytest.raises(ValueError, match="splits: expected train, dev, test or all, got validation"):
        split_rows(["train", "validation"], UNSPLIT)


def test_fingerprint_is_of_bytes_and_of_what_bears_on_them(tmp_path):
    path, moved = (write(tmp_path / name, "text,label\ntea,x\n") for name in ("a.csv", "b.csv"))
    other = write(tmp_path / "c.csv", "text,label\ntea,y\n")
    data = Data(format="csv", path=path)
    same = [{}, {"path": moved}, {"seed": 3}, {"folds": 5, "fold": 2}, {"split": (0.5, 0.2, 0.3)}]
    assert len({fingerprint(data.model_copy(update=change)) for change in same}) == 1
    changes = [{}, {"path": other}, {"lowercase": False}, {"language": "cs"}, {"tokenized": True}, {"label": "text"}]
    changes += [
        {"path": None, "train": path},
        {"path": None, "test": path},
        {"classes": {"x": "y"}},
        {"quoting": False},
    ]
    assert len({fingerprint(data.model_copy(update=change)) for change in changes}) == len(changes)


def test_fingerprint_of_a_corpus_of_many_files(tmp_path):
    files = {"train/pos/0_9.txt": "Tea.", "train/neg/1_1.txt": "No tea.", "README": "Hello."}
    first = fingerprint(Data(format="aclimdb", path=write_corpus(tmp_path / "a", files)))
    same = fingerprint(Data(format="aclimdb", path=write_corpus(tmp_path / "b", {**files, "README": "Bye."})))
    other = {("train/pos/0_8.txt" if "pos" in name else name): text for name, text in files.items()}
    assert first == same
    assert first != fingerprint(Data(format="aclimdb", path=write_corpus(tmp_path / "c", other)))


def test_fingerprint_of_the_embedded_corpus():
    prints = [fingerprint(Data(format="hidden-trees", hidden_trees=HiddenTrees(seed=seed))) for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]
    assert len(prints[0]) == 64


def test_statistics_are_those_of_the_papers_table(tmp_path):
    rows = [("Hot tea now. Drink it.", "x"), ("Cold tea.", "y"), ("", "y"), ("Tea.", "x")]
    with (tmp_path / "teas.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])
    data = Data(format="csv", path=str(tmp_path / "teas.csv"))
    encoded = encode(read(data), Tokenizer("en"), tmp_path / "teas.arrow")
    parts = {"train": np.array([0, 1, 2]), "dev": np.array([], dtype=int), "test": np.array([3])}
    assert describe(encoded, parts) == [
        Statistics("train", 3, 1.0, pytest.approx(10 / 3), 1, {"y": 2, "x": 1}),
        Statistics("test", 1, 1.0, 2.0, 0, {"x": 1}),
        Statistics("all", 4, 1.0, 3.0, 1, {"x": 2, "y": 2}),
    ]
    assert describe(encoded, {"train": np.array([], dtype=int)}) == []


def test_unlabelled_documents_are_in_no_class(tmp_path):
    path = write(tmp_path / "teas.csv", "text\ntea\n")
    encode(read(Data(format="csv", path=path), labels=False), Tokenizer("en"), tmp_path / "teas.arrow")
    [train, whole] = describe(Encoded(tmp_path / "teas.arrow"), {"train": np.array([0])})
    assert (train.documents, train.classes) == (1, {})
    assert whole == train._replace(split="all")


def test_notes_are_optional(tmp_path):
    path = write(tmp_path / "teas.csv", "text,label\n\ntea,x\n")
    assert len(examples(format="csv", path=path)) == 1


def test_importing_the_readers_imports_nothing_slow():
    code = "import sys, treetext.corpora; assert not {'datasets', 'spacy', 'gensim', 'lightning'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
