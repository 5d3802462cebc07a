"""Exact inference over projective trees: inside-outside (Baker 1979) on the items of Eisner (1996).

The root is a node of its own: node 0, left of the words, which are nodes 1 to n. An item is a part of a tree,
over the nodes from a head h to an end e on either side of it:

- complete(h, e): h and descendants of h, with all the dependents that they have on that side;
- incomplete(h, e): an arc from h to e, where e still lacks its dependents on the far side;
- split(i, j): the same without the arc, so that either end may become the head of the other.

They are put together by three rules, and every projective tree in exactly one way:

    split(i, j)    = ⊕ complete(i, m) ⊗ complete(j, m + 1)     over i ≤ m < j     (SPLIT)
    complete(i, j) = ⊕ incomplete(i, m) ⊗ complete(m, j)       over i < m ≤ j     (RIGHT)
    complete(j, i) = ⊕ incomplete(j, m) ⊗ complete(m, i)       over i ≤ m < j     (LEFT)

where incomplete(h, e) is split(h, e) or split(e, h) ⊗ the score of the arc. With logaddexp and + for ⊕ and ⊗,
complete(0, n) is the log partition function; with max and +, it is the score of the best tree.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from treetext.trees import _inside_outside_torch as on_device
from treetext.trees._threads import for_each, threads_worth

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

KERNEL = {"cache": True, "nogil": True, "error_model": "numpy"}
# Sums may be reordered, so that they run in SIMD lanes. There are infinities here, but never NaN.
REORDERED = KERNEL | {"fastmath": {"reassoc", "contract", "nnan", "nsz"}}


def inside_outside(
    arcs: Float[Tensor, "B n n"], roots: Float[Tensor, "B n"], lengths: Int[Tensor, " B"], single_root: bool
) -> tuple[Float[Tensor, " B"], Float[Tensor, "B n n"], Float[Tensor, "B n"]]:
    """The log partition function, in float64, and the marginals of arcs and roots.

    Where there is no tree, the log partition function is -inf and all marginals are 0.
    """
    scores = with_root(arcs, roots)
    if scores.device.type != "cpu":
        log_z, marginals = on_device.marginals(scores, lengths, single_root)
    else:
        log_z, marginals = scores.new_empty(len(scores)), torch.zeros_like(scores)
        in_threads(_marginals, scores, lengths, single_root, log_z, marginals)
    return log_z, *_without_root(marginals, arcs.dtype)


def inside_outside_jvp(
    arcs: Float[Tensor, "B n n"],
    roots: Float[Tensor, "B n"],
    lengths: Int[Tensor, " B"],
    single_root: bool,
    d_arcs: Float[Tensor, "B n n"],
    d_roots: Float[Tensor, "B n"],
) -> tuple[Float[Tensor, "B n n"], Float[Tensor, "B n"]]:
    """The derivatives of the marginals of arcs and roots along a direction.

    The Hessian of the log partition function is symmetric, so this is the vector-Jacobian product as well.
    """
    scores, direction = with_root(arcs, roots), with_root(d_arcs, d_roots)
    if scores.device.type != "cpu":
        derivatives = on_device.marginals_jvp(scores, lengths, single_root, direction)
    else:
        derivatives = torch.zeros_like(scores)
        in_threads(_derivatives, scores, lengths, single_root, direction, derivatives)
    return _without_root(derivatives, arcs.dtype)


def with_root(arcs: Tensor, roots: Tensor) -> Tensor:
    """Arcs and roots as one matrix in float64, [b, head, dependent], where node 0 is the root."""
    batch, n = roots.shape
    joined = torch.full((batch, n + 1, n + 1), -torch.inf, dtype=torch.float64, device=arcs.device)
    joined[:, 0, 1:] = roots.detach()
    joined[:, 1:, 1:] = arcs.detach()
    return joined


def _without_root(joined: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    return joined[:, 1:, 1:].to(dtype, copy=True), joined[:, 0, 1:].to(dtype, copy=True)


def in_threads(kernel: Callable[..., None], scores: Tensor, lengths: Tensor, *others: Tensor | bool) -> None:
    """Run a kernel on a batch; each thread takes every so many-th problem, as neighbours are often alike."""
    arrays = [x.contiguous().numpy() if isinstance(x, Tensor) else x for x in (scores, lengths, *others)]
    threads = min(threads_worth(int((lengths**3).sum())), len(scores))
    for_each(lambda first: kernel(first, threads, *arrays), range(threads))


class Items(NamedTuple):
    """A number for each item. As logarithms of weights, these are -inf for impossible items."""

    complete: Array  # [h, e]
    complete_t: Array  # [e, h]: the same, transposed, so that all inner loops run over contiguous memory
    incomplete: Array  # [h, e]
    split: Array  # [i, j] with i < j


@njit(**KERNEL)
def _marginals(
    first: int, step: int, scores: Array, lengths: Integers, single_root: bool, log_z: Array, marginals: Array
) -> None:
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        weights = inside(scores[b, :nodes, :nodes], single_root, False)
        log_z[b] = weights.complete[0, nodes - 1]
        p = _outside(weights).incomplete
        for h in range(nodes):
            for j in range(nodes):
                marginals[b, h, j] = min(p[h, j], 1.0)


@njit(**KERNEL)
def _derivatives(
    first: int, step: int, scores: Array, lengths: Integers, single_root: bool, direction: Array, out: Array
) -> None:
    """The derivative of a marginal is a covariance: P(arc) (E[d | arc] - E[d]).

    Here d is the sum of the direction over the arcs of a tree. Its expectations are those of the expectation
    semiring (Li and Eisner 2009).
    """
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        weights = inside(scores[b, :nodes, :nodes], single_root, False)
        probabilities = _outside(weights)
        d = _relative_to_likeliest_head(direction[b], probabilities.incomplete)
        within = _expected_inside(weights, d)
        beyond = _expected_outside(weights, probabilities, within, d)
        _write_covariances(probabilities.incomplete, within.incomplete, beyond.incomplete, out[b])


@njit(**KERNEL)
def inside(scores: Array, single_root: bool, best: bool) -> Items:
    """The log weight of each item: of all its trees together or, if `best` is true, of the best of them."""
    nodes = len(scores)
    weights: Items = _items(nodes, -np.inf)
    for h in range(nodes):
        weights.complete[h, h] = weights.complete_t[h, h] = 0.0
    for width in range(1, nodes):
        _log_sums(SPLIT, width, weights, best)
        for i in range(nodes - width):
            j = i + width
            weights.incomplete[i, j] = scores[i, j] + weights.split[i, j]
            weights.incomplete[j, i] = scores[j, i] + weights.split[i, j]
        for rule in (RIGHT, LEFT):
            _log_sums(rule, width, weights, best)
        if single_root and width < nodes - 1:
            weights.complete[0, width] = -np.inf  # it would leave the words after it to another root
        _transpose(width, weights)
    return weights


@njit(**KERNEL)
def _outside(weights: Items) -> Items:
    """The probability of each item to be part of the tree.

    These are sums of products of numbers from 0 to 1. Nothing cancels, and all that can underflow is what is
    smaller than 1e-300, so they need no logarithms.
    """
    nodes = len(weights.complete)
    probabilities: Items = _items(nodes, 0.0)
    probabilities.complete[0, nodes - 1] = 1.0 if weights.complete[0, nodes - 1] > -np.inf else 0.0
    for width in range(nodes - 1, 0, -1):
        _add_transpose(width, probabilities)
        for rule in (RIGHT, LEFT):
            _spread(rule, width, weights, probabilities)
        for i in range(nodes - width):
            j = i + width
            probabilities.split[i, j] = probabilities.incomplete[i, j] + probabilities.incomplete[j, i]
        _spread(SPLIT, width, weights, probabilities)
    return probabilities


@njit(**KERNEL)
def _expected_inside(weights: Items, d: Array) -> Items:
    """The expected d of the arcs inside each item."""
    nodes = len(d)
    within: Items = _items(nodes, 0.0)
    for width in range(1, nodes):
        _means(SPLIT, width, weights, within)
        for i in range(nodes - width):
            j = i + width
            within.incomplete[i, j] = d[i, j] + within.split[i, j]
            within.incomplete[j, i] = d[j, i] + within.split[i, j]
        for rule in (RIGHT, LEFT):
            _means(rule, width, weights, within)
        _transpose(width, within)
    return within


@njit(**KERNEL)
def _expected_outside(weights: Items, probabilities: Items, within: Items, d: Array) -> Items:
    """The expected d of the arcs outside each item, in the trees it is part of, times its probability."""
    nodes = len(d)
    beyond: Items = _items(nodes, 0.0)
    for width in range(nodes - 1, 0, -1):
        _add_transpose(width, beyond)
        for rule in (RIGHT, LEFT):
            _spread_expected(rule, width, weights, probabilities, within, beyond)
        for i in range(nodes - width):
            j = i + width
            for h, e in ((i, j), (j, i)):
                beyond.split[i, j] += beyond.incomplete[h, e] + probabilities.incomplete[h, e] * d[h, e]
        _spread_expected(SPLIT, width, weights, probabilities, within, beyond)
    return beyond


@njit(**KERNEL)
def _relative_to_likeliest_head(direction: Array, marginals: Array) -> Array:
    """The direction, less its value at the likeliest head of each word.

    That changes no derivative, but a word whose head is all but certain now adds next to nothing to the
    expectations, instead of a large number in which small differences would be lost.
    """
    d = np.zeros_like(marginals)
    for j in range(1, len(d)):
        likeliest = np.argmax(marginals[:, j])
        for h in range(len(d)):
            if marginals[h, j] > 0.0:
                d[h, j] = direction[h, j] - direction[likeliest, j]
    return d


@njit(**KERNEL)
def _write_covariances(p: Array, within: Array, beyond: Array, covariances: Array) -> None:
    """P(arc) (E[d | arc] - E[d]) for each arc; for each word, E[d] is the mean of E[d | arc] over its heads.

    All is relative to the likeliest head, so that its own covariance, however small, has all its digits.
    """
    for j in range(1, len(p)):
        likeliest = np.argmax(p[:, j])
        if p[likeliest, j] > 0.0:
            expected = within[likeliest, j] + beyond[likeliest, j] / p[likeliest, j]
            total = 0.0
            for h in range(len(p)):
                if h != likeliest:
                    covariances[h, j] = beyond[h, j] + p[h, j] * (within[h, j] - expected)
                    total += covariances[h, j]
            for h in range(len(p)):
                covariances[h, j] -= p[h, j] * total


@njit(**KERNEL)
def _items(nodes: int, value: float) -> Items:
    shape = (nodes, nodes)
    return Items(np.full(shape, value), np.full(shape, value), np.full(shape, value), np.full(shape, value))


@njit(**KERNEL)
def _transpose(width: int, items: Items) -> None:
    for i in range(len(items.complete) - width):
        j = i + width
        items.complete_t[j, i] = items.complete[i, j]
        items.complete_t[i, j] = items.complete[j, i]


@njit(**KERNEL)
def _add_transpose(width: int, items: Items) -> None:
    for i in range(len(items.complete) - width):
        j = i + width
        items.complete[i, j] += items.complete_t[j, i]
        items.complete[j, i] += items.complete_t[i, j]


# The three rules. Each makes a whole of two parts, x and y, in as many ways as it is wide. What follows
# applies a rule to all wholes of one width: a call for each would take longer than its arithmetic.
SPLIT, RIGHT, LEFT = 0, 1, 2


@njit(**KERNEL)
def roles(rule: int, items: Items) -> tuple[Array, Array, Array]:
    """The numbers of the wholes, of the parts x and of the parts y."""
    if rule == SPLIT:
        return items.split, items.complete, items.complete
    return items.complete, items.incomplete, items.complete_t


@njit(**KERNEL)
def places(rule: int, i: int, j: int) -> tuple[int, int, int, int]:
    """Where the numbers for the nodes i to j are: a, b, s and t, for whole[a, b], x[a, s:] and y[b, t:]."""
    if rule == SPLIT:
        return i, j, i, i + 1
    if rule == RIGHT:
        return i, j, i + 1, i + 1
    return j, i, i, i


@njit(**REORDERED)
def _log_sums(rule: int, width: int, weights: Items, best: bool) -> None:
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


@njit(**REORDERED)
def _means(rule: int, width: int, weights: Items, within: Items) -> None:
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


@njit(**REORDERED)
def _spread(rule: int, width: int, weights: Items, probabilities: Items) -> None:
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


@njit(**REORDERED)
def _spread_expected(rule: int, width: int, weights: Items, probabilities: Items, within: Items, beyond: Items) -> None:
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


LOG_2 = math.log(2)
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # k times the first is exact


# Without fastmath of its own, it would inherit that of its callers, and r would lose its last digits.
@njit(**KERNEL, fastmath={"contract"})
def exp(x: float) -> float:
    """e to the power x, for x up to about 0: unlike the C library's, this runs in SIMD lanes."""
    x = max(x, -1023 * LOG_2)  # where the power of two becomes 0, exactly
    # x = k log 2 + r with an integer k, which stands in the last bits of a float as large as `shifted`.
    shifted = x * (1 / LOG_2) + 1.5 * 2.0**52
    k = shifted - 1.5 * 2.0**52
    r = x - k * LOG_2_HIGH - k * LOG_2_LOW
    power_of_two = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    # cosh r + sinh r: two series of half as many terms, side by side.
    s = r * r
    even = 1 / 479001600
    odd = 1 / 6227020800
    even, odd = even * s + 1 / 3628800, odd * s + 1 / 39916800
    even, odd = even * s + 1 / 40320, odd * s + 1 / 362880
    even, odd = even * s + 1 / 720, odd * s + 1 / 5040
    even, odd = even * s + 1 / 24, odd * s + 1 / 120
    even, odd = even * s + 1 / 2, odd * s + 1 / 6
    even, odd = even * s + 1, odd * s + 1
    return (even + r * odd) * power_of_two
