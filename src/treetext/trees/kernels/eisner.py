"""The best projective tree (Eisner 1996), and samples of projective trees.

Both take the items of `items` apart from the top down, with the weights of `inside_outside.inside`. The best tree takes
the best term of each rule. A sample takes term m of an item with probability

    exp(x[m] + y[m] - whole),    where whole = log Σ_m exp(x[m] + y[m]) is the log weight of the item,

as Johnson, Griffiths and Goldwater (2007) do for context-free grammars. Samples are exact and independent.
"""

import numpy as np

from treetext.trees.kernels.compile import kernel
from treetext.trees.kernels.exponential import exp
from treetext.trees.kernels.inside_outside import inside
from treetext.trees.kernels.items import LEFT, RIGHT, SPLIT, Array, Integers, Items, places, roles


@kernel
def trees(
    first: int,
    step: int,
    scores: Array,
    lengths: Integers,
    single_root: bool,
    uniforms: Array,
    heads: Integers,
) -> None:
    """Write the heads [k, b, j] of k trees of each problem: samples or, if `uniforms` is empty, the best tree."""
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        weights = inside(scores[b, :nodes, :nodes], single_root, uniforms.size == 0)
        if weights.complete[0, nodes - 1] > -np.inf:
            for tree in range(len(heads)):
                _walk_down(weights, uniforms[tree, b], heads[tree, b])


@kernel
def _walk_down(weights: Items, uniforms: Array, heads: Integers) -> None:
    """Choose the parts of each item, from the whole sentence down to its words."""
    words = len(weights.complete) - 1
    # A stack of complete items, each as head and end. Each yields a different arc, so at most n are on it.
    waiting = np.empty((words, 2), np.int64)
    waiting[0] = 0, words
    count, used = 1, 0
    while count > 0:
        count -= 1
        h, e = waiting[count]
        m = _choose(RIGHT if h < e else LEFT, min(h, e), max(h, e), weights, uniforms, used)
        heads[m - 1] = h - 1  # in `heads`, words count from 0, and node 0 becomes ROOT = -1
        i, j = min(h, m), max(h, m)
        k = _choose(SPLIT, i, j, weights, uniforms, used + 1)
        used += 2
        for head, end in ((m, e), (i, k), (j, k + 1)):
            if head != end:
                waiting[count] = head, end
                count += 1


@kernel
def _choose(rule: int, i: int, j: int, weights: Items, uniforms: Array, used: int) -> int:
    """The m of one term of a rule: a sample or, without uniforms, the first of the best terms."""
    whole, x, y = roles(rule, weights)
    a, b, s, t = places(rule, i, j)
    chosen: int = s
    top, total = -np.inf, 0.0
    for m in range(j - i):
        term = x[a, s + m] + y[b, t + m]
        if len(uniforms) == 0:
            if term > top:
                chosen, top = s + m, term
        elif term > -np.inf:
            # If rounding leaves the total below the uniform at the end, the last possible term is chosen.
            chosen = s + m
            total += exp(term - whole[a, b])
            if total > uniforms[used]:
                break
    return chosen
