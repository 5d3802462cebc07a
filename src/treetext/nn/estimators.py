"""From distributions over trees to the weights of attention: exact marginals, relaxed samples, or trees."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from treetext.trees import Marginals, TreeDistribution, infer_together

Schedule = float | Sequence[float]
"""A number, or numbers at evenly spaced points of training, with straight lines between."""
Estimator = Callable[[Sequence[TreeDistribution], float, float], list[Marginals]]
"""From distributions, a scale of noise and a temperature to the weights of each."""


def value_at(schedule: Schedule, progress: float) -> float:
    """The value of a schedule at a point of training, from 0 to 1.

    >>> [value_at([0.0, 1.0, 0.5], progress) for progress in (0.0, 0.25, 0.5, 0.75, 1.0)]
    [0.0, 0.5, 1.0, 0.75, 0.5]
    """
    values = [float(schedule)] if isinstance(schedule, int | float) else list(schedule)
    place = min(max(progress, 0.0), 1.0) * (len(values) - 1)
    i = min(int(place), max(0, len(values) - 2))
    return values[i] if len(values) == 1 else values[i] + (place - i) * (values[i + 1] - values[i])


def _marginals(trees: Sequence[TreeDistribution], _: float = 0.0, __: float = 1.0) -> list[Marginals]:
    infer_together(trees)
    return [each.marginals for each in trees]


def _perturbed(trees: Sequence[TreeDistribution], noise: float, temperature: float) -> list[Marginals]:
    return _marginals([each.perturbed(noise, temperature) for each in trees])


def _straight_through(trees: Sequence[TreeDistribution], noise: float, temperature: float) -> list[Marginals]:
    relaxed = [each.perturbed(noise, temperature) for each in trees]
    infer_together(relaxed)
    return [each.straight_through() for each in relaxed]


def _sampled(trees: Sequence[TreeDistribution], _: float, __: float) -> list[Marginals]:
    infer_together(trees)
    return [Marginals.of(each.sample(1)[0], each.arcs.dtype) for each in trees]


def _decoded(trees: Sequence[TreeDistribution], _: float, __: float) -> list[Marginals]:
    return [Marginals.of(each.mode(), each.arcs.dtype) for each in trees]


ESTIMATORS: dict[str, Estimator] = {
    "marginals": _marginals,
    "perturbed": _perturbed,
    "straight_through": _straight_through,
    "sampled": _sampled,
}
"""What training uses as weights."""
EVALUATIONS: dict[str, Estimator] = {"marginals": _marginals, "tree": _decoded}
"""What evaluation uses as weights."""


def height(heads: Tensor) -> int:
    """The largest height of the trees with these heads: the number of arcs from the root to the deepest word."""
    n = heads.shape[-1]
    up = torch.where(heads < 0, n, heads)
    up = torch.cat([up, torch.full_like(up[..., :1], n)], -1)  # the artificial root is its own head
    place, steps = up, 0
    while bool((place != n).any()):
        place, steps = up.gather(-1, place), steps + 1
    return steps
