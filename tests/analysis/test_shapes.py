"""The shapes of trees."""

import itertools

import numpy as np
import pytest

from treetext.analysis import tree_statistics
from treetext.analysis._recovery import Pair, shares
from treetext.analysis._shapes import SHAPES, Forest, compare, count_shapes
from treetext.trees import Tree


def all_trees(n, single_root=True):
    for heads in itertools.product(range(-1, n), repeat=n):
        try:
            yield Tree.from_heads(heads, single_root)
        except ValueError:
            continue


def test_worked_by_hand():
    """A star of three nodes, the chain 3 -> 0 -> 2 -> 1, and a single node."""
    found = tree_statistics([Tree.from_heads([1, -1, 1]), Tree.from_heads([3, 2, 0, -1]), Tree.from_heads([-1])])
    assert (found.trees, found.nodes) == (3, 8)
    assert found.projective == 3 / 3  # the arcs 3-0, 0-2 and 2-1 are nested, and the root stands at the end
    assert found.height == (2 + 4 + 1) / 3
    assert found[SHAPES.index("depth_1") + 2 :][:7] == (3 / 8, 3 / 8, 1 / 8, 1 / 8, 0, 0, 0)
    assert found.star == 1 / 2
    assert found.hub == 0  # the star is too small for it
    assert found.leaves == (2 + 1) / 7
    assert found.arc_length == pytest.approx((2 * 1 / 3 + (3 + 1 + 2) / 4) / 5)
    assert (found.left, found.right) == (3 / 5, 2 / 5)
    assert found.crossing == 0
    assert found.root_position == (0.5 + 1) / 2
    assert (found.root_first, found.root_last) == (0, 1 / 2)


def test_crossing_arcs():
    found = tree_statistics([Tree.from_heads([-1, 3, 0, 0])])  # 0 -> 2 and 3 -> 1 cross; 0 -> 3 crosses nothing
    assert (found.projective, found.crossing) == (0, 2 / 3)
    under = tree_statistics([Tree.from_heads([1, -1, 0])])  # 0 -> 2 is drawn over the root
    assert (under.projective, under.crossing) == (0, 1 / 2)


def test_vacuous_trees():
    star, hub, chain = (Tree.from_heads(heads) for heads in ([-1, 0, 0, 0], [-1, 0, 1, 1], [-1, 0, 1, 2]))
    assert [tree_statistics([tree])[11:13] for tree in (star, hub, chain)] == [(1, 1), (0, 1), (0, 0)]
    assert tree_statistics([Tree.from_heads([-1, 0])])[11:13] == (None, None), "nothing else is possible"
    forest = Tree.from_heads([-1, -1, -1, -1], single_root=False)
    assert tree_statistics([forest])[11:13] == (1, 1)


def by_definition(tree):
    """The two sums behind each figure, from what `Tree` says."""
    n, arcs, crossing = len(tree), tree.arcs, {arc for pair in tree.crossing for arc in pair}
    counts = [(tree.projective, 1), (tree.height, 1)]
    counts += [(tree.depths.count(depth), n) for depth in range(1, 7)] + [(sum(d > 6 for d in tree.depths), n)]
    if n == 1:
        return counts + [(0, 0)] * 10
    children = [len(each) for each in tree.children]
    flat = len(tree.roots) == n
    roots = len(tree.roots)
    return [
        *counts,
        (flat or (roots == 1 and children[tree.root] == n - 1), 1) if n > 2 else (0, 0),
        (flat or max(children) >= n - 2, 1) if n > 3 else (0, 0),
        (len(tree.leaves), n),
        (sum(tree.arc_lengths) / n, len(arcs)),
        (sum(node < head for head, node in arcs), len(arcs)),
        (sum(node > head for head, node in arcs), len(arcs)),
        (sum(arc in crossing for arc in arcs), len(arcs)),
        (sum(root / (n - 1) for root in tree.roots), roots),
        (0 in tree.roots, roots),
        (n - 1 in tree.roots, roots),
    ]


@pytest.mark.parametrize("single_root", [True, False])
def test_of_all_small_trees(single_root):
    for n in range(1, 5):
        trees = list(all_trees(n, single_root))
        counts = count_shapes(Forest.of(trees), len(trees))
        np.testing.assert_allclose(counts, np.array([by_definition(tree) for tree in trees], float))


def test_of_large_trees():
    random = np.random.default_rng(0)
    trees = []
    for n in (9, 30, 80):
        order = random.permutation(n)
        heads = np.full(n, -1)
        for i in range(1, n):
            heads[order[i]] = order[random.integers(max(0, i - 3), i)]
        trees.append(Tree.from_heads(heads))
    forest = Forest.of(trees)._replace(documents=np.array([1, 0, 1]))
    counts = count_shapes(forest, 3)
    expected = np.array([by_definition(tree) for tree in trees], float)
    np.testing.assert_allclose(counts, np.stack([expected[1], expected[0] + expected[2], 0 * expected[0]]))


def test_nothing_to_count():
    assert tree_statistics([])[2:] == (None,) * len(SHAPES)


def test_comparison():
    """The heads, arcs and roots that are the same, as by the other way to count them."""
    random = np.random.default_rng(0)
    trees = [list(all_trees(n)) for n in (1, 2, 3, 4)]
    gold, found = ([some[random.integers(len(some))] for some in trees for _ in range(10)] for _ in range(2))
    counts = compare(Forest.of(gold), Forest.of(found).heads, len(gold)).sum(0)
    expected = shares([Pair(a.heads, b.heads) for a, b in zip(gold, found, strict=True)])["found"]
    assert (counts[:, 0] / counts[:, 1]).tolist() == pytest.approx(list(expected))
    turned = compare(Forest.of([Tree.from_heads([-1, 0, 1])]), np.array([1, -1, 1]), 1)[0]
    assert turned.tolist() == [[1, 3], [2, 2], [0, 1]]  # only the last node has its head; both arcs are there
