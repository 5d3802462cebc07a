import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from spacy import displacy

from tests.show.making import NASTY, random_tree, random_weights
from treetext.models import Weights
from treetext.show import arcs_svg, document_svg, heat_map, sentence_arcs, sentence_svg
from treetext.show.svg import arc_levels
from treetext.trees import Tree

S = "{http://www.w3.org/2000/svg}"
WORDS = ["the", "old", "dog", "sleeps"]
TREE = Tree.from_heads([2, 2, 3, -1])
WEIGHTS = Weights(
    np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0.5, 1, 0, 0], [0.5, 0, 0.9, 0]], np.float32),
    np.array([0, 0, 0.1, 1], np.float32),
)
CONTROLS = "a\x00b\x1b\ufffe"


def texts(drawing):
    return ["".join(node.itertext()).strip() for node in drawing.iter(f"{S}text")]


def test_any_dictionary_is_escaped():
    markup = '<script>alert(1)</script> "&'
    words = [{"text": markup, "tag": markup}, {"text": "x&y", "tag": "x&y"}]
    arcs = [{"start": 0, "end": 1, "label": markup, "dir": "left"}]
    drawing = ET.fromstring(arcs_svg({"words": words, "arcs": arcs}))
    assert not any("script" in node.tag for node in drawing.iter())
    assert sum(text.count(markup) for text in texts(drawing)) == 3


def test_sentence_arcs_are_those_of_displacy():
    drawing = ET.fromstring(sentence_svg(WORDS, TREE, WEIGHTS))
    arrows = [group for group in drawing.iter(f"{S}g") if group.get("class") == "displacy-arrow"]
    assert [arrow.get("opacity") for arrow in arrows] == ["0.65", "1.00", "0.93"]
    assert [text.split() for text in texts(drawing)] == [
        ["the"], ["old"], ["dog"], ["sleeps", "root"], ["0.50"], ["1.00"], ["0.90"]
    ]  # fmt: skip
    shifts = [node.get("dy") for node in drawing.iter(f"{S}text") if node.find(f"{S}textPath") is not None]
    assert shifts == ["-0.2em"] * 3, "above its arc, where there is room for letters"
    assert sentence_svg(WORDS, TREE, WEIGHTS) == sentence_svg(WORDS, TREE, WEIGHTS)
    assert sentence_svg(WORDS, TREE) != sentence_svg(WORDS[::-1], TREE)


def test_plain_dictionaries_of_displacy():
    made = sentence_arcs(WORDS, TREE, WEIGHTS)
    assert [word["text"] for word in made["words"]] == WORDS
    assert [(arc["start"], arc["end"], arc["dir"], arc["label"]) for arc in made["arcs"]] == [
        (0, 2, "left", "0.50"), (1, 2, "left", "1.00"), (2, 3, "left", "0.90")
    ]  # fmt: skip
    assert arcs_svg(made) == sentence_svg(WORDS, TREE, WEIGHTS)
    assert arcs_svg(json.loads(json.dumps(made))) == arcs_svg(made), "nothing but what JSON has"
    theirs = displacy.render(made, manual=True, jupyter=False)
    assert theirs.count('class="displacy-arrow"') == arcs_svg(made).count('class="displacy-arrow"')
    # Of a parser: any labels, and tags that say something else.
    parse = {
        "words": [{"text": "Trees", "tag": "NOUN"}, {"text": "grow", "tag": "VERB"}],
        "arcs": [{"start": 0, "end": 1, "label": "nsubj", "dir": "left"}],
    }
    drawing = ET.fromstring(arcs_svg(parse))
    assert [text.split() for text in texts(drawing)] == [["Trees", "NOUN"], ["grow", "VERB"], ["nsubj"]]


def test_arcs_of_a_length_are_always_in_the_same_order():
    arcs = [{"start": i, "end": i + 6, "label": "", "dir": "left"} for i in range(6)]
    drawn = arcs_svg({"words": [{"text": "x", "tag": ""}] * 12, "arcs": arcs})
    heights = [float(height) for height in re.findall(r" C[\d.]+,(-?[\d.]+) ", drawn)]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 6


@pytest.mark.parametrize("n", [13, 60])
def test_many_arcs_end_at_their_words_and_fill_their_drawing(n):
    drawing = ET.fromstring(sentence_svg(["word"] * n, Tree.from_heads([-1, *[0] * (n - 1)])))
    words = [float(node.get("x")) for node in drawing.iter(f"{S}tspan") if node.get("class") == "displacy-word"]
    paths = [node.get("d") for node in drawing.iter(f"{S}path") if node.get("class") == "displacy-arc"]
    ends = [float(re.findall(r"[\d.]+", path)[-2]) for path in paths]
    assert ends == pytest.approx(words[1:], abs=13)
    left, top, width, height = map(float, drawing.get("viewBox").split())
    assert (width, height) == (float(drawing.get("width")), float(drawing.get("height")))
    highest = min(float(re.findall(r"-?[\d.]+", path)[3]) for path in paths)
    assert left == 0
    assert 12 < highest - top < 20, "room for a label"


def test_a_document_tree_has_an_arc_for_each_sentence_and_its_whole_text():
    long = "word " * 100
    drawing = ET.fromstring(document_svg([long, "b", "c", "d"], TREE, WEIGHTS, width=500))
    titles = [node.text for node in drawing.iter(f"{S}title")]
    assert titles == [
        "3 → 1: 0.50", "3 → 2: 1.00", "4 → 3: 0.90", "root → 4: 1.00", " ".join(long.split()), "b", "c", "d"
    ]  # fmt: skip
    shown = texts(drawing)
    assert [text for text in shown if text.endswith("…")]
    assert len(max(shown, key=len)) < 60
    assert float(drawing.get("width")) == 500


def test_heat_map_cells():
    drawing = ET.fromstring(heat_map(WEIGHTS, WORDS))
    titles = [node.text for node in drawing.iter(f"{S}title")]
    assert len(titles) == 5 * 4
    assert "root → sleeps: 1.000" in titles
    assert "dog → the: 0.500" in titles
    opacity = [float(node.get("fill-opacity", 0)) for node in drawing.iter(f"{S}rect")][1:]
    assert opacity == pytest.approx(
        [0.55 * (0.05 + 0.95 * share) for share in np.vstack([WEIGHTS.roots, WEIGHTS.arcs]).ravel()], abs=1e-3
    )


@pytest.mark.parametrize(
    "words", [*NASTY, [CONTROLS, "b"], ["alone"]], ids=["markup", "hebrew", "emoji", "control", "one"]
)
def test_any_text_is_valid_xml(words):
    chance = np.random.default_rng(0)
    tree, weights = random_tree(chance, len(words)), random_weights(chance, len(words))
    for drawn in (sentence_svg(words, tree, weights), document_svg(words, tree, weights), heat_map(weights, words)):
        found = " ".join(ET.fromstring(drawn).itertext())
        for word in words:
            assert word in found or word == CONTROLS


def test_right_to_left():
    drawing = ET.fromstring(sentence_svg(NASTY[1], Tree.from_heads([1, -1, 1])))
    places = [float(node.get("x")) for node in drawing.iter(f"{S}tspan") if node.get("class") == "displacy-word"]
    assert places == sorted(places, reverse=True)
    for path in drawing.iter(f"{S}path"):
        if path.get("class") == "displacy-arc":
            numbers = [float(number) for number in re.findall(r"[\d.]+", path.get("d"))]
            assert numbers[0] < numbers[-2], "labels along it do not stand on their heads"
    assert {node.get("side") for node in drawing.iter(f"{S}textPath")} == {"left"}


def test_arcs_over_the_same_place_share_a_level_only_with_those_of_their_head():
    chance = np.random.default_rng(3)
    for _ in range(50):
        tree = random_tree(chance, 9)
        levels = arc_levels(tree)
        for place in range(8):
            over = {(arc[0], level) for arc, level in levels.items() if min(arc) <= place < max(arc)}
            assert len(over) == len({level for _, level in over})


def test_large_trees():
    n = 120
    tree = Tree.from_heads([-1, *[0] * (n - 1)])
    drawing = ET.fromstring(document_svg(["x"] * n, tree))
    assert float(drawing.get("width")) == 960
    ET.fromstring(sentence_svg(["x"] * n, tree))


def test_refusals():
    with pytest.raises(ValueError, match="expected 4 texts, one for each node, got 1"):
        document_svg(["a"], TREE)
    with pytest.raises(ValueError, match=r"weights: expected arcs of shape \(2, 2\), got \(4, 4\)"):
        heat_map(WEIGHTS, ["a", "b"])
