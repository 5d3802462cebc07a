import pytest

from treetext.show import draw
from treetext.trees import Tree


def test_several_roots_and_order():
    tree = Tree.from_heads([2, -1, -1, 2, 0], single_root=False)
    assert draw(tree, list("abcde")).splitlines() == ["b", "c", "├── a", "│   └── e", "└── d"]


def test_a_label_is_one_line():
    assert draw(Tree.from_heads([-1]), ["two\nlines"]) == "two lines"


def test_deep_trees_need_no_recursion():
    tree = Tree.from_heads([-1, *range(1999)])
    assert len(draw(tree, ["x"] * 2000).splitlines()) == 2000


def test_as_many_labels_as_nodes():
    with pytest.raises(ValueError, match="labels: expected 2, one for each node, got 1"):
        draw(Tree.from_heads([-1, 0]), ["a"])
