"""The items of Eisner (1996), of which projective trees consist, and the rules that combine them.

The root is a node of its own: node 0, left of the words, which are nodes 1 to n. An item is a part of a tree over the
nodes from a head h to an end e on either side of it:

- complete(h, e): h and descendants of h, with all the dependents that they have on that side;
- incomplete(h, e): an arc from h to e, where e still lacks its dependents on the far side;
- split(i, j): the same without the arc, so that either end may become the head of the other.

Three rules combine them, and derive every projective tree in exactly one way:

    split(i, j)    = ⊕ complete(i, m) ⊗ complete(j, m + 1)     over i ≤ m < j     (SPLIT)
    complete(i, j) = ⊕ incomplete(i, m) ⊗ complete(m, j)       over i < m ≤ j     (RIGHT)
    complete(j, i) = ⊕ incomplete(j, m) ⊗ complete(m, i)       over i ≤ m < j     (LEFT)

where incomplete(h, e) is split(h, e) or split(e, h) ⊗ the score of the arc. With logaddexp and + for ⊕ and ⊗,
complete(0, n) is the log partition function; with max and +, it is the score of the best tree.

Each kind of item is a matrix of one number for each pair of nodes. The parts of a whole are contiguous in memory:

    complete[i, i : j]            the parts x of split(i, j)
    complete[j, i + 1 : j + 1]    its parts y
    incomplete[i, i + 1 : j + 1]  the parts x of complete(i, j)
    complete_t[j, i + 1 : j + 1]  its parts y, which are a column of `complete`
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
    """A number for each item. As logarithms of weights, these are -inf for impossible items."""

    complete: Array  # [h, e]
    complete_t: Array  # [e, h]: the same, transposed, so that all inner loops run over contiguous memory
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
    """Run a kernel on a batch; each thread takes every so many-th problem, as neighbours are often alike."""
    arrays = [x.contiguous().numpy() if isinstance(x, Tensor) else x for x in (scores, lengths, *others)]
    threads = min(threads_worth(int((lengths**3).sum())), len(scores))
    for_each(lambda first: kernel(first, threads, *arrays), range(threads))


@kernel
def full_items(nodes: int, value: float) -> Items:
    """One value for all items."""
    shape = (nodes, nodes)
    return Items(np.full(shape, value), np.full(shape, value), np.full(shape, value), np.full(shape, value))


@kernel
def transpose(width: int, items: Items) -> None:
    """Copy complete items of one width into their transpose."""
    for i in range(len(items.complete) - width):
        j = i + width
        items.complete_t[j, i] = items.complete[i, j]
        items.complete_t[i, j] = items.complete[j, i]


@kernel
def add_transpose(width: int, items: Items) -> None:
    """Add what the transpose holds to complete items of one width."""
    for i in range(len(items.complete) - width):
        j = i + width
        items.complete[i, j] += items.complete_t[j, i]
        items.complete[j, i] += items.complete_t[i, j]


# The three rules. Each makes a whole of two parts, x and y, in as many ways as it is wide. What follows
# applies a rule to all wholes of one width: a call for each would take longer than its arithmetic.
SPLIT, RIGHT, LEFT = 0, 1, 2


@kernel
def roles(rule: int, items: Items) -> tuple[Array, Array, Array]:
    """The numbers of the wholes, of the parts x and of the parts y."""
    if rule == SPLIT:
        return items.split, items.complete, items.complete
    return items.complete, items.incomplete, items.complete_t


@kernel
def places(rule: int, i: int, j: int) -> tuple[int, int, int, int]:
    """Where the numbers for the nodes i to j are: a, b, s and t, for whole[a, b], x[a, s:] and y[b, t:]."""
    if rule == SPLIT:
        return i, j, i, i + 1
    if rule == RIGHT:
        return i, j, i + 1, i + 1
    return j, i, i, i


@kernel(fastmath=REORDERED)
def log_sums(rule: int, width: int, weights: Items, best: bool) -> None:
    """The log weight of each whole: ⊕ is logaddexp or, if `best` is true, max."""
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
    """The expectation of each whole: the mean of the sums of its parts, by their weights."""
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
    """Pass the probability of each whole on to its parts."""
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
    """Pass the expectation outside each whole on to its parts; outside one part is the other as well."""
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
