"""Counts of a corpus, split by split."""

import csv

import numpy as np
import pytest

from tests.data.readers.writing import write
from treetext.data import Encoded, SplitCounts, Tokenizer, describe, encode, reader


def test_statistics_are_those_of_the_papers_table(tmp_path):
    rows = [("Hot tea now. Drink it.", "x"), ("Cold tea.", "y"), ("", "y"), ("Tea.", "x")]
    with (tmp_path / "teas.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])
    data = reader("csv", path=str(tmp_path / "teas.csv"))
    encoded = encode(data.read(), Tokenizer("en"), tmp_path / "teas.arrow")
    parts = {"train": np.array([0, 1, 2]), "dev": np.array([], dtype=int), "test": np.array([3])}
    assert describe(encoded, parts) == [
        SplitCounts("train", 3, 1.0, pytest.approx(10 / 3), 1, {"y": 2, "x": 1}),
        SplitCounts("test", 1, 1.0, 2.0, 0, {"x": 1}),
        SplitCounts("all", 4, 1.0, 3.0, 1, {"x": 2, "y": 2}),
    ]
    assert describe(encoded, {"train": np.array([], dtype=int)}) == []


def test_unlabelled_documents_are_in_no_class(tmp_path):
    path = write(tmp_path / "teas.csv", "text\ntea\n")
    encode(reader("csv", path=path).read(labels=False), Tokenizer("en"), tmp_path / "teas.arrow")
    [train, whole] = describe(Encoded(tmp_path / "teas.arrow"), {"train": np.array([0])})
    assert (train.documents, train.classes) == (1, {})
    assert whole == train._replace(split="all")
