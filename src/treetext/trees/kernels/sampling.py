"""Exact samples of non-projective trees.

Node by node, each with all heads chosen before it given. The head of node j is i with a probability in proportion to
W[i, j] U[i, j] (see `leave_one_out`). Given that head, j and all that hangs on it belong to the component of i: its
weights as a head are added to those of that component, and j is done with. So each step has a node less to eliminate.
This takes O(n⁴) time for a tree but, unlike a random walk (Wilson 1996), never longer, however much two nodes attract
each other.
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
    """Sample trees of some problems, and tell which of them could not be done in this kind of workspace."""
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
    """Sample a tree from the matrix at the start of the workspace (`weights` is a copy); tell whether all went well."""
    top = np.arange(n)  # of each node, the headless one that it hangs on, or ROOT
    headless = np.arange(n)  # in the order of the rows and columns of the matrix
    chances, sums, sizes = np.empty(n + 1), np.empty(n), np.full(1, n)
    nothing = -np.inf if in_logs(work) else 0.0
    rootless = single_root
    for m in range(n, 0, -1):
        node = headless[0]
        _chances(work, m, rootless and not priced, sizes, sums, chances)
        chosen = _choose(chances[:m], uniforms[2 * (n - m)], in_logs(work))
        if chosen < 0:
            return False
        target = headless[chosen] if chosen else ROOT
        for i in range(n):  # whichever node of that component it is: the root itself comes last
            chances[i] = weights[(i + 1) * n + node] if top[i] == target and i != node else nothing
        chances[n] = weights[node] if chosen == 0 and (rootless or not single_root) else nothing
        head = _choose(chances, uniforms[2 * (n - m) + 1], in_logs(work))
        heads[node] = head if head < n else ROOT
        top[top == node] = target
        headless = headless[1:]
        _merge(work.value, m, chosen, chosen == 0 and rootless, in_logs(work))
        rootless &= chosen != 0
    return True


@kernel(fastmath=FUSED)
def _chances(work: Any, m: int, single_root: bool, sizes: Any, sums: Any, chances: Any) -> None:
    """How likely the first node of the matrix is to hang on the root and on the components of the other nodes."""
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
    """Add the row of the first node to the chosen one, or put it there instead, and drop its row and column."""
    first = x[m : 2 * m].copy()
    for row in range(m):
        for j in range(m - 1):
            value = x[(row + 1 if row else 0) * m + j + 1]
            if row == chosen:
                value = first[j + 1] if instead else np.logaddexp(value, first[j + 1]) if logs else value + first[j + 1]
            x[row * (m - 1) + j] = value


@kernel(fastmath=FUSED)
def _choose(chances: Any, uniform: float, logs: bool) -> int:
    """An index, with a probability in proportion to its chance; -1 where the chances do not add up."""
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
