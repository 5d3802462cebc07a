"""Margins: the score of the best tree minus the score of the second best tree.

Non-projective trees: Camerini, Fratta and Maffioli (1980). Projective trees: the second best derivation differs from
the best in one choice (Huang and Chiang 2005).
"""

import numpy as np
from numpy.typing import NDArray

from treetext.trees.kernels.compile import kernel
from treetext.trees.kernels.inside_outside import inside
from treetext.trees.kernels.items import LEFT, RIGHT, SPLIT, Array, Integers, Items, places, roles
from treetext.trees.kernels.spanning import Contracted, contracted, entering, expand
from treetext.trees.tree import ROOT


@kernel
def spanning_margins(
    arcs: NDArray[np.float64], roots: NDArray[np.float64], lengths: NDArray[np.int64], single_root: bool
) -> NDArray[np.float64]:
    """The margin of each problem; NaN where there is no tree."""
    margins = np.full(len(roots), np.nan)
    for problem in range(len(margins)):
        scores = entering(arcs[problem], roots[problem], lengths[problem])
        best = contracted(scores.copy(), single_root)
        if len(best.source):
            margins[problem] = _margin(scores, single_root, best)
    return margins


@kernel
def projective_margins(
    first: int, step: int, scores: Array, lengths: Integers, single_root: bool, margins: Array
) -> None:
    """Write the margin of the problems `first`, `first` + `step`, …; problems without a tree keep their NaN."""
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        best = inside(scores[b, :nodes, :nodes], single_root, True)
        if best.complete[0, nodes - 1] > -np.inf:
            margins[b] = _least_gap(best)


@kernel
def _margin(scores: NDArray[np.float64], single_root: bool, best: Contracted) -> float:
    """The smallest loss from replacing one arc of the best tree (Camerini, Fratta and Maffioli 1980).

    An arc of the best tree is the best arc into some node or contracted cycle. Any other arc into the same can replace
    it, unless its head descends from the dependent of the replaced arc. The loss of the new arc into `node` is

        gain(cycle) + Σ gain(inner) - score(new → node)

    where the sum is over the node and the cycles between it and `cycle`, whose best arcs the new arc also replaces.
    """
    n = len(scores)
    heads = np.empty(n, np.int64)
    expand(best, heads)
    first, last = _intervals(heads)
    least = np.inf
    for node in range(n):
        within, lost = node, 0.0  # the node, then the cycles around it from the inside, and the gains inside
        while within >= 0:
            old, entered = best.source[within], best.target[within]
            if heads[entered] == (ROOT if old == n else old):
                for new in range(n + 1):
                    if (new == old and node == entered) or (single_root and new == n and old != n):
                        continue
                    if new == n or not first[entered] <= first[new] < last[entered]:
                        least = min(least, best.gain[within] + lost - scores[node, new])
            lost += best.gain[within]
            within = best.parent[within]
    return max(least, 0.0)  # rounding can make it negative


@kernel
def _intervals(heads: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each node its place in a depth-first order from the roots, and the place after its last descendant."""
    n = len(heads)
    sizes, waiting = np.ones(n, np.int64), np.zeros(n, np.int64)
    for node in range(n):
        if heads[node] != ROOT:
            waiting[heads[node]] += 1
    order, filled = np.empty(n, np.int64), 0  # every node comes after its children
    for start in range(n):
        node = start
        while waiting[node] == 0:
            waiting[node] = -1
            order[filled] = node
            filled += 1
            head = heads[node]
            if head == ROOT:
                break
            sizes[head] += sizes[node]
            waiting[head] -= 1
            if head >= start:  # the outer loop still comes to it
                break
            node = head
    first, free = np.zeros(n, np.int64), np.zeros(n, np.int64)
    top = 0
    for node in order[::-1]:
        head = heads[node]
        if head == ROOT:
            first[node] = top
            top += sizes[node]
        else:
            first[node] = free[head]
            free[head] += sizes[node]
        free[node] = first[node] + 1
    return first, first + sizes


@kernel
def _least_gap(best: Items) -> float:
    """The smallest loss from building one item of the best tree by its second best term.

    Every tree has exactly one derivation. So the second best tree takes another term of a rule somewhere, and the best
    parts below it. The loss is the difference of the two terms.
    """
    words = len(best.complete) - 1
    waiting = np.empty((words, 2), np.int64)  # complete items of the best tree; see `_walk_down` of `eisner`
    waiting[0] = 0, words
    count, least = 1, np.inf
    while count > 0:
        count -= 1
        h, e = waiting[count]
        m, lost = _two_best(RIGHT if h < e else LEFT, min(h, e), max(h, e), best)
        least = min(least, lost)
        i, j = min(h, m), max(h, m)
        k, lost = _two_best(SPLIT, i, j, best)
        least = min(least, lost)
        for head, end in ((m, e), (i, k), (j, k + 1)):
            if head != end:
                waiting[count] = head, end
                count += 1
    return least


@kernel
def _two_best(rule: int, i: int, j: int, best: Items) -> tuple[int, float]:
    """The m of the best term of a rule, and the best term minus the second best."""
    _, x, y = roles(rule, best)
    a, b, s, t = places(rule, i, j)
    chosen: int = s
    top, second = -np.inf, -np.inf
    for m in range(j - i):
        term = x[a, s + m] + y[b, t + m]
        if term > top:
            chosen, top, second = s + m, term, top
        elif term > second:
            second = term
    return chosen, top - second
