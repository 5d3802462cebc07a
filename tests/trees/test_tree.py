import itertools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from treetext.trees.tree import PAD, ROOT, Tree


@st.composite
def forests(draw, most_nodes=12):
    """Heads of any tree, with any number of roots: each node hangs on an earlier one in some order."""
    order = draw(st.permutations(range(draw(st.integers(1, most_nodes)))))
    heads = [ROOT] * len(order)
    for place, node in enumerate(order):
        heads[node] = draw(st.sampled_from([ROOT, *order[:place]]))
    return tuple(heads)


def ancestors(heads, node):
    """All nodes above a node, from its head up; None if they never end."""
    above = []
    while heads[node] != ROOT:
        node = heads[node]
        above.append(node)
        if len(above) > len(heads):
            return None
    return above


@settings(deadline=None)
@given(forests())
def test_properties_are_what_they_say(heads):
    tree = Tree(heads)
    nodes = range(len(heads))
    assert len(tree) == len(heads)
    assert tree.roots == tuple(j for j in nodes if heads[j] == ROOT)
    assert tree.children == tuple(tuple(j for j in nodes if heads[j] == i) for i in nodes)
    assert tree.leaves == tuple(i for i in nodes if i not in heads)
    assert tree.depths == tuple(1 + len(ancestors(heads, j)) for j in nodes)
    assert tree.height == max(1 + len(ancestors(heads, j)) for j in nodes)
    assert tree.arcs == tuple((heads[j], j) for j in nodes if j not in tree.roots)
    assert tree.arc_lengths == tuple(max(arc) - min(arc) for arc in tree.arcs)


@settings(deadline=None)
@given(forests())
def test_projective_if_what_is_under_an_arc_descends_from_its_head(heads):
    tree = Tree(heads)
    assert tree.projective == all(
        head in ancestors(heads, between)
        for head, node in tree.arcs
        for between in range(min(head, node) + 1, max(head, node))
    )


@settings(deadline=None)
@given(forests())
def test_crossing_against_all_pairs_of_arcs(heads):
    tree = Tree(heads)
    arcs = [*tree.arcs, *((ROOT, root) for root in tree.roots)]
    pairs = {(a, b) for a in arcs for b in arcs if min(a) < min(b) < max(a) < max(b)}
    assert len(tree.crossing) == len(pairs)
    assert set(tree.crossing) == pairs
    assert tree.projective == (not pairs)


def test_an_arc_over_a_root_crosses_its_arc():
    assert Tree((2, -1, 1)).crossing == (((-1, 1), (2, 0)),)
    assert not Tree((2, -1, 1)).projective
    assert Tree((-1, 0, -1)).projective
    assert Tree((-1, -1, 0)).crossing == (((-1, 1), (0, 2)),)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_tree_is_accepted_just_when_every_node_hangs_on_a_root(n):
    for heads in itertools.product(range(-1, n), repeat=n):
        rooted = all(ancestors(heads, node) is not None for node in range(n))
        single = rooted and heads.count(ROOT) == 1
        for is_tree, single_root in ((rooted, False), (single, True)):
            if is_tree:
                assert Tree.from_heads(heads, single_root).heads == heads
            else:
                with pytest.raises(ValueError, match=r"cycle|root|its own head"):
                    Tree.from_heads(heads, single_root)


@settings(deadline=None)
@given(forests())
def test_a_tree_is_a_value(heads):
    tree = Tree(heads)
    for twin in (Tree(heads), eval(repr(tree)), pickle.loads(pickle.dumps(tree))):
        assert twin == tree
        assert hash(twin) == hash(tree)
        assert (twin.children, twin.depths) == (tree.children, tree.depths)
    assert repr(tree) == f"Tree(heads={heads})"
    assert tree != Tree((*heads, ROOT))
    with pytest.raises(AttributeError):
        tree.heads = ()


@pytest.mark.parametrize("kind", [list, tuple, iter, np.array, torch.tensor])
def test_heads_of_any_kind_without_their_padding(kind):
    tree = Tree.from_heads(kind([1, ROOT, 1, PAD, PAD]))
    assert tree == Tree((1, -1, 1))
    assert all(type(head) is int for head in tree.heads)
    assert tree.root == 1


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([], "a tree needs at least one node, but there are no heads"),
        ([PAD, PAD], "a tree needs at least one node, but there are no heads"),
        ([-1, 0, 0, 5, 3, 3], "cycle through 3, 5"),
        ([1, 2, 0, -1, 0], "cycle through 0, 1, 2"),
        ([*range(1, 12), 0, -1], "cycle through 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"),
        ([1, -1, 1, 1, -1], "two roots: 1, 4 (pass single_root=False to allow this)"),
        ([-1, -1, -1], "3 roots: 0, 1, 2 (pass single_root=False to allow this)"),
        ([1, 2, 0], "no root: none of the heads is -1"),
        ([1, -1, 9, 1, 1, 1], "head of 2 is 9, but there are only 6 nodes"),
        ([1], "head of 0 is 1, but there is only 1 node"),
        ([1, -1, 1, 3], "node 3 is its own head"),
        ([1, -1, -2, 1], "head of 2 is -2: padding, which from_heads drops only at the end"),
        ([1, -1, -3], "head of 2 is -3, but a head is a node (from 0) or -1 for a root"),
        (torch.tensor([1.0, -1.0]), "head of 0 is 1.0, which is not an integer"),
        (np.array([[1, -1]]), "head of 0 is [1, -1], which is not an integer"),
        (torch.tensor(-1), "heads must be a sequence of integers, not -1"),
    ],
)
def test_messages_say_what_is_wrong(heads, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        Tree.from_heads(heads)
    assert str(raised.value) == message


def test_the_root_of_several_is_an_error():
    forest = Tree((1, -1, 1, -1))
    assert forest.roots == (1, 3)
    with pytest.raises(ValueError, match=r"^two roots: 1, 3$"):
        _ = forest.root


@settings(deadline=None)
@given(forests(), st.data())
def test_conllu_round_trip(heads, data):
    tree = Tree(heads)
    assert Tree.from_conllu(tree.to_conllu(), single_root=False) == tree
    word = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1)
    words = data.draw(st.lists(word, min_size=len(tree), max_size=len(tree)))
    text = tree.to_conllu(words)
    assert Tree.from_conllu(text, single_root=False) == tree
    assert [row.split("\t")[1] for row in text.split("\n")[:-2]] == words


def test_conllu_by_hand():
    text = (
        "1\tOld\t_\t_\t_\t_\t2\tdep\t_\t_\n2\ttrees\t_\t_\t_\t_\t3\tdep\t_\t_\n3\tgrow\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )
    assert Tree((1, 2, -1)).to_conllu(["Old", "trees", "grow"]) == text
    assert Tree.from_conllu(text) == Tree((1, 2, -1))
    assert Tree((-1,)).to_conllu() == "1\t_\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def row(ident, head):
    return f"{ident}\tw\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_conllu_of_a_treebank(newline):
    rows = row("1", 3) + row("2-3", "_") + row("2", 1) + row("3", 0) + row("3.1", "_") + row("4", 3)
    text = f"\n# sent_id = 1\n# text = w\n{rows}\n\n".replace("\n", newline)
    assert Tree.from_conllu(text) == Tree((2, 0, -1, 2))
    assert Tree.from_conllu(text.rstrip()) == Tree((2, 0, -1, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no words in this CoNLL-U text"),
        ("# a comment\n\n", "no words in this CoNLL-U text"),
        ("# c\n1 w _ _ _ _ 0 _ _ _\n", "line 2: expected 10 fields separated by tabs, got 1"),
        (row(1, 0) + row(3, 1), "line 2: ID is '3', but 2 comes next"),
        (row(1, 0) + row("x", 1), "line 2: ID is 'x', but 2 comes next"),
        (row(1, 0) + row(2, "_"), "line 2: HEAD is '_', which is not a whole number"),
        (row(1, 0) + row(2, "-1"), "line 2: HEAD is '-1', which is not a whole number"),
        (row(1, 0) + row(2, 7), "line 2: HEAD is 7, but there are only 2 words"),
        (row(1, 7), "line 1: HEAD is 7, but there is only 1 word"),
        (row(1, 0) + row(2, 2), "line 2: HEAD is 2, the word itself"),
        (row(1, 0) + "\n" + row(1, 0), "line 3: a second sentence starts here; expected one sentence"),
        (row(1, 0) + row(2, 3) + row(3, 2), "cycle through 1, 2 (words counted from 0)"),
        (row(1, 2) + row(2, 1), "no root: none of the heads is -1 (words counted from 0)"),
    ],
)
def test_conllu_messages_name_the_line_and_the_field(text, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        Tree.from_conllu(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a"], "1 words for 2 nodes: a tree needs one word per node"),
        (["a", "b\tc"], r"word 1 is 'b\tc', but CoNLL-U allows no empty words, tabs or newlines"),
        (["\n", "b"], r"word 0 is '\n', but CoNLL-U allows no empty words, tabs or newlines"),
        (["a", ""], "word 1 is '', but CoNLL-U allows no empty words, tabs or newlines"),
    ],
)
def test_conllu_words_that_do_not_fit(words, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        Tree((1, -1)).to_conllu(words)
    assert str(raised.value) == message


def test_a_chain_of_100_000_nodes():
    n = 100_000
    chain = Tree.from_heads(np.arange(n) - 1)
    assert chain.height == n
    assert chain.leaves == (n - 1,)
    assert chain.projective
    assert chain.crossing == ()
    assert sum(chain.arc_lengths) == n - 1
    assert Tree.from_conllu(chain.to_conllu()) == chain
    with pytest.raises(ValueError, match=r"^cycle through 1, 2, 3, "):
        Tree.from_heads([-1, n - 1, *range(1, n - 1)])
