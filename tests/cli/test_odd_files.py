"""Odd and damaged files: a clear line or the right result, with the default recipe, in a process of its own."""

import csv
import json
import resource

import pytest

from tests.cli.running import SIZES, options, run
from treetext.models import load_model

SMALL = options(SIZES)


@pytest.fixture
def train(tmp_path):
    """Train on the rows of a file; what was said. The model is in ``model``."""

    def train(content, *more, code=0):
        path = tmp_path / "teas.csv"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("text", "label"), *content])
        before = path.read_bytes()
        done = run("train", "--data", path, "--out", tmp_path / "model", *SMALL, *more, cwd=tmp_path)
        assert done.returncode == code, done.stderr.decode()
        assert path.read_bytes() == before
        if code:
            assert sorted(each.name for each in tmp_path.iterdir()) == ["teas.csv"], "nothing half-written"
        return [line.removeprefix(f"{path}: ") for line in done.stderr.decode().splitlines()]

    return train


def teas(n, start=0):
    return [(f"the {'good' if i % 2 else 'bad'} tea number {i}", "xy"[i % 2]) for i in range(start, start + n)]


def labels_of(tmp_path, texts, *more):
    """What the model that was trained predicts, in a process of its own."""
    stdin = "".join(f"{text}\n" for text in texts).encode()
    done = run("predict", tmp_path / "model", *more, stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_two_thousand_classes(train, tmp_path):
    """Three texts of each, of which a word tells the class."""
    rows = [(f"tea{c} number {i}", f"class {c}") for c in range(2000) for i in range(3)]
    fast = {
        "model.wide.strength": 30,
        "model.wide.characters": False,
        "training.epochs": 1,
        "training.baselines": False,
    }
    said = train(rows, *options(fast), "--set", "training.batch_size=64")
    assert any(line.startswith("4,800 train, 600 dev, 600 test texts; 2000 classes; ") for line in said)
    model = load_model(tmp_path / "model")
    assert len(model.labels) == 2000
    assert model.about["scores"]["test"] > 0.9, "by the n-grams"
    [found] = labels_of(tmp_path, ["tea1234 number 9"], "--top", 2)
    assert found["label"] == "class 1234"
    assert len(found["probabilities"]) == 2
    done = run("evaluate", tmp_path / "model")
    assert done.returncode == 0
    (tmp_path / "other.csv").write_text("text,label\ntea,class 7777\n")
    refused = run("evaluate", tmp_path / "model", "--data", tmp_path / "other.csv")
    assert refused.returncode == 2
    [line] = refused.stderr.decode().splitlines()
    assert "label 'class 7777' is not among those of the training data; expected one of class 0, class 1, " in line
    assert line.endswith(", …")
    assert len(line) < 1000


def test_a_class_for_each_text(train):
    said = train([(f"tea number {i}", f"class {i}") for i in range(100)], code=2)
    problem = "100 classes for 100 training texts; expected two or more texts of most classes: is data.label right?"
    assert said[-1].endswith(problem)


def test_a_class_of_a_single_text(train, tmp_path):
    said = train([*teas(59), ("nothing like it", "rare")])
    assert "only in train, not in dev or test: 1 text of 1 class" in said
    assert load_model(tmp_path / "model").labels == ["rare", "x", "y"]
    result = json.loads(run("evaluate", tmp_path / "model", "--json").stdout)
    assert result["documents"] == 6


def test_one_class(train):
    said = train([(f"tea {i}", "x") for i in range(30)], code=2)
    assert said[-1].endswith("teas.csv: the training data have 1 class; expected two or more")


def test_copies_across_given_splits(tmp_path):
    for name, rows in (("train", teas(40)), ("dev", teas(10, 36)), ("test", teas(10, 44))):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
    done = run("train", "--data", tmp_path, "--out", tmp_path / "model", *SMALL)
    said = done.stderr.decode().splitlines()
    assert done.returncode == 0
    assert f"{tmp_path}: 2 of 10 test texts are also in train or dev" in said
    assert f"{tmp_path}: 4 of 10 dev texts are also in train" in said
    assert load_model(tmp_path / "model").about["documents"] == {"train": 40, "dev": 10, "test": 10}, "and kept"


def test_copies_in_one_file(train, tmp_path):
    """They stay together, so no text is in two splits."""
    said = train(teas(30) * 3)
    assert not any("also in" in line for line in said)
    assert sum(load_model(tmp_path / "model").about["documents"].values()) == 90


def test_too_few_different_texts(train):
    said = train([("good", "x"), ("bad", "y")] * 30, code=2)
    problem = (
        "no text with words in dev; expected at least one: copies of a text stay together unless data.stratify=false"
    )
    assert said[-1].endswith(problem)


def test_labels_with_spaces_and_capitals(train, tmp_path):
    """They are kept, and said."""
    labels = [" yes", "no ", "yes", "no", "Yes", "no"]
    said = train([(text, labels[i % 6]) for i, (text, _) in enumerate(teas(60))])
    assert "labels with spaces around them: 2, such as ' yes'" in said
    assert "the labels ' yes' and 'Yes' and 'yes' differ only in case or spaces: they are different classes" in said
    assert load_model(tmp_path / "model").labels == [" yes", "Yes", "no", "no ", "yes"]


@pytest.mark.parametrize("same", [False, True], ids=["all differ", "some again"])
def test_texts_of_one_word(train, tmp_path, same):
    """No word may be in two texts; then only characters are."""
    train([(f"tea{i // 2 if same else i}", "xy"[i // 2 % 2 if same else i % 2]) for i in range(80)])
    assert load_model(tmp_path / "model").about["scores"].keys() == {"dev", "test"}
    assert [found["label"] in ("x", "y") for found in labels_of(tmp_path, ["tea3", "unheard", "tea"])] == [True] * 3


def test_nothing_that_two_texts_share(train, tmp_path):
    """No n-gram has a weight. The model predicts by its trees, or the more frequent class."""
    letters = [chr(0x4E00 + i) for i in range(90)]
    said = train([(letter, "xyy"[i % 3]) for i, letter in enumerate(letters)])
    assert any(line.startswith("n-grams: 0 of words, ") for line in said)
    [found] = labels_of(tmp_path, ["tea"])
    assert set(found["probabilities"]) == {"x", "y"}


LONG = {"sentences": "The good tea. " * 72_000, "one sentence": "good tea " * 112_000, "one word": "x" * 1_000_000}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_text_of_a_million_characters(train, tmp_path, text):
    """The default recipe reads its start, in training and in use."""
    said = train([*teas(60), (text, "x")], "--set", "data.max_words=300")
    assert any("1 of 61 texts" in line for line in said) == (" " in text), said
    [found] = labels_of(tmp_path, [text])
    assert found["label"] in ("x", "y")


def test_the_default_recipe_limits_texts():
    done = run("recipes", "documents/default")
    [line] = [line for line in done.stdout.decode().splitlines() if line.startswith("max_words = ")]
    assert 1000 <= int(line.split()[2]) <= 10_000


def test_more_than_fits_in_memory(tmp_path):
    """Without a limit, a sentence of a million words has more arcs than any memory holds."""
    (tmp_path / "teas.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in teas(60)))
    training = ["train", "--data", tmp_path / "teas.csv", "--out", tmp_path / "model", *SMALL]
    with (tmp_path / "teas.csv").open("a") as file:
        file.write("tea " * 1_000_000 + ",x\n")
    done = run(
        *training, "--set", "data.max_words=1000000",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**36, 2**36)),
    )  # fmt: skip
    problem = "out of memory; expected shorter texts (data.max_words, data.max_sentences) or smaller batches"
    assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (2, f"treetext: {problem}")
    assert not (tmp_path / "model" / "config.json").exists()
    again = run(*training, "--set", "data.max_words=300")
    assert again.returncode == 0, again.stderr.decode()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "teas.csv: empty; expected at least one text"),
        (b"text,label\n", "teas.csv: empty; expected at least one text"),
        (
            "text,label\nthé noir,x\n".encode() + "th\xe9 vert,y\n".encode("latin-1"),
            "teas.csv, line 3: not UTF-8 at byte 3 of the line",
        ),
    ],
    ids=["empty", "header", "mixed encodings"],
)
def test_refused(train, content, complaint):
    [*_, last] = train(content, code=2)
    assert complaint in last
    assert last.startswith("treetext: ")
