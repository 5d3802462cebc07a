"""The shapes of trees."""

import numpy as np
import pytest

from tests.evaluation.brute import all_trees, same_as
from treetext.evaluation import tree_statistics
from treetext.evaluation.shapes import SHAPES, Forest, compare, count_shapes
from treetext.trees import Tree


def test_worked_by_hand():
    """A star of three nodes, the chain 3 -> 0 -> 2 -> 1, and a single node."""
    found = tree_statistics([Tree.from_heads([1, -1, 1]), Tree.from_heads([3, 2, 0, -1]), Tree.from_heads([-1])])
    assert (found.trees, found.nodes) == (3, 8)
    assert found.projective == 3 / 3  # the arcs 3-0, 0-2 and 2-1 are nested, and the root stands at the end
    assert found.height == (2 + 4 + 1) / 3
    assert found[SHAPES.index("depth_1") + 2 :][:7] == (3 / 8, 3 / 8, 1 / 8, 1 / 8, 0, 0, 0)
    assert (found.star, found.hub) == (0, 0)  # the star is too small to count
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


def vacuous(tree):
    found = tree_statistics([tree])
    return found.star, found.hub


def test_vacuous_trees():
    star, hub, chain = (Tree.from_heads(heads) for heads in ([-1, 0, 0, 0], [-1, 0, 1, 1], [-1, 0, 1, 2]))
    assert [vacuous(tree) for tree in (star, hub, chain)] == [(1, 1), (0, 1), (0, 0)]
    assert vacuous(Tree.from_heads([-1, 0, 0, 1])) == (0, 0), "one does not hang from the root"
    assert vacuous(Tree.from_heads([2, 2, 3, -1, 2])) == (0, 1)
    assert vacuous(Tree.from_heads([-1, 0, 1])) == (None, None), "nothing else is possible"
    assert vacuous(Tree.from_heads([-1, -1, -1, -1], single_root=False)) == (1, 1)
    assert vacuous(Tree.from_heads([-1, -1, -1, 0], single_root=False)) == (0, 0)


def by_definition(tree):
    """The two sums behind each figure, from what `Tree` says."""
    n, arcs, crossing = len(tree), tree.arcs, {arc for pair in tree.crossing for arc in pair}
    counts = [(tree.projective, 1), (tree.height, 1)]
    counts += [(tree.depths.count(depth), n) for depth in range(1, 7)] + [(sum(d > 6 for d in tree.depths), n)]
    if n == 1:
        return counts + [(0, 0)] * 10
    children = [len(each) for each in tree.children]
    roots = len(tree.roots)
    flat = roots == n
    # From a hub hangs all that is neither itself nor the root.
    hubs = [h for h in range(n) if roots == 1 and all(tree.heads[j] == h for j in range(n) if j not in (h, tree.root))]
    return [
        *counts,
        (flat or (roots == 1 and children[tree.root] == n - 1), 1) if n > 3 else (0, 0),
        (flat or bool(hubs), 1) if n > 3 else (0, 0),
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
    for n in range(1, 6):
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
    """The heads, arcs and roots that are the same."""
    random = np.random.default_rng(0)
    trees = [list(all_trees(n)) for n in (1, 2, 3, 4)]
    gold, found = ([some[random.integers(len(some))] for some in trees for _ in range(10)] for _ in range(2))
    counted = [(random.random(len(tree)) < 0.7).tolist() for tree in gold]
    for which in (None, counted):
        flat = None if which is None else np.concatenate(which)
        counts = compare(Forest.of(gold), Forest.of(found).heads, len(gold), flat).sum(0)
        expected = same_as([tree.heads for tree in gold], [tree.heads for tree in found], which)
        assert (counts[:, 0] / counts[:, 1]).tolist() == pytest.approx(expected)


def test_comparison_by_hand():
    turned = compare(Forest.of([Tree.from_heads([-1, 0, 1])]), np.array([1, -1, 1]), 1)[0]
    assert turned.tolist() == [[1, 3], [2, 2], [0, 1]]  # only the last node has its head; both arcs are there
    gold, found = Forest.of([Tree.from_heads([3, 3, 3, -1])]), np.array([3, 0, 3, -1])
    assert compare(gold, found, 1)[0].tolist() == [[3, 4], [2, 3], [1, 1]]
    some = np.array([True, False, True, True])
    assert compare(gold, found, 1, some)[0].tolist() == [[3, 3], [2, 2], [1, 1]]
    some = np.array([True, False, True, False])
    assert compare(gold, found, 1, some)[0].tolist() == [[2, 2], [2, 2], [1, 1]], "a root is a root, counted or not"
