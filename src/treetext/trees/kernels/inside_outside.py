"""Marginals of projective trees and their derivatives: inside-outside (Baker 1979) on the items of Eisner (1996).

`items` defines the items and the rules, and draws the charts. Each chart is a separate array, not part of a workspace.
Four passes fill one set of charts each:

    inside              log w(item): the log weight of the item, from narrow items to wide ones
    _outside            P(item): its probability, from wide items to narrow ones
    _expected_inside    E[d inside the item | item], from narrow to wide
    _expected_outside   P(item) E[d outside the item | item], from wide to narrow

where d is the sum of a direction over the arcs of a tree.
"""

import numpy as np

from treetext.trees.kernels.compile import kernel
from treetext.trees.kernels.items import (
    LEFT,
    RIGHT,
    SPLIT,
    Array,
    Integers,
    Items,
    add_transpose,
    full_items,
    log_sums,
    means,
    spread,
    spread_expected,
    transpose,
)


@kernel
def marginals(
    first: int, step: int, scores: Array, lengths: Integers, single_root: bool, log_z: Array, marginals: Array
) -> None:
    """Log Z and marginals of the problems `first`, `first` + `step`, …

    Log Z is the log weight of complete(0, n). The marginal of an arc h → j is the probability of incomplete(h, j).
    """
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        weights = inside(scores[b, :nodes, :nodes], single_root, False)
        log_z[b] = weights.complete[0, nodes - 1]
        p = _outside(weights).incomplete
        for h in range(nodes):
            for j in range(nodes):
                marginals[b, h, j] = min(p[h, j], 1.0)  # rounding can exceed 1


@kernel
def derivatives(
    first: int, step: int, scores: Array, lengths: Integers, single_root: bool, direction: Array, out: Array
) -> None:
    """The derivatives of the marginals along a direction.

    The derivative of a marginal is a covariance, P(arc) (E[d | arc] - E[d]), where d is the sum of the direction over
    the arcs of a tree. The expectations are those of the expectation semiring (Li and Eisner 2009).
    """
    for b in range(first, len(scores), step):
        nodes = lengths[b] + 1
        weights = inside(scores[b, :nodes, :nodes], single_root, False)
        probabilities = _outside(weights)
        d = _relative_to_likeliest_head(direction[b], probabilities.incomplete)
        within = _expected_inside(weights, d)
        beyond = _expected_outside(weights, probabilities, within, d)
        _write_covariances(probabilities.incomplete, within.incomplete, beyond.incomplete, out[b])


@kernel
def inside(scores: Array, single_root: bool, best: bool) -> Items:
    """The log weight of each item: the rules of `items` with ⊕ = logaddexp or, if `best` is true, with ⊕ = max."""
    nodes = len(scores)
    weights: Items = full_items(nodes, -np.inf)
    for h in range(nodes):  # a node without dependents: the empty product
        weights.complete[h, h] = weights.complete_t[h, h] = 0.0
    for width in range(1, nodes):
        log_sums(SPLIT, width, weights, best)
        for i in range(nodes - width):
            j = i + width
            weights.incomplete[i, j] = scores[i, j] + weights.split[i, j]
            weights.incomplete[j, i] = scores[j, i] + weights.split[i, j]
        for rule in (RIGHT, LEFT):
            log_sums(rule, width, weights, best)
        if single_root and width < nodes - 1:
            weights.complete[0, width] = -np.inf  # the words after it would need a second root
        transpose(width, weights)
    return weights


@kernel
def _outside(weights: Items) -> Items:
    """The probability that each item is part of the tree.

    A part gets from each whole that it can be part of

        P(part) += P(whole) exp(x + y - whole).

    These are sums of products of numbers from 0 to 1. Nothing cancels, and only numbers below 1e-300 underflow. So they
    need no logarithms.
    """
    nodes = len(weights.complete)
    probabilities: Items = full_items(nodes, 0.0)
    probabilities.complete[0, nodes - 1] = 1.0 if weights.complete[0, nodes - 1] > -np.inf else 0.0
    for width in range(nodes - 1, 0, -1):
        add_transpose(width, probabilities)
        for rule in (RIGHT, LEFT):
            spread(rule, width, weights, probabilities)
        for i in range(nodes - width):  # either end is the head
            j = i + width
            probabilities.split[i, j] = probabilities.incomplete[i, j] + probabilities.incomplete[j, i]
        spread(SPLIT, width, weights, probabilities)
    return probabilities


@kernel
def _expected_inside(weights: Items, d: Array) -> Items:
    """The expected d of the arcs inside each item: Σ share (E[x] + E[y]), plus d of its own arc if it has one."""
    nodes = len(d)
    within: Items = full_items(nodes, 0.0)
    for width in range(1, nodes):
        means(SPLIT, width, weights, within)
        for i in range(nodes - width):
            j = i + width
            within.incomplete[i, j] = d[i, j] + within.split[i, j]
            within.incomplete[j, i] = d[j, i] + within.split[i, j]
        for rule in (RIGHT, LEFT):
            means(rule, width, weights, within)
        transpose(width, within)
    return within


@kernel
def _expected_outside(weights: Items, probabilities: Items, within: Items, d: Array) -> Items:
    """The expected d of the arcs outside each item, given the item, times its probability."""
    nodes = len(d)
    beyond: Items = full_items(nodes, 0.0)
    for width in range(nodes - 1, 0, -1):
        add_transpose(width, beyond)
        for rule in (RIGHT, LEFT):
            spread_expected(rule, width, weights, probabilities, within, beyond)
        for i in range(nodes - width):
            j = i + width
            for h, e in ((i, j), (j, i)):  # the arc itself is outside the split
                beyond.split[i, j] += beyond.incomplete[h, e] + probabilities.incomplete[h, e] * d[h, e]
        spread_expected(SPLIT, width, weights, probabilities, within, beyond)
    return beyond


@kernel
def _relative_to_likeliest_head(direction: Array, marginals: Array) -> Array:
    """The direction, minus its value at the likeliest head of each word.

    The shift changes no derivative. But a word whose head is nearly certain now adds nearly 0 to the expectations.
    Without the shift, it would add a large number, and small differences would be lost in it.
    """
    d = np.zeros_like(marginals)
    for j in range(1, len(d)):
        likeliest = np.argmax(marginals[:, j])
        for h in range(len(d)):
            if marginals[h, j] > 0.0:
                d[h, j] = direction[h, j] - direction[likeliest, j]
    return d


@kernel
def _write_covariances(p: Array, within: Array, beyond: Array, covariances: Array) -> None:
    """P(arc) (E[d | arc] - E[d]) for each arc, where E[d] = Σ P(arc) E[d | arc] over the heads of any word.

    Expectations are relative to that given the likeliest head. So the covariance of that head keeps all its digits,
    however small it is.
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
            for h in range(len(p)):  # from E[d | likeliest head] to E[d], which differs by the total
                covariances[h, j] -= p[h, j] * total
