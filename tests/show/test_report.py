import base64
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.show.making import LABELS, NASTY, documents, evaluation, parsed
from treetext.evaluation import Baseline, Interval, Parts, score
from treetext.models import Weights
from treetext.show import Document, Table, report_page
from treetext.show.documents import packed, percents


class Reader(HTMLParser):
    """The tags of a page with their attributes, and the text in them."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.texts = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else None, data))


def embedded(page):
    [found] = [text for tag, text in Reader(page).texts if tag == "script" and text.startswith("{")]
    return json.loads(found)


def content(data, number):
    return json.loads(zlib.decompress(base64.b64decode(data["packed"][number])))


@pytest.fixture(scope="module")
def nasty():
    made = [Document(parsed(NASTY), LABELS[1], "</script><script>alert(2)</script>")]
    tables = [Table("<u>t</u>", ["<a>", "model", "random"], [["</td>", 1.5, 0.123456], ["x", None, "5 & 6"]], "<hr>")]
    about = {
        "recipe_name": "<h1>name",
        "data": "</title>",
        "epoch": 1,
        "curve": [{"epoch": 1, "loss": 1.0, "dev_accuracy": 0.5}],
    }
    return report_page(evaluation(made), made, tables, about), made


def test_all_text_is_escaped(nasty):
    page, made = nasty
    read = Reader(page)
    assert read.open == [], "tags close in order"
    assert [tag for tag, _ in read.tags].count("script") == 2
    assert not {"b", "u", "img", "hr", "i"} & {tag for tag, _ in read.tags}
    assert [tag for tag, _ in read.tags].count("h1") == 1
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
    data = embedded(page)
    assert data["labels"] == LABELS
    assert data["documents"][0]["name"] == made[0].name
    assert [sentence["words"] for sentence in content(data, 0)["sentences"]] == NASTY


def test_nothing_comes_from_outside(nasty):
    page, _ = nasty
    for tag, attributes in Reader(page).tags:
        for name in ("src", "href", "action", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    [policy] = [a["content"] for tag, a in Reader(page).tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not any("style" in attributes for _, attributes in Reader(page).tags)


def test_trees_are_those_of_the_model(nasty):
    page, [document] = nasty
    found = content(embedded(page), 0)
    assert found["heads"] == list(document.parsed.tree.heads)
    for given, sentence in zip(found["sentences"], document.parsed.sentences, strict=True):
        assert given["heads"] == list(sentence.tree.heads)
        assert given["weights"]["roots"] == np.rint(100 * sentence.weights.roots).tolist()
        assert given["weights"]["arcs"] == np.rint(100 * sentence.weights.arcs).tolist()
    assert "gold" not in found


def test_the_likeliest_heads_are_kept():
    arcs = np.array([[0, 0.004, 0.2], [0.5, 0, 0.3], [0.25, 0.1, 0]], np.float32)
    roots = np.array([0.25, 0.896, 0.5], np.float32)
    whole = [[25, 90, 50], [0, 0, 20], [50, 0, 30], [25, 10, 0]]
    assert percents(Weights(arcs, roots), None).tolist() == percents(Weights(arcs, roots), 8).tolist() == whole
    assert percents(Weights(arcs, roots), 2).tolist() == [[25, 90, 50], [0, 0, 0], [50, 0, 30], [0, 10, 0]]


def test_fewer_marginals_before_fewer_documents():
    chance = np.random.default_rng(0)
    made = documents(8, lambda _: [["word"] * 30] * 2, chance)
    room = 200_000
    all_of_it = packed(made, LABELS, room)
    assert (len(all_of_it.entries), all_of_it.kept) == (8, None)
    size = sum(map(len, all_of_it.contents)) + sum(len(json.dumps(entry)) for entry in all_of_it.entries)
    fewer = packed(made, LABELS, size)
    assert (len(fewer.entries), fewer.kept) == (8, 8)
    few = packed(made, LABELS, size // 4)
    assert few.kept == 1
    assert 8 > len(few.entries) == len(few.contents) > 0
    page = report_page(evaluation(made), made)
    assert "likeliest heads" not in page
    assert embedded(page)["packed"] == all_of_it.contents


def test_scores_and_accessible_tables(nasty):
    page, _ = nasty
    read = Reader(page)
    tables = [tag for tag, _ in read.tags].count("table")
    assert tables == [tag for tag, _ in read.tags].count("caption") >= 5
    assert all("scope" in attributes for tag, attributes in read.tags if tag == "th")
    drawings = [attributes for tag, attributes in read.tags if tag == "svg"]
    parts = [attributes for attributes in drawings if attributes.get("overflow") == "visible"]  # of other drawings
    assert all({"aria-label", "aria-hidden"} & set(each) for each in drawings if each not in parts)
    assert [attributes["lang"] for tag, attributes in read.tags if tag == "html"] == ["en"]
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    words = "".join(text for tag, text in read.texts if tag not in ("script", "style"))
    for expected in ("0.0%95% interval 0.0 to 79.3", "<u>t</u>", "0.12", "5 & 6", "<hr>", "Training loss by epoch"):
        assert expected in words


def words_of(page):
    return "".join(text for tag, text in Reader(page).texts if tag not in ("script", "style"))


@pytest.mark.parametrize("count", [2, 20, 21])
def test_pictures_of_the_scores(count):
    """Cells have counts, and are as dark as their share of the row; beyond 20 classes, there is a list."""
    chance, labels = np.random.default_rng(0), [f"class {i} <b>" for i in range(count)]
    targets = chance.integers(count, size=500)
    shares = chance.dirichlet(np.ones(count), 500)
    shares[np.arange(500), targets] += 0.2
    shares[:, -1] = 0
    found = score("test", labels, targets, shares / shares.sum(1, keepdims=True))
    page = report_page(found, documents(3, lambda _: [["a"]], chance, labels))
    read = Reader(page)
    cells = [attributes for tag, attributes in read.tags if "cell" in attributes.get("class", "").split()]
    bars = [attributes for tag, attributes in read.tags if attributes.get("class") == "bar"]
    assert len(bars) == sum(each.texts > 0 for each in found.reliability)
    tallest = max(found.reliability, key=lambda each: each.accuracy or 0).accuracy
    assert max(float(bar["height"]) for bar in bars) == pytest.approx(260 * tallest, abs=0.1)
    words = words_of(page)
    assert f"never predicted: {labels[-1]}" in words
    assert f"Calibration error {100 * found.ece:.1f}% (expected calibration error, 15 bins" in words
    if count > 20:
        assert cells == []
        assert f"Largest confusions{len(found.confusions)} pairs of classes are confused" in words
        return
    confusion = np.array(found.confusion)
    expected = 0.6 * confusion / confusion.sum(1, keepdims=True)
    assert [float(each["fill-opacity"]) for each in cells] == pytest.approx(expected.ravel().tolist(), abs=0.001)
    titles = [text for tag, text in read.texts if tag == "title"]
    said = f"{labels[0]} predicted as {labels[1]}: {confusion[0][1]} of {confusion[0].sum()} texts, "
    assert any(title.startswith(said) for title in titles)


def test_parts():
    made = documents(4, lambda _: [["a", "b"]], np.random.default_rng(0))
    assert "N-grams alone" not in words_of(report_page(evaluation(made), made))
    parts = Parts(0.5, 0.25, Interval(0.25, -0.1, 0.5))
    words = words_of(report_page(evaluation(made)._replace(parts=parts), made))
    assert "N-grams alone50.0%" in words
    assert "trees alone 25.0%; the trees add +25.0 points (95% interval -10.0 to +50.0)" in words


def test_bag_of_words_and_verdict():
    made = documents(3, lambda _: [["a"]], np.random.default_rng(0))
    words = words_of(report_page(evaluation(made), made, bag_of_words=Baseline(0.785), verdict=["Trees <matter>."]))
    assert "Bag of words78.5%" in words
    assert "Statistics of the treesTrees <matter>." in words
    words = words_of(report_page(evaluation(made), made, bag_of_words=Baseline(None, "not measured on test")))
    assert "Bag of words–not measured on test" in words


def test_a_model_without_trees():
    made = [Document(parsed([["a", "b"]], trees=False), LABELS[0])]
    page = report_page(evaluation(made), made)
    assert "this model has no trees" in page
    assert 'name="tree"' not in page
    assert content(embedded(page), 0) == {"sentences": [{"words": ["a", "b"]}]}


def test_five_hundred_documents_stay_below_five_megabytes():
    chance = np.random.default_rng(0)
    lexicon = ["".join(chance.choice(list("abcdefghijklmnopqrstuvwxyz"), 2 + i % 9)) for i in range(8000)]
    ranks = np.minimum(chance.zipf(1.3, 600_000), 8000) - 1
    words = iter([lexicon[rank] for rank in ranks])
    small = documents(500, lambda _: [[next(words) for _ in range(18)] for _ in range(12)], chance)
    page = report_page(evaluation(small), small)
    assert len(page.encode()) < 5_000_000
    data = embedded(page)
    assert len(data["documents"]) == len(data["packed"]) == 500
    large = small * 6
    page = report_page(evaluation(large), large)
    assert len(page.encode()) < 5_000_000
    shown = len(embedded(page)["documents"])
    assert 1000 < shown < 3000
    assert f"{shown:,} of the 3,000 texts, drawn at random, as many as fit in this file." in page
    assert "each word has marginals only of its likeliest head." in page


def test_the_list_is_of_those_that_have_room():
    made = documents(300, lambda _: [["a"]], np.random.default_rng(0))
    few = packed(made, LABELS, 20_000)
    assert 20 < len(few.entries) == len(few.contents) < 300


def test_many_labels_leave_room_for_fewer_documents():
    labels = [*LABELS, *(f"label {i}" for i in range(400 - len(LABELS)))]
    made = documents(2000, lambda _: [["word"] * 30] * 4, np.random.default_rng(0))
    page = report_page(evaluation(made)._replace(labels=labels, confusion=[[1] * 400] * 400), made)
    assert len(page.encode()) < 5_000_000
