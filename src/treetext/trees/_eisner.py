"""The best projective tree (Eisner 1996), and samples, by walking down the items of `_inside_outside`."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from torch import Tensor

from treetext.trees._inside_outside import (
    KERNEL,
    LEFT,
    RIGHT,
    SPLIT,
    Array,
    Integers,
    Items,
    exp,
    in_threads,
    inside,
    places,
    roles,
    with_root,
)
from treetext.trees._tree import PAD


def eisner(
    arcs: Float[Tensor, "B n n"], roots: Float[Tensor, "B n"], lengths: Int[Tensor, " B"], single_root: bool
) -> Int[Tensor, "B n"]:
    """The heads of the best projective tree of each problem; a row of PAD where there is no tree.

    Of equally good trees, it is always the same one that is found. The work is done in float64 on the CPU:
    tensors on another device are copied there, and the heads are copied back.
    """
    scores = with_root(arcs, roots).cpu()
    heads = torch.full(roots.shape, PAD)
    in_threads(_trees, scores, lengths.cpu(), single_root, scores.new_empty(1, len(scores), 0), heads[None])
    return heads.to(arcs.device)


def sample_projective(
    arcs: Float[Tensor, "B n n"],
    roots: Float[Tensor, "B n"],
    lengths: Int[Tensor, " B"],
    single_root: bool,
    uniforms: Float[Tensor, "k B m"],
) -> Int[Tensor, "k B n"]:
    """The heads of k independent samples for each problem; rows of PAD where there is no tree.

    ``uniforms`` are random numbers in [0, 1). A tree of n words takes the first 2n of its m, at most: two for
    each word, one to choose its head and one to divide what lies between them. The work is done in float64 on
    the CPU: tensors on another device are copied there, and the heads are copied back.
    """
    needed = uniforms_needed(roots.shape[1])
    if uniforms.shape[2] < needed:
        raise ValueError(f"uniforms: expected at least {needed} for each tree, got {uniforms.shape[2]}")
    scores = with_root(arcs, roots).cpu()
    heads = torch.full((len(uniforms), *roots.shape), PAD)
    in_threads(_trees, scores, lengths.cpu(), single_root, uniforms.to("cpu", torch.float64), heads)
    return heads.to(arcs.device)


def uniforms_needed(n: int) -> int:
    """How many random numbers a sample of a tree of n words takes."""
    return 2 * n


@njit(**KERNEL)
def _trees(
    first: int,
    step: int,
    scores: Array,
    lengths: Integers,
    single_root: bool,
    uniforms: Array,
    heads: Integers,
) -> None:
    """The heads [k, b, j] of k trees of each problem: samples or, where there are no uniforms, the best."""
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        weights = inside(scores[b, :nodes, :nodes], single_root, uniforms.size == 0)
        if weights.complete[0, nodes - 1] > -np.inf:
            for tree in range(len(heads)):
                _walk_down(weights, uniforms[tree, b], heads[tree, b])


@njit(**KERNEL)
def _walk_down(weights: Items, uniforms: Array, heads: Integers) -> None:
    """Choose what each item is made of, from the whole sentence down to its words."""
    words = len(weights.complete) - 1
    # Complete items to be taken apart. Each yields an arc of its own, so that never more than n are waiting.
    waiting = np.empty((words, 2), np.int64)
    waiting[0] = 0, words
    count, used = 1, 0
    while count > 0:
        count -= 1
        h, e = waiting[count]
        m = _choose(RIGHT if h < e else LEFT, min(h, e), max(h, e), weights, uniforms, used)
        heads[m - 1] = h - 1  # words count from 0 here, and the root becomes ROOT
        i, j = min(h, m), max(h, m)
        k = _choose(SPLIT, i, j, weights, uniforms, used + 1)
        used += 2
        for head, end in ((m, e), (i, k), (j, k + 1)):
            if head != end:
                waiting[count] = head, end
                count += 1


@njit(**KERNEL)
def _choose(rule: int, i: int, j: int, weights: Items, uniforms: Array, used: int) -> int:
    """The m of one term of a rule: by its probability or, without uniforms, the first of the best."""
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
            # If rounding leaves the total below the uniform at the end, it is the last possible term.
            chosen = s + m
            total += exp(term - whole[a, b])
            if total > uniforms[used]:
                break
    return chosen
