"""By how much the best tree is better than the second best."""

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
    found = np.full(len(roots), np.nan)
    for problem in range(len(found)):
        scores = entering(arcs[problem], roots[problem], lengths[problem])
        best = contracted(scores.copy(), single_root)
        if len(best.source):
            found[problem] = _margin(scores, single_root, best)
    return found


@kernel
def _margin(scores: NDArray[np.float64], single_root: bool, best: Contracted) -> float:
    """The least that is lost by giving up an arc of the best tree (Camerini, Fratta and Maffioli 1980).

    Each arc of the best tree enters some node, or some contracted cycle, last of all. In its place there, one can take
    any other arc that enters the same, unless it comes from below the arc that is given up.
    """
    n = len(scores)
    heads = np.empty(n, np.int64)
    expand(best, heads)
    first, last = _intervals(heads)
    least = np.inf
    for node in range(n):
        within, lost = node, 0.0  # the cycles around the node, from the inside, and what entering them here loses
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
    return max(least, 0.0)  # less than 0 is rounding


@kernel
def _intervals(heads: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each node the place of its own in an order from the roots down, and where its descendants end there."""
    n = len(heads)
    sizes, waiting = np.ones(n, np.int64), np.zeros(n, np.int64)
    for node in range(n):
        if heads[node] != ROOT:
            waiting[heads[node]] += 1
    order, filled = np.empty(n, np.int64), 0  # every node after all of its children
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
            if head >= start:  # its turn is still to come
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
def projective_margins(
    first: int, step: int, scores: Array, lengths: Integers, single_root: bool, found: Array
) -> None:
    """The margin of each problem `first`, `first` + `step`, …; NaN stays where there is no tree."""
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        best = inside(scores[b, :nodes, :nodes], single_root, True)
        if best.complete[0, nodes - 1] > -np.inf:
            found[b] = _least_gap(best)


@kernel
def _least_gap(best: Items) -> float:
    """The least that is lost by putting one item of the best tree together in the second best way.

    Every tree is put together in one way, so the second best differs from the best by one such choice, and is the best
    that there is below it.
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
    """The m of the best term of a rule, and what the second best term loses."""
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
