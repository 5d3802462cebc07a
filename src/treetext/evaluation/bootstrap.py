"""Confidence intervals by the bootstrap over documents (Efron 1979)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEVEL = 0.95
AT_ONCE = 50  # resamples that are in memory at the same time


class Interval(NamedTuple):
    """A figure and the bounds of its confidence interval; None if there is nothing to count."""

    value: float | None
    low: float | None = None
    high: float | None = None


def intervals(counts: Float[np.ndarray, "documents figures 2"], resamples: int = 1000, seed: int = 0) -> list[Interval]:
    """The figures, each a quotient of two sums over documents, with 95% confidence intervals.

    Documents are resampled, not trees, because the trees of a document are not independent. The same seed and number
    of documents give the same resamples, so figures of separate calls can be compared.
    """
    documents, figures = counts.shape[:2]
    values = quotients(counts.sum(0))
    if documents < 2 or resamples < 1:
        return [Interval(_number(value)) for value in values]
    random = np.random.default_rng(seed)
    flat = np.ascontiguousarray(counts).reshape(documents, -1)
    resampled = np.empty((resamples, figures))
    for start in range(0, resamples, AT_ONCE):
        some = range(start, min(start + AT_ONCE, resamples))
        times = [np.bincount(random.integers(documents, size=documents), minlength=documents) for _ in some]
        resampled[some] = quotients((np.array(times, float) @ flat).reshape(len(some), figures, 2))
    resampled.sort(axis=0)  # NaN comes last
    bounds = [_bounds(column[: np.count_nonzero(~np.isnan(column))]) for column in resampled.T]
    return [Interval(_number(value), *bound) for value, bound in zip(values, bounds, strict=True)]


def quotients(sums: Float[np.ndarray, "*some 2"]) -> Float[np.ndarray, "*some"]:
    """The first sum divided by the second; NaN if the second is 0."""
    above, below = sums[..., 0], sums[..., 1]
    values: np.ndarray = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return values


def _bounds(column: np.ndarray) -> tuple[float | None, float | None]:
    if not len(column):
        return None, None
    low, high = np.quantile(column, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
