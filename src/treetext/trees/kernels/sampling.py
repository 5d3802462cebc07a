"""Exact samples of non-projective trees.

Ancestral sampling (Colbourn, Myrvold and Neufeld 1996; Zmigrod, Vieira and Cotterell 2021) draws the head of each node
given all heads drawn before it. These heads join nodes into components, each with one node i that has no head yet.
The head of j is in the component of i, or in that of the root, with

    P(j → component of i | heads so far) ∝ W[i, j] U[i, j],

where W[i, j] sums the weights of the nodes of the component, and `leave_one_out` defines U and computes it without
subtraction. The head is then a node of the component, in proportion to its own weight. Row j is added to the row of the
component, and j is removed, so the matrix shrinks by a node in each step.

A tree takes O(n⁴) time. A random walk (Wilson 1996) has no such bound: it takes long if two nodes attract each other.
`workspaces` shows where each matrix stands.
"""

import math
from typing import Any

import numpy as np

from treetext.trees.kernels.compile import FUSED, kernel
from treetext.trees.kernels.leave_one_out import eliminate, substitute
from treetext.trees.kernels.weights import enter
from treetext.trees.kernels.workspaces import in_logs
from treetext.trees.tree import PAD, ROOT


@kernel(fastmath=FUSED)
def sample(
    work: Any,
    arcs: Any,
    roots: Any,
    sizes: Any,
    problems: Any,
    single_root: bool,
    priced: bool,
    uniforms: Any,
    heads: Any,
) -> Any:
    """Sample trees of some problems. Returns which of them this kind of workspace could not do; their heads are PAD."""
    again = np.zeros(len(problems), np.bool_)
    for place in range(len(problems)):
        b = problems[place]
        n = sizes[b]
        weights = work.value[3 * (n + 1) * n :]
        log_scale, floor = np.empty(1), np.empty(1)
        enter(
            work, n, problems[place : place + 1], sizes[b : b + 1], arcs, roots, single_root, priced, log_scale, floor
        )
        again[place] = math.isnan(log_scale[0])
        weights[: (n + 1) * n] = work.value[: (n + 1) * n]
        for s in range(len(uniforms)):
            if not again[place]:
                work.value[: (n + 1) * n] = weights[: (n + 1) * n]
                again[place] = not _sample_tree(work, weights, n, single_root, priced, uniforms[s, b], heads[s, b])
        if again[place]:
            heads[:, b] = PAD
    return again


@kernel(fastmath=FUSED)
def _sample_tree(work: Any, weights: Any, n: int, single_root: bool, priced: bool, uniforms: Any, heads: Any) -> bool:
    """Sample a tree from the matrix at the start of the workspace, of which `weights` is a copy. Returns success."""
    top = np.arange(n)  # for each node, the node without a head above it, or ROOT
    headless = np.arange(n)  # nodes without a head, in the order of the rows and columns of the matrix
    chances, sums, sizes = np.empty(n + 1), np.empty(n), np.full(1, n)
    nothing = -np.inf if in_logs(work) else 0.0
    rootless = single_root
    for m in range(n, 0, -1):
        node = headless[0]
        _chances(work, m, rootless and not priced, sizes, sums, chances)
        chosen = _choose(chances[:m], uniforms[2 * (n - m)], in_logs(work))
        if chosen < 0:  # no head is possible, or floats do not hold the range
            return False
        target = headless[chosen] if chosen else ROOT
        for i in range(n):  # the nodes of that component; the root itself comes last
            chances[i] = weights[(i + 1) * n + node] if top[i] == target and i != node else nothing
        chances[n] = weights[node] if chosen == 0 and (rootless or not single_root) else nothing
        head = _choose(chances, uniforms[2 * (n - m) + 1], in_logs(work))
        heads[node] = head if head < n else ROOT
        top[top == node] = target  # the descendants of the node join the component as well
        headless = headless[1:]
        _merge(work.value, m, chosen, chosen == 0 and rootless, in_logs(work))
        rootless &= chosen != 0
    return True


@kernel(fastmath=FUSED)
def _chances(work: Any, m: int, single_root: bool, sizes: Any, sums: Any, chances: Any) -> None:
    """W[i, j] U[i, j] for the first node j of the matrix: i is the root, then the component of each other node."""
    x, u, copy = work.value, (m + 1) * m, 2 * (m + 1) * m
    x[copy : copy + (m + 1) * m] = x[: (m + 1) * m]
    x[u + m] = -np.inf if in_logs(work) else 0.0
    eliminate(work, copy, m, 1, 1, sizes, single_root, sums)
    substitute(work, m, copy, m, 1, 0, 1)
    chances[0] = x[0]
    for i in range(1, m):
        at = (i + 1) * m
        chances[i] = x[at] + x[u + at] if in_logs(work) else x[at] * x[u + at]


@kernel(fastmath=FUSED)
def _merge(x: Any, m: int, chosen: int, instead: bool, logs: bool) -> None:
    """Add the row of the first node to the chosen row, or replace that row by it, and remove its row and column.

    `instead` is for the first child of a single root: no other node can have the root as its head after that.
    """
    first = x[m : 2 * m].copy()
    for row in range(m):
        for j in range(m - 1):
            value = x[(row + 1 if row else 0) * m + j + 1]
            if row == chosen:
                value = first[j + 1] if instead else np.logaddexp(value, first[j + 1]) if logs else value + first[j + 1]
            x[row * (m - 1) + j] = value


@kernel(fastmath=FUSED)
def _choose(chances: Any, uniform: float, logs: bool) -> int:
    """Sample an index in proportion to its chance; -1 if the sum of the chances is 0, infinite or NaN."""
    weights = np.exp(chances - chances.max()) if logs else chances
    total, last = weights.sum(), -1
    if not 0.0 < total < np.inf:
        return -1
    left = uniform * total
    for i in range(len(weights)):
        if weights[i] > 0.0:
            last = i
            left -= weights[i]
            if left < 0.0:
                break
    return last
