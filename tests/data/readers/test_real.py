"""The real data sets, as published: counts only. They are read from the directory that TREETEXT_DATA names."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from treetext.data import reader, split_rows

ROOT = os.environ.get("TREETEXT_DATA", "")
pytestmark = pytest.mark.skipif(not ROOT, reason="TREETEXT_DATA does not name a directory of data sets")


def counts(notes=None, **settings):
    path = str(Path(ROOT, settings.pop("path")))
    data = reader(path=path, **settings)
    found = Counter()
    for split, example in data.read(notes):
        found[split] += 1
        found[split, example.label] += 1
    assert len(data.fingerprint()) == 64
    return found


def test_debates():
    notes = []
    found = counts(notes, format="convote", path="convote")
    assert (found["train"], found["dev"], found["test"]) == (1175, 113, 411)
    assert {label for _, label in (key for key in found if isinstance(key, tuple))} == {"Y", "N"}
    assert round(100 * max(found["test", "Y"], found["test", "N"]) / 411, 1) == 56.0, "the majority class"
    assert notes == [f"{2740 + 257 + 860} segments joined to {1175 + 113 + 411} documents, by bill and speaker"]


def test_debates_have_sentences():
    data = reader("convote", path=str(Path(ROOT, "convote")))
    documents = [example.text for _, example in data.read()]
    sentences = np.mean([len(document) for document in documents])
    words = np.mean([sum(map(len, document)) for document in documents])
    assert 20 < sentences < 40  # the paper's table has 22.7 and 519.2, on its own selection
    assert 400 < words < 800


@pytest.mark.slow
def test_snli():
    notes = []
    found = counts(notes, format="snli", path="snli")
    assert (found["train"], found["dev"], found["test"]) == (99_890 + 16_381, 9_842, 9_824)
    assert {key[1] for key in found if isinstance(key, tuple)} == {"entailment", "neutral", "contradiction"}
    assert any("snli_1.0_train.jsonl.gz: 110 pairs without a gold label ('-') left out" in note for note in notes)


@pytest.mark.slow
def test_aclimdb():
    found = counts(format="aclimdb", path="aclImdb")
    assert (found["train"], found["test"], found["all"], found["dev"]) == (25_000, 25_000, 0, 0)
    assert {key[1] for key in found if isinstance(key, tuple)} == set("1234789") | {"10"}
    assert sum(found["train", rating] for rating in "1234") == 12_500


def test_csfd():
    classes = dict(zip("012345", ["negative"] * 3 + ["neutral"] + ["positive"] * 2, strict=True))
    found = counts(format="csfd", path="csfd", language="cs", classes=classes)
    assert found["all"] == 27_864
    assert {key[1]: n for key, n in found.items() if isinstance(key, tuple)} == {
        "negative": 1236 + 1824 + 3543,
        "neutral": 7074,
        "positive": 8379 + 5808,
    }


def test_yelp():
    found = counts(format="csv", path="yelp/yelp.csv.gz", label="stars")
    assert found["all"] == 10_000
    assert {key[1] for key in found if isinstance(key, tuple)} == set("12345")
    rows = split_rows(["all"] * 10_000, reader("csv", path="yelp"))
    assert [len(part) for part in rows.values()] == [8000, 1000, 1000]
