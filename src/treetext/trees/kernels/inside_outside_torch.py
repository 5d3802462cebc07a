"""Projective marginals in torch operations, for devices other than the CPU: one step for all items of the same width.

The rules are those of `items` (Eisner 1996). The marginals are the gradient of the log partition function, so autograd
computes the outside pass (Eisner 2016) and the derivatives. This takes O(n³) memory.
"""

from typing import NamedTuple

import torch
from torch import Tensor


def marginals(scores: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """The log partition function and the marginals, for scores[b, head, dependent] where node 0 is the root."""
    problems = _bounded(scores, lengths)
    with torch.enable_grad():
        log_z = _log_partition(problems, lengths, single_root)
        (probabilities,) = torch.autograd.grad(log_z.sum(), problems.scores)
    has_tree = _has_tree(log_z, problems)
    log_z = torch.where(has_tree, log_z.detach() + lengths * problems.highest, -torch.inf)
    return log_z, probabilities * has_tree[:, None, None]


def marginals_jvp(scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor) -> Tensor:
    """The derivatives of the marginals along a direction."""
    problems = _bounded(scores, lengths)
    with torch.enable_grad():
        log_z = _log_partition(problems, lengths, single_root)
        (probabilities,) = torch.autograd.grad(log_z.sum(), problems.scores, create_graph=True)
        along = (probabilities * torch.where(problems.possible, direction, 0.0)).sum()
        (derivatives,) = torch.autograd.grad(along, problems.scores)
    return derivatives * _has_tree(log_z, problems)[:, None, None]


class _Problems(NamedTuple):
    scores: Tensor  # minus the highest score; a finite floor for impossible arcs
    possible: Tensor
    highest: Tensor
    floor: Tensor


def _bounded(scores: Tensor, lengths: Tensor) -> _Problems:
    """Scores with a finite floor for impossible arcs: differences of infinities would be NaN.

    No tree of possible arcs scores below n times the lowest score. The floor is so far below that all trees with an
    impossible arc have no weight, even together.
    """
    node = torch.arange(scores.shape[1], device=scores.device)
    real = node <= lengths[:, None]
    possible = real[:, :, None] & real[:, None, :] & (node[:, None] != node) & (scores > -torch.inf)
    highest = torch.where(possible, scores, -torch.inf).amax((1, 2)).nan_to_num(neginf=0.0)
    lowest = torch.where(possible, scores, torch.inf).amin((1, 2)).nan_to_num(posinf=0.0)
    floor = 2 * lengths * (lowest - highest) - 1000 * (lengths + 1)
    bounded = torch.where(possible, scores - highest[:, None, None], floor[:, None, None])
    return _Problems(bounded.requires_grad_(), possible, highest, floor)


def _has_tree(log_z: Tensor, problems: _Problems) -> Tensor:
    return log_z.detach() > 0.75 * problems.floor


def _log_partition(problems: _Problems, lengths: Tensor, single_root: bool) -> Tensor:
    """The inside recursions, for all items of one width at a time.

    The charts of complete items are [b, place, width] and have widths from 0, those of incomplete items (`arcs_…`) from
    1. Items of `right…` have their head at the left end, items of `left…` at the right end. The place counts left
    ends in charts `…_from`, and right ends in charts `…_to`.
    """
    scores, _, _, floor = problems
    right_from = right_to = left_from = left_to = torch.zeros_like(scores[:, :, :1])
    arcs_right_from = arcs_left_to = scores[:, :, :0]
    trees = [torch.zeros_like(floor)]  # complete(0, n) for each n
    for width in range(1, scores.shape[1]):
        split = _log_sum(right_from[:, :-1], left_to[:, 1:])
        arcs_right_from = _append(arcs_right_from[:, :-1], split + scores.diagonal(width, 1, 2))
        arcs_left_to = _append(arcs_left_to[:, 1:], split + scores.diagonal(-width, 1, 2))
        right = _log_sum(arcs_right_from, right_to[:, 1:])
        left = _log_sum(arcs_left_to, left_from[:, :-1])
        trees.append(right[:, 0])
        if single_root:  # as a part, it would need a second root for the words after it
            right = torch.cat([floor[:, None], right[:, 1:]], 1)
        right_from, right_to = _append(right_from[:, :-1], right), _append(right_to[:, 1:], right)
        left_from, left_to = _append(left_from[:, :-1], left), _append(left_to[:, 1:], left)
    return torch.stack(trees, 1).gather(1, lengths[:, None])[:, 0]


def _log_sum(x: Tensor, y: Tensor) -> Tensor:
    """Log Σ exp(x + y) over all ways to divide a width between the two parts."""
    return torch.logsumexp(x + y.flip(-1), -1)


def _append(items: Tensor, wider: Tensor) -> Tensor:
    return torch.cat([items, wider[:, :, None]], 2)
