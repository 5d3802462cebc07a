"""Statistics of the shapes of trees (depth, arc length, crossing arcs, …), and comparison of trees.

Every figure is a quotient of two sums over all trees. Counts are kept by document, as pairs of such sums: adding them
gives the figure of any set of documents, such as a bootstrap sample.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit

from treetext.trees import ROOT, Tree

DEEPEST = 6  # each depth up to this one has a figure, as in the paper
SMALL = 3  # trees with at most so many nodes have no shape to speak of: all hang from one node


class Statistics(NamedTuple):
    """Figures of some trees; None if there is nothing to count. All shares are from 0 to 1.

    Trees of a single node, which have no arcs, count only for projectivity, height and depth.
    """

    trees: int
    nodes: int
    projective: float | None
    """The share of trees without crossing arcs. Arcs from the artificial root, left of all nodes, count too."""
    height: float | None
    """The mean over trees of the largest depth. The depth of a root is 1."""
    depth_1: float | None
    """The share of nodes at this depth."""
    depth_2: float | None
    depth_3: float | None
    depth_4: float | None
    depth_5: float | None
    depth_6: float | None
    deeper: float | None
    """The share of nodes deeper than these."""
    star: float | None
    """The share of trees with 4 or more nodes in which all nodes but the root are its children, or all are roots."""
    hub: float | None
    """The share of trees with 4 or more nodes in which all nodes but the root and one node are children of that node.

    That node is the root, as in a star, or a child of the root. All smaller trees have this shape."""
    leaves: float | None
    """The share of nodes without children."""
    arc_length: float | None
    """The mean over arcs of their length, divided by the number of nodes."""
    left: float | None
    """The share of arcs from a head to a node on its left."""
    right: float | None
    crossing: float | None
    """The share of arcs that cross another arc, including those from the artificial root."""
    root_position: float | None
    """The mean position of the root: 0 is the first node, 1 is the last."""
    root_first: float | None
    """The share of roots that are the first node."""
    root_last: float | None


SHAPES = Statistics._fields[2:]
COMPARED = ("heads", "arcs", "roots")


class Forest(NamedTuple):
    """Many trees, concatenated, and the document of each."""

    heads: Int[np.ndarray, "nodes"]
    lengths: Int[np.ndarray, "trees"]
    documents: Int[np.ndarray, "trees"]

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> "Forest":
        """These trees, each as its own document."""
        heads = np.array([head for tree in trees for head in tree.heads], dtype=np.int32)
        return cls(heads, np.array([len(tree) for tree in trees], dtype=np.int64), np.arange(len(trees)))


def tree_statistics(trees: Sequence[Tree]) -> Statistics:
    """Statistics of the shapes of trees.

    >>> shapes = tree_statistics([Tree.from_heads([1, -1, 1, 1]), Tree.from_heads([-1, 0])])
    >>> shapes.height, shapes.star, shapes.leaves, shapes.right
    (2.0, 1.0, 0.6666666666666666, 0.75)
    """
    counts = count_shapes(Forest.of(trees), len(trees)).sum(0)
    return Statistics(len(trees), sum(map(len, trees)), *(float(a / b) if b else None for a, b in counts))


def count_shapes(forest: Forest, documents: int) -> Float[np.ndarray, "_ figures 2"]:
    """For each document and each of `SHAPES`, the two sums whose quotient is the figure."""
    counts = np.zeros((documents, len(SHAPES), 2))
    _count_shapes(forest.heads, forest.lengths, forest.documents, counts)
    return counts


def compare(
    forest: Forest,
    heads: Int[np.ndarray, "nodes"],
    documents: int,
    counted: Bool[np.ndarray, "nodes"] | None = None,
) -> Float[np.ndarray, "_ 3 2"]:
    """For each document, the number of heads, arcs and roots of the forest that the trees with these heads share.

    Heads: nodes with the same head. Arcs: arcs that are present in either direction. Roots: roots that are roots in
    both. Each comes with its total. Only nodes that are `counted` (default: all) count for heads and arcs. Trees of a
    single node are ignored.
    """
    counts = np.zeros((documents, len(COMPARED), 2))
    which = np.ones(len(heads), bool) if counted is None else counted
    _compare(forest.heads, heads, which, forest.lengths, forest.documents, counts)
    return counts


@njit(cache=True, nogil=True)
def _count_shapes(heads: Any, lengths: Any, documents: Any, counts: Any) -> None:
    start = 0
    for tree in range(len(lengths)):
        n = lengths[tree]
        _count_tree(heads[start : start + n], counts[documents[tree]])
        start += n


@njit(cache=True, nogil=True)
def _count_tree(heads: Any, counts: Any) -> None:
    """Add the counts of one tree. The columns are in the order of `SHAPES`."""
    n = len(heads)
    depths, crossed, children = _depths(heads), _crossed(heads), np.zeros(n, np.int64)
    height, roots = 0, 0
    for node in range(n):
        height = max(height, depths[node])
        counts[1 + min(depths[node], DEEPEST + 1), 0] += 1
        if heads[node] == ROOT:
            roots += 1
        else:
            children[heads[node]] += 1
    _add(counts, 0, not crossed.any(), 1)
    _add(counts, 1, height, 1)
    counts[2 : 3 + DEEPEST, 1] += n
    if n == 1:
        return
    column = 3 + DEEPEST
    if n > SMALL:
        star = height <= 2 and (roots == 1 or roots == n)
        _add(counts, column, star, 1)
        _add(counts, column + 1, star or (roots == 1 and ((children == n - 2) & (heads != ROOT)).any()), 1)
    _add(counts, column + 2, (children == 0).sum(), n)
    for node in range(n):
        head = heads[node]
        if head == ROOT:
            _add(counts, column + 7, node / (n - 1), 1)
            _add(counts, column + 8, node == 0, 1)
            _add(counts, column + 9, node == n - 1, 1)
        else:
            _add(counts, column + 3, abs(head - node) / n, 1)
            _add(counts, column + 4, node < head, 1)
            _add(counts, column + 5, node > head, 1)
            _add(counts, column + 6, crossed[node], 1)


@njit(cache=True, nogil=True)
def _add(counts: Any, column: int, above: float, below: float) -> None:
    counts[column, 0] += above
    counts[column, 1] += below


@njit(cache=True, nogil=True)
def _depths(heads: Any) -> Any:
    depths = np.zeros(len(heads), np.int64)
    for start in range(len(heads)):
        steps, node = 0, start
        while node != ROOT and depths[node] == 0:  # up to a node of known depth
            steps += 1
            node = heads[node]
        depth, node = steps + (0 if node == ROOT else depths[node]), start
        while node != ROOT and depths[node] == 0:
            depths[node] = depth
            depth -= 1
            node = heads[node]
    return depths


@njit(cache=True, nogil=True)
def _crossed(heads: Any) -> Any:
    """Whether the arc into each node crosses another one. ROOT (-1) is also the position of the artificial root."""
    n = len(heads)
    crossed = np.zeros(n, np.bool_)
    for a in range(n):
        left, right = min(a, heads[a]), max(a, heads[a])
        for b in range(a):
            start, end = min(b, heads[b]), max(b, heads[b])
            if left < start < right < end or start < left < end < right:
                crossed[a] = crossed[b] = True
    return crossed


@njit(cache=True, nogil=True)
def _compare(heads: Any, others: Any, counted: Any, lengths: Any, documents: Any, counts: Any) -> None:
    start = 0
    for tree in range(len(lengths)):
        n = lengths[tree]
        mine, theirs, counts_here = heads[start : start + n], others[start : start + n], counted[start : start + n]
        start += n
        if n == 1:
            continue
        document = counts[documents[tree]]
        for node in range(n):
            head = mine[node]
            same = head == theirs[node]
            if counts_here[node]:
                _add(document, 0, same, 1)
            if head == ROOT:
                _add(document, 2, same, 1)
            elif counts_here[node]:
                _add(document, 1, same or theirs[head] == node, 1)
