"""The best tree, projective or not: a maximum spanning tree, argmax over trees of Σ_j score[head of j, j].

Chu and Liu (1965) and Edmonds (1967), in the form of Tarjan (1977) and Gabow et al. (1986).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetext.trees.kernels.compile import kernel
from treetext.trees.tree import PAD, ROOT


@kernel
def decode(
    arcs: NDArray[np.float64], roots: NDArray[np.float64], lengths: NDArray[np.int64], single_root: bool
) -> NDArray[np.int64]:
    """The heads of the best tree of each problem; rows of PAD where there is no tree."""
    heads = np.full(roots.shape, PAD, np.int64)
    for problem in range(len(heads)):
        length = lengths[problem]
        incoming = entering(arcs[problem], roots[problem], length)
        tree = heads[problem, :length]
        if not _greedy_tree(incoming, single_root, tree) and not _best_tree(incoming, single_root, tree):
            tree[:] = PAD
    return heads


@kernel
def entering(arcs: NDArray[np.float64], roots: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """The scores of the arcs into each node, one row per node; the artificial root is the last column."""
    incoming = np.empty((length, length + 1))
    for head in range(length):
        for node in range(length):
            incoming[node, head] = arcs[head, node]
    for node in range(length):
        incoming[node, node] = -np.inf
        incoming[node, length] = roots[node]
    return incoming


class Contracted(NamedTuple):
    """The best arc into each node and each contracted cycle. Cycles are nodes from n on. Empty if there is no tree."""

    source: NDArray[np.int64]
    """The head of the arc: a node below n, or n for the root."""
    target: NDArray[np.int64]
    """The dependent of the arc: a node below n."""
    gain: NDArray[np.float64]
    """The score of the arc after contractions."""
    parent: NDArray[np.int64]
    """The cycle that contains a node, -1 for none."""


@kernel
def contracted(incoming: NDArray[np.float64], single_root: bool) -> Contracted:
    """Find the best arc into each node, and contract the cycles of these arcs. Overwrites `incoming`.

    Walk from a node to its best head, to the best head of that, and so on. If the walk meets itself, contract the
    cycle into a new node, and continue from there. A walk ends at the root, or where an earlier walk has been.

    For a single root, a node takes the root as its head only if nothing else is allowed. A large penalty on root scores
    has the same effect (Stanojević and Cohen 2021), but loses precision. No arc from the root is ever in a cycle, so
    the penalty would never be subtracted from a score.
    """
    n = len(incoming)
    root = n
    source, target, gain = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n)
    parent = np.full(2 * n, -1)
    row_of = np.arange(2 * n)  # contracted cycles use the row of one of the nodes in them
    outermost = np.arange(n)  # the outermost cycle that contains each node, or the node itself
    # The dependent, a node below n, of the arc behind each score in `incoming`.
    targets = np.repeat(np.arange(n), n + 1).reshape(n, n + 1)
    path = np.empty(n, np.int64)
    on_path, done = np.zeros(2 * n, np.bool_), np.zeros(2 * n, np.bool_)
    count = n
    root_count = 0

    for start in range(n):
        node = outermost[start]
        steps = 0
        while not done[node]:
            if on_path[node]:  # a cycle: from here to the end of the path
                cycle_start = steps - 1
                while path[cycle_start] != node:
                    cycle_start -= 1
                node = count
                count += 1
                _contract(path[cycle_start:steps], node, incoming, targets, gain, row_of, parent, outermost)
                steps = cycle_start
            path[steps] = node
            on_path[node] = True
            steps += 1
            row = row_of[node]
            head = _best_head(incoming[row], single_root)
            source[node], target[node], gain[node] = head, targets[row, head], incoming[row, head]
            if gain[node] == -np.inf:
                return Contracted(source[:0], target[:0], gain[:0], parent[:0])  # nothing may enter this node
            if head == root:
                root_count += 1
                break
            node = outermost[head]
        for node in path[:steps]:
            done[node] = True
    if single_root and root_count > 1:
        count = 0
    return Contracted(source[:count], target[:count], gain[:count], parent[:count])


@kernel
def expand(best: Contracted, heads: NDArray[np.int64]) -> None:
    """Write the heads: from the outermost cycle in, the arc into a cycle replaces one of its arcs, the others stay."""
    root = len(heads)
    replaced = np.zeros(len(best.source), np.bool_)
    for node in range(len(best.source) - 1, -1, -1):
        if not replaced[node]:
            inner = best.target[node]
            heads[inner] = ROOT if best.source[node] == root else best.source[node]
            while inner != node:
                replaced[inner] = True
                inner = best.parent[inner]


@kernel
def _greedy_tree(incoming: NDArray[np.float64], single_root: bool, heads: NDArray[np.int64]) -> bool:
    """Write the best head of each node. Returns whether these make a tree; if so, it is the best one."""
    n = len(heads)
    root_count = 0
    for node in range(n):
        head = _best_head(incoming[node], False)
        if incoming[node, head] == -np.inf:
            return False
        root_count += head == n
        heads[node] = ROOT if head == n else head
    if root_count == 0 or (single_root and root_count > 1):
        return False
    # Follow the heads from each node. A walk that meets itself is in a cycle.
    seen_from = np.full(n, -1)
    for start in range(n):
        node = start
        while node != ROOT and seen_from[node] == -1:
            seen_from[node] = start
            node = heads[node]
        if node != ROOT and seen_from[node] == start:
            return False
    return True


@kernel
def _best_head(row: NDArray[np.float64], root_last: bool) -> int:
    """The first of the best heads. If `root_last`, the root counts only if nothing else is allowed."""
    root = len(row) - 1
    head = int(np.argmax(row[:root]))
    if row[head] == -np.inf or (not root_last and row[root] > row[head]):
        return root
    return head


@kernel
def _best_tree(incoming: NDArray[np.float64], single_root: bool, heads: NDArray[np.int64]) -> bool:
    """Write the heads of the best tree. Returns whether there is one."""
    best = contracted(incoming, single_root)
    if len(best.source) == 0:
        return False
    expand(best, heads)
    return True


@kernel
def _contract(
    cycle: NDArray[np.int64],
    new: int,
    incoming: NDArray[np.float64],
    targets: NDArray[np.int64],
    gain: NDArray[np.float64],
    row_of: NDArray[np.int64],
    parent: NDArray[np.int64],
    outermost: NDArray[np.int64],
) -> None:
    """Contract a cycle into a new node.

    An arc into a node of the cycle replaces the arc of the cycle into that node. So its score becomes
    score[head, node] - gain[node], and the best of these is the score of the arc from that head into the cycle.
    """
    row = row_of[cycle[0]]
    row_of[new] = row
    for node in cycle:  # the new node takes the row of the first node
        parent[node] = new
        other = row_of[node]
        for head in range(incoming.shape[1]):
            score = incoming[other, head] - gain[node]
            if node == cycle[0] or score > incoming[row, head]:
                incoming[row, head] = score
                targets[row, head] = targets[other, head]
    for head in range(len(outermost)):  # arcs within the cycle do not enter it
        if parent[outermost[head]] == new:
            outermost[head] = new
            incoming[row, head] = -np.inf
