import re

import pytest
from rich.cells import cell_len

from tests.show.making import parsed
from treetext.models import Evidence
from treetext.show import draw, draw_parsed
from treetext.trees import Tree


def test_several_roots_and_order():
    tree = Tree.from_heads([2, -1, -1, 2, 0], single_root=False)
    assert draw(tree, list("abcde")).splitlines() == ["b", "c", "├── a", "│   └── e", "└── d"]


def test_ngrams_for_the_label_and_against_it():
    found = [
        Evidence("good film", "words", 0.514),
        Evidence(" go\x1b", "characters", 0.1),
        Evidence("bad", "words", -2),
    ]
    text = parsed([["a", "film"]], labels=["yes", "no"])._replace(evidence=found)
    assert draw_parsed(text).splitlines()[:4] == [
        "yes (0.900)",
        'n-grams for yes: "good film" +0.51, " go�" (characters) +0.10',
        'n-grams against yes: "bad" -2.00',
        "",
    ]
    assert draw_parsed(text._replace(evidence=found[2:])).splitlines()[1] == 'n-grams against yes: "bad" -2.00'
    assert "n-grams" not in draw_parsed(text._replace(evidence=()))


def test_a_label_is_one_line():
    assert draw(Tree.from_heads([-1]), ["two\nlines"]) == "two lines"


def test_deep_trees_need_no_recursion():
    tree = Tree.from_heads([-1, *range(1999)])
    assert len(draw(tree, ["x"] * 2000).splitlines()) == 2000


def test_as_many_labels_as_nodes():
    with pytest.raises(ValueError, match="labels: expected 2, one for each node, got 1"):
        draw(Tree.from_heads([-1, 0]), ["a"])


CHAIN = Tree.from_heads([-1, *range(29)])


@pytest.mark.parametrize("width", [1, 2, 5, 12, 20, 40, 80, 200])
def test_nothing_is_wider_than_the_terminal(width):
    labels = [f"{node} 漢字 a rather long label 👩 that goes on" for node in range(30)]
    for tree in (CHAIN, Tree.from_heads([1, -1, *[1] * 28])):
        lines = draw(tree, labels, width).splitlines()
        assert len(lines) == 30
        assert max(map(cell_len, lines)) <= width
        if width >= 12:
            numbers = sorted(int(re.search(r"\d+", line)[0]) for line in lines)
            assert numbers == list(range(30)), "each node can be told"


def test_wide_terminals_change_nothing():
    tree = Tree.from_heads([2, -1, 1, 2, 0])
    assert draw(tree, list("abcde"), 80) == draw(tree, list("abcde"))


def test_labels_end_in_an_ellipsis_only_if_cut():
    tree = Tree.from_heads([-1, 0])
    assert draw(tree, ["twelve chars", "eight ch"], 12) == "twelve chars\n└ eight ch"
    assert draw(tree, ["thirteen char", "x"], 12).splitlines()[0] == "thirteen ch…"


def test_no_text_steers_the_terminal():
    drawn = draw(Tree.from_heads([-1, 0]), ["\x1b[31mred", "a\x07\x9b2Jb"])
    assert "\x1b" not in drawn
    assert "\x9b" not in drawn
    assert "\x07" not in drawn


def test_a_parsed_text():
    found = draw_parsed(parsed([["Trees", "grow"], ["Slowly"]], labels=["good", "bad"]))
    lines = found.splitlines()
    assert lines[0] == "good (0.900)"
    assert any(re.fullmatch(r"(└── )?1\. Trees grow \(\d\.\d\d\)", line) for line in lines)
    assert lines[-2:] == ["2. Slowly", "Slowly (1.00)"]
    assert "\x1b" not in found
    coloured = draw_parsed(parsed([["Trees", "grow"], ["Slowly"]], labels=["good", "bad"]), color=True)
    assert re.sub(r"\x1b\[\d+m", "", coloured) == found != coloured
    bare = draw_parsed(parsed([["a", "b"]], labels=["good", "bad"], trees=False))
    assert bare == "good (0.900)\n\n1. a b"


def test_refusals():
    tree = Tree.from_heads([-1, 0])
    with pytest.raises(ValueError, match="shares: expected 2, one for each node, got 1"):
        draw(tree, ["a", "b"], shares=[1.0])
    with pytest.raises(ValueError, match="width: expected 1 column or more, got 0"):
        draw(tree, ["a", "b"], width=0)
