"""By how much the best tree is better than the second best, for trees of any kind."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from treetext.trees._spanning import contracted, entering, expand, on_host
from treetext.trees._tree import ROOT


def spanning_margins(
    arcs: Float[Tensor, "batch n n"], roots: Float[Tensor, "batch n"], lengths: Int[Tensor, " batch"], single_root: bool
) -> Float[Tensor, " batch"]:
    """The score of the best tree minus that of the second best (float64): inf where it is the only one.

    NaN where there is no tree at all.
    """
    found = _margins(on_host(arcs), on_host(roots), lengths.cpu().numpy(), single_root)
    return torch.from_numpy(found).to(arcs.device)


@njit(cache=True, nogil=True)
def _margins(
    arcs: NDArray[np.float64], roots: NDArray[np.float64], lengths: NDArray[np.int64], single_root: bool
) -> NDArray[np.float64]:
    found = np.full(len(roots), np.nan)
    for problem in range(len(found)):
        n = lengths[problem]
        scores = entering(arcs[problem], roots[problem], n)
        source, target, gain = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n)
        parent = np.full(2 * n, -1)
        count = contracted(scores.copy(), single_root, source, target, gain, parent)
        if count:
            found[problem] = _margin(scores, single_root, source[:count], target, gain, parent)
    return found


@njit(cache=True, nogil=True)
def _margin(
    scores: NDArray[np.float64],
    single_root: bool,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    gain: NDArray[np.float64],
    parent: NDArray[np.int64],
) -> float:
    """The least that is lost by giving up an arc of the best tree (Camerini, Fratta and Maffioli 1980).

    Each arc of the best tree enters some node, or some contracted cycle, last of all. In its place there, one can take
    any other arc that enters the same, unless it comes from below the arc that is given up.
    """
    n = len(scores)
    heads = np.empty(n, np.int64)
    expand(source, target, parent, heads)
    first, last = _intervals(heads)
    least = np.inf
    for node in range(n):
        within, lost = node, 0.0  # the cycles around the node, from the inside, and what entering them here loses
        while within >= 0:
            old, entered = source[within], target[within]
            if heads[entered] == (ROOT if old == n else old):
                for new in range(n + 1):
                    if (new == old and node == entered) or (single_root and new == n and old != n):
                        continue
                    if new == n or not first[entered] <= first[new] < last[entered]:
                        least = min(least, gain[within] + lost - scores[node, new])
            lost += gain[within]
            within = parent[within]
    return max(least, 0.0)  # less than 0 is rounding


@njit(cache=True, nogil=True)
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
