"""Corpora made ready: the cache, splits, classes and gold trees."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treetext
from tests.data.readers.writing import write_rows
from treetext.data import DOCUMENTS, PAIRS, BadInput, Corpus, Example, Tokenizer, encode, open_corpus, reader
from treetext.data.corpus import NO_CLASS, cache
from treetext.data.document import UNKNOWN


@pytest.fixture(autouse=True)
def cached(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("TREETEXT_CACHE", str(path))
    return path


def reviews(directory, **splits):
    """CSV files of the splits, as settings; those not given are of a few good and bad reviews."""
    usual = [("a good film . really good .", "good"), ("a bad film . so bad .", "bad")] * 4
    files = {name: write_rows(directory / f"{name}.csv", splits.get(name, usual)) for name in ("train", "dev", "test")}
    return {"format": "csv", **files}


class Reading:
    """Counts the texts that are read."""

    def __init__(self):
        self.texts = 0

    def __call__(self, what, more):
        if what == "reading texts":
            self.texts += more


def opened(data):
    """The documents of a corpus, and how many of them were read for that."""
    reading = Reading()
    corpus = open_corpus(data, reading)
    return [corpus.encoded.document(row) for row in range(len(corpus.encoded))], reading.texts


def test_the_cache_is_used(cached, tmp_path):
    data = reader(**reviews(tmp_path))
    first, read = opened(data)
    assert (len(first), read) == (24, 24)
    assert opened(data) == (first, 0)
    write_rows(tmp_path / "dev.csv", [("other words", "good")])
    assert opened(data)[1] == 17, "files that have changed are read again"
    assert opened(data.model_copy(update={"lowercase": False}))[1] == 17
    assert opened(data.model_copy(update={"seed": 5}))[1] == 0, "another split of the same texts"
    assert len(list(cached.glob("*.arrow"))) == 3


def test_the_cache_of_other_code_is_not_used(cached, tmp_path):
    """Generated texts are those of the generator at hand."""
    shutil.copytree(Path(treetext.__file__).parent, tmp_path / "treetext", ignore=shutil.ignore_patterns("shipped"))
    program = (
        "from treetext.data import open_corpus, reader\n"
        "open_corpus(reader('hidden-trees', hidden_trees={'train': 9, 'dev': 9, 'test': 9}))"
    )
    command, environment = [sys.executable, "-c", program], {**os.environ, "PYTHONPATH": str(tmp_path)}
    for files in (1, 1, 2):
        if files == 2:
            with (tmp_path / "treetext" / "data" / "readers" / "hidden_trees.py").open("a") as generator:
                generator.write("# another version\n")
        subprocess.run(command, env=environment, check=True)
        assert len(list(cached.glob("*.arrow"))) == files


@pytest.mark.parametrize("damage", [lambda b: b[:-100], lambda b: b[: len(b) // 2], lambda _: b"", lambda _: b"x" * 99])
def test_a_damaged_cache_is_made_again(cached, tmp_path, damage):
    data = reader(**reviews(tmp_path))
    first, _ = opened(data)
    [file] = cached.glob("*.arrow")
    file.write_bytes(damage(file.read_bytes()))
    assert opened(data) == (first, 24)
    assert opened(data) == (first, 0)


def test_an_interrupted_encoding_leaves_nothing_to_be_taken_for_whole(cached, tmp_path):
    data = reader(**reviews(tmp_path, test=[("good", "good"), ("no label", "")]))
    with pytest.raises(BadInput):
        open_corpus(data)
    assert not list(cached.glob("*.arrow"))
    write_rows(tmp_path / "test.csv", [("good", "good")])
    assert opened(data)[1] == 17


def test_notes_are_kept_with_the_cache(cached, tmp_path):  # noqa: ARG001
    path = tmp_path / "reviews.tsv"
    path.write_text("text\tlabel\n\ngood\tgood\n\nbad\tbad\n")
    notes = open_corpus(reader("tsv", path=str(path))).notes
    assert open_corpus(reader("tsv", path=str(path))).notes == notes


def test_classes_are_in_order(tmp_path):
    rows = [(f"text {label}", label) for label in ("10", "2", "-1", "b", "a", "2.5")]
    corpus = open_corpus(reader(**reviews(tmp_path, train=rows)))
    assert corpus.classes == ["-1", "2", "2.5", "10", "a", "b"]
    targets = corpus.targets(corpus.classes)[corpus.rows["train"]]
    assert targets.tolist() == [3, 1, 0, 5, 4, 2]


def test_classes_need_two_labels(tmp_path):
    corpus = open_corpus(reader(**reviews(tmp_path, train=[("tea", "good")] * 3)))
    with pytest.raises(BadInput, match=r"train\.csv: the training data have 1 class; expected two or more$"):
        _ = corpus.classes


def test_the_prior_is_that_of_the_training_data(tmp_path):
    rows = [("tea", "b"), ("more tea", "a"), ("no tea", "b"), ("hot tea", "b")]
    corpus = open_corpus(reader(**reviews(tmp_path, train=rows, test=[("tea", "a")] * 5)))
    assert corpus.prior(["a", "b", "c"]) == [0.25, 0.75, 0]


def test_labels_of_other_classes(tmp_path):
    corpus = open_corpus(reader(**reviews(tmp_path, test=[("tea", "good"), ("tea", "odd")])))
    assert corpus.targets(corpus.classes)[corpus.rows["test"]].tolist() == [1, NO_CLASS]
    corpus.check_labels(corpus.classes, ("dev",))
    problem = r"test\.csv, row 3: label 'odd' is not among those of the training data; expected one of bad, good$"
    with pytest.raises(BadInput, match=problem):
        corpus.check_labels(corpus.classes)


def test_unlabelled_texts(tmp_path):
    data = {**reviews(tmp_path), "label": "nothing"}
    with pytest.raises(BadInput, match="nothing"):
        open_corpus(reader(**data))
    corpus = open_corpus(reader(**data), labels=False)
    assert len(corpus.encoded) == 24
    assert corpus.encoded.label(0) is None
    assert set(corpus.targets(["bad", "good"]).tolist()) == {NO_CLASS}
    with pytest.raises(BadInput, match=r"test\.csv, row 2: no label; expected one of bad, good$"):
        corpus.check_labels(["bad", "good"], ("test",))


def test_texts_with_and_without_labels_have_caches_of_their_own(tmp_path):
    data = reader(**reviews(tmp_path))
    assert open_corpus(data).encoded.label(0) == "good"
    assert open_corpus(data, labels=False).encoded.label(0) is None
    assert open_corpus(data).encoded.label(0) == "good"


def test_a_split_that_is_not_there(tmp_path):
    corpus = open_corpus(reader("csv", path=write_rows(tmp_path / "teas.csv", [("tea", "x")]), split=(1, 0, 0)))
    corpus.check_split("train")
    for split in ("test", "nonsense"):
        expected = f"teas.csv: no {split} data; expected one of these splits: train$"
        with pytest.raises(BadInput, match=expected):
            corpus.check_split(split)


def test_a_corpus_is_known_by_its_reader(tmp_path):
    data = reader(**reviews(tmp_path), lowercase=False)
    corpus = open_corpus(data)
    assert (corpus.name, corpus.task, corpus.fingerprint) == (
        str(tmp_path / "train.csv"),
        DOCUMENTS,
        data.fingerprint(),
    )
    assert not corpus.tokenizer.lowercase


def test_whole_documents_have_words(tmp_path):
    corpus = open_corpus(reader(**reviews(tmp_path, train=[("tea", "a"), (" ", "b"), ("more tea", "b")])))
    assert corpus.whole("train").tolist() == [0, 2]


def test_whole_pairs_have_words_on_either_side(tmp_path):
    rows = [("tea", "more tea", "a"), ("tea", "", "a"), (" ", "tea", "b"), ("", "", "b"), ("hot", "tea", "b")]
    path = write_rows(tmp_path / "pairs.csv", rows, ("premise", "hypothesis", "label"))
    corpus = open_corpus(reader("csv", train=path, text="premise", second="hypothesis", dev_share=0))
    assert corpus.task is PAIRS
    assert corpus.whole("train").tolist() == [0, 4]


def test_gold_heads(tmp_path):
    corpus = open_corpus(reader("hidden-trees", hidden_trees={"train": 4, "dev": 0, "test": 0}, dev_share=0))
    rows = np.array([2, 0])
    for level, known in (("words", corpus.encoded.heads), ("sentences", corpus.encoded.sentence_heads)):
        assert corpus.gold_heads(level, rows).tolist() == [*known(2), *known(0)]
        assert corpus.gold_heads(level, rows[:0]).tolist() == []
    plain = open_corpus(reader(**reviews(tmp_path)))
    assert plain.gold_heads("words", rows) is plain.gold_heads("sentences", rows) is None


def test_the_cache_is_where_the_environment_says(cached, monkeypatch, tmp_path):
    assert cache() == cached
    assert cached.is_dir()
    monkeypatch.delenv("TREETEXT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache().name == "treetext"


def test_gold_heads_that_are_known_in_part_are_not_gold(tmp_path):
    examples = [("test", Example([["a", "b"]], "x", heads=[[-1, head]], sentence_heads=[-1])) for head in (0, UNKNOWN)]
    encoded = encode(iter(examples), Tokenizer(), tmp_path / "corpus.arrow")
    corpus = Corpus(reader("hidden-trees"), encoded, {"test": np.arange(2)}, "", [])
    assert corpus.gold_heads("words", np.array([0])).tolist() == [-1, 0]
    assert corpus.gold_heads("words", np.array([0, 1])) is None
    assert corpus.gold_heads("sentences", np.array([0, 1])).tolist() == [-1, -1]


def numbered(n, start=0):
    """Texts that all differ, of two classes."""
    return [(f"tea number {i} .", "xy"[i % 2]) for i in range(start, start + n)]


def split_texts(corpus):
    return {
        name: {" ".join(corpus.encoded.document(row)[0]) for row in rows.tolist()} for name, rows in corpus.rows.items()
    }


def test_two_thousand_classes(tmp_path):
    rows = [(f"tea number {i}", f"class {i}") for i in range(2000)]
    corpus = open_corpus(reader("csv", path=write_rows(tmp_path / "teas.csv", rows)))
    problem = (
        r"teas\.csv: 2,000 classes for 2,000 training texts; expected two or more texts of most classes: is data\.lab"
    )
    with pytest.raises(BadInput, match=problem):
        _ = corpus.classes
    rows = [(f"tea number {i}", f"class {i % 2000}") for i in range(6000)]
    assert len(open_corpus(reader("csv", path=write_rows(tmp_path / "teas.csv", rows))).classes) == 2000


def test_a_class_of_one_text_is_trained_on(tmp_path):
    path = write_rows(tmp_path / "teas.csv", [*numbered(40), ("rare tea", "z"), ("rarer tea", "w")])
    corpus = open_corpus(reader("csv", path=path))
    assert corpus.classes == ["w", "x", "y", "z"]
    corpus.check_labels(corpus.classes)
    assert {"rare tea", "rarer tea"} <= split_texts(corpus)["train"]
    assert corpus.remarks == [f"{path}: only in train, not in dev or test: 2 texts of 2 classes"]


def test_labels_that_differ_in_case_or_spaces_are_said_and_kept(tmp_path):
    rows = [(f"tea {i}", label) for i in range(9) for label in ("pos", "Pos", "neg", "neg ")]
    path = write_rows(tmp_path / "teas.csv", rows)
    corpus = open_corpus(reader("csv", path=path, split=(1, 0, 0)))
    assert corpus.classes == ["Pos", "neg", "neg ", "pos"]
    assert corpus.remarks[:3] == [
        f"{path}: labels with spaces around them: 1, such as 'neg '",
        f"{path}: the labels 'Pos' and 'pos' differ only in case or spaces: they are different classes",
        f"{path}: the labels 'neg' and 'neg ' differ only in case or spaces: they are different classes",
    ]


def test_copies_across_given_splits_are_counted(tmp_path):
    data = reviews(tmp_path, train=numbered(9), dev=numbered(5, 7), test=[*numbered(3, 10), ("", "x"), ("", "y")])
    corpus = open_corpus(reader(**data))
    name = data["train"]
    assert corpus.remarks == [
        f"{name}: 2 of 5 test texts are also in train or dev",
        f"{name}: 2 of 5 dev texts are also in train",
    ]
    unsplit = open_corpus(reader("csv", path=write_rows(tmp_path / "all.csv", numbered(30) * 3)))
    assert unsplit.remarks == [], "copies stay together where treetext splits"


def test_a_changed_file_keeps_the_split_of_training(tmp_path):
    path = tmp_path / "teas.csv"
    first = open_corpus(reader("csv", path=write_rows(path, numbered(50))))
    trained = first.hashes
    assert first.as_trained(trained) is first
    write_rows(path, [*numbered(20, 100), *numbered(50)[:3:-1]])
    again = open_corpus(reader("csv", path=str(path))).as_trained(trained)
    before, after = split_texts(first), split_texts(again)
    for name, texts in after.items():
        known = {text for text in texts if int(text.split()[2]) < 100}
        assert known == {text for text in before[name] if int(text.split()[2]) > 3}
    note = "not the texts or the split of training: 46 texts in the same split, 20 new, 4 missing"
    assert again.notes[1:] == [f"{path}: {note}"]
    other_seed = open_corpus(reader("csv", path=str(path), seed=3)).as_trained(trained)
    assert before["test"] & split_texts(other_seed)["test"] == after["test"] & before["test"]


def test_given_splits_are_not_split_anew(tmp_path):
    corpus = open_corpus(reader(**reviews(tmp_path, test=numbered(9))))
    other = dict.fromkeys(("train", "dev", "test"), corpus.encoded.hashes[:0])
    assert corpus.as_trained(other | {"train": corpus.hashes["test"]}) is corpus


def test_texts_that_were_seen(tmp_path):
    trained = open_corpus(reader("csv", path=write_rows(tmp_path / "teas.csv", numbered(100)))).hashes
    rows = [*numbered(100), ("", "x"), *numbered(5, 200)]
    other = open_corpus(reader("csv", test=write_rows(tmp_path / "other.csv", rows)))
    assert other.seen("test", trained) == {"train": 80, "dev": 10}
    assert other.name == str(tmp_path / "other.csv")
    assert other.as_trained(trained) is other
    dev = open_corpus(reader("csv", train=str(tmp_path / "teas.csv"), dev=str(tmp_path / "other.csv")))
    assert dev.seen("dev", trained) == {"train": 80}
    assert dev.seen("train", trained) == {}


def test_fingerprints_of_splits(tmp_path):
    """They depend on texts and labels, not on the order or the file."""
    rows = numbered(20)
    [*first, last] = rows
    tables = {"same": rows, "reversed": rows[::-1], "relabelled": [*first, (last[0], "z")], "fewer": first}
    found = {
        name: open_corpus(reader("csv", test=write_rows(tmp_path / f"{name}.csv", table))).split_fingerprint("test")
        for name, table in tables.items()
    }
    assert found["same"] == found["reversed"]
    assert len(set(found.values())) == 3


def test_parts(tmp_path):
    path = write_rows(tmp_path / "teas.csv", numbered(100))
    assert [open_corpus(reader("csv", path=path)).part(split) for split in ("train", "test")] == ["train", "test"]
    assert open_corpus(reader("csv", test=path)).part("test") == "all"


def test_texts_of_one_word(tmp_path):
    rows = [(f"tea{i}", "xy"[i % 2]) for i in range(30)]
    corpus = open_corpus(reader("csv", path=write_rows(tmp_path / "teas.csv", rows)))
    assert len(corpus.whole("train")) == 24


@pytest.mark.parametrize("text", ["tea " * 250_000, "a" * 1_000_000, ".-" * 500_000], ids=["words", "letters", "signs"])
def test_a_text_of_a_million_characters(tmp_path, text):
    corpus = open_corpus(reader("csv", path=write_rows(tmp_path / "teas.csv", [(text, "x"), *numbered(20)])))
    assert len(corpus.encoded) == 21
    assert corpus.encoded.sizes[0] > 0
