"""The items of Eisner (1996), which make up projective trees, and the rules that combine them.

Node 0 is the root, left of the words, which are nodes 1 to n. An item is a part of a tree. It covers the nodes from a
head h to an end e on either side of h:

- complete(h, e): h with all its dependents on that side, and all their descendants, up to e;
- incomplete(h, e): an arc from h to e, where e still lacks its dependents beyond e;
- split(i, j): the same without the arc, so either end may become the head of the other.

Three rules combine them. They derive every projective tree in exactly one way:

    split(i, j)    = ⊕ complete(i, m) ⊗ complete(j, m + 1)     over i ≤ m < j     (SPLIT)
    complete(i, j) = ⊕ incomplete(i, m) ⊗ complete(m, j)       over i < m ≤ j     (RIGHT)
    complete(j, i) = ⊕ incomplete(j, m) ⊗ complete(m, i)       over i ≤ m < j     (LEFT)

where incomplete(h, e) is split(h, e) or split(e, h) ⊗ the score of the arc. With logaddexp and + for ⊕ and ⊗,
complete(0, n) is the log partition function; with max and +, it is the score of the best tree.

A chart is a matrix of one number for each pair of nodes, (n + 1) by (n + 1):

                   row < column                  row > column
    complete       [h, e], e right of h          [h, e], e left of h        0 words wide on the diagonal
    complete_t     [e, h], h right of e          [e, h], h left of e        the transpose of `complete`
    incomplete     [h, e], e right of h          [h, e], e left of h
    split          [i, j]                        not used

A rule combines parts x and y into a whole. Both parts of all terms of a whole are contiguous in memory:

             whole             parts x                         parts y
    SPLIT    split[i, j]       complete[i, i : j]              complete[j, i + 1 : j + 1]
    RIGHT    complete[i, j]    incomplete[i, i + 1 : j + 1]    complete_t[j, i + 1 : j + 1]
    LEFT     complete[j, i]    incomplete[j, i : j]            complete_t[i, i : j]

From narrow to wide, `transpose` copies each finished width of `complete` into `complete_t`. From wide to narrow,
`complete_t` collects what complete items get as parts y, and `add_transpose` adds it to `complete`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treetext.trees.kernels.compile import REORDERED, kernel
from treetext.trees.kernels.exponential import exp
from treetext.trees.kernels.threads import for_each, threads_worth

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class Items(NamedTuple):
    """A number for each item: its log weight (-inf for impossible items), probability or expectation."""

    complete: Array  # [h, e]
    complete_t: Array  # [e, h]: the transpose, so that all inner loops run over contiguous memory
    incomplete: Array  # [h, e]
    split: Array  # [i, j] with i < j


def with_root(arcs: Tensor, roots: Tensor) -> Tensor:
    """Arcs and roots as one matrix in float64, [b, head, dependent], where node 0 is the root."""
    batch, n = roots.shape
    joined = torch.full((batch, n + 1, n + 1), -torch.inf, dtype=torch.float64, device=arcs.device)
    joined[:, 0, 1:] = roots.detach()
    joined[:, 1:, 1:] = arcs.detach()
    return joined


def without_root(joined: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The inverse of `with_root`, in any dtype: arcs and roots."""
    return joined[:, 1:, 1:].to(dtype, copy=True), joined[:, 0, 1:].to(dtype, copy=True)


def in_threads(kernel: Callable[..., None], scores: Tensor, lengths: Tensor, *others: Tensor | bool) -> None:
    """Run a kernel on a batch. Thread t of T takes problems t, t + T, …, as neighbours often have similar lengths."""
    arrays = [x.contiguous().numpy() if isinstance(x, Tensor) else x for x in (scores, lengths, *others)]
    threads = min(threads_worth(int((lengths**3).sum())), len(scores))
    for_each(lambda first: kernel(first, threads, *arrays), range(threads))


@kernel
def full_items(nodes: int, value: float) -> Items:
    """Charts filled with one value."""
    shape = (nodes, nodes)
    return Items(np.full(shape, value), np.full(shape, value), np.full(shape, value), np.full(shape, value))


@kernel
def transpose(width: int, items: Items) -> None:
    """Copy complete items of one width into the transpose."""
    for i in range(len(items.complete) - width):
        j = i + width
        items.complete_t[j, i] = items.complete[i, j]
        items.complete_t[i, j] = items.complete[j, i]


@kernel
def add_transpose(width: int, items: Items) -> None:
    """Add the transpose to complete items of one width."""
    for i in range(len(items.complete) - width):
        j = i + width
        items.complete[i, j] += items.complete_t[j, i]
        items.complete[j, i] += items.complete_t[i, j]


# The three rules. A whole of width w has w terms. The functions below apply a rule to all wholes of one width: a call
# for each whole would take longer than its arithmetic.
SPLIT, RIGHT, LEFT = 0, 1, 2


@kernel
def roles(rule: int, items: Items) -> tuple[Array, Array, Array]:
    """The charts of the wholes, of the parts x and of the parts y."""
    if rule == SPLIT:
        return items.split, items.complete, items.complete
    return items.complete, items.incomplete, items.complete_t


@kernel
def places(rule: int, i: int, j: int) -> tuple[int, int, int, int]:
    """The indices a, b, s and t of the whole over nodes i to j: whole[a, b], parts x[a, s:] and y[b, t:]."""
    if rule == SPLIT:
        return i, j, i, i + 1
    if rule == RIGHT:
        return i, j, i + 1, i + 1
    return j, i, i, i


@kernel(fastmath=REORDERED)
def log_sums(rule: int, width: int, weights: Items, best: bool) -> None:
    """The log weight of each whole: log Σ_m exp(x[m] + y[m]) or, if `best` is true, max_m (x[m] + y[m])."""
    whole, x, y = roles(rule, weights)
    terms = np.empty(width)
    for i in range(len(x) - width):
        a, b, s, t = places(rule, i, i + width)
        top = -np.inf
        for m in range(width):
            top = max(top, x[a, s + m] + y[b, t + m])
        whole[a, b] = top
        if not best and top > -np.inf:
            for m in range(width):
                terms[m] = exp(x[a, s + m] + y[b, t + m] - top)
            total = 0.0
            for m in range(width):
                total += terms[m]
            whole[a, b] += np.log(total)


@kernel(fastmath=REORDERED)
def means(rule: int, width: int, weights: Items, within: Items) -> None:
    """The expectation of each whole: Σ_m share[m] (E[x[m]] + E[y[m]]), where share[m] = exp(x[m] + y[m] - whole)."""
    whole, x, y = roles(rule, weights)
    d_whole, d_x, d_y = roles(rule, within)
    shares = np.empty(width)
    for i in range(len(x) - width):
        a, b, s, t = places(rule, i, i + width)
        if whole[a, b] > -np.inf:
            for m in range(width):
                shares[m] = exp(x[a, s + m] + y[b, t + m] - whole[a, b])
            mean = 0.0
            for m in range(width):
                mean += shares[m] * (d_x[a, s + m] + d_y[b, t + m])
            d_whole[a, b] = mean


@kernel(fastmath=REORDERED)
def spread(rule: int, width: int, weights: Items, probabilities: Items) -> None:
    """Pass the probability of each whole on to its parts: P(x[m]) and P(y[m]) += P(whole) share[m]."""
    whole, x, y = roles(rule, weights)
    p_whole, p_x, p_y = roles(rule, probabilities)
    shares = np.empty(width)
    for i in range(len(x) - width):
        a, b, s, t = places(rule, i, i + width)
        p = p_whole[a, b]
        if p > 0.0:
            for m in range(width):
                shares[m] = p * exp(x[a, s + m] + y[b, t + m] - whole[a, b])
            for m in range(width):
                p_x[a, s + m] += shares[m]
            for m in range(width):
                p_y[b, t + m] += shares[m]


@kernel(fastmath=REORDERED)
def spread_expected(rule: int, width: int, weights: Items, probabilities: Items, within: Items, beyond: Items) -> None:
    """Pass the expectation outside each whole on to its parts.

    The other part is outside as well: O(x[m]) += share[m] (O(whole) + P(whole) E[y[m]]), and the same with x and y
    exchanged.
    """
    whole, x, y = roles(rule, weights)
    p_whole, _, _ = roles(rule, probabilities)
    _, d_x, d_y = roles(rule, within)
    o_whole, o_x, o_y = roles(rule, beyond)
    shares = np.empty(width)
    for i in range(len(x) - width):
        a, b, s, t = places(rule, i, i + width)
        p, o = p_whole[a, b], o_whole[a, b]
        if p > 0.0:
            for m in range(width):
                shares[m] = exp(x[a, s + m] + y[b, t + m] - whole[a, b])
            for m in range(width):
                o_x[a, s + m] += shares[m] * (o + p * d_y[b, t + m])
            for m in range(width):
                o_y[b, t + m] += shares[m] * (o + p * d_x[a, s + m])
