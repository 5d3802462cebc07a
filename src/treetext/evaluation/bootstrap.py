"""Confidence intervals by drawing documents at random, again and again (Efron 1979)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEVEL = 0.95
AT_ONCE = 50  # resamples in memory


class Interval(NamedTuple):
    """A figure, and between which bounds it is; None where there is nothing to count."""

    value: float | None
    low: float | None = None
    high: float | None = None


def intervals(counts: Float[np.ndarray, "documents figures 2"], resamples: int = 1000, seed: int = 0) -> list[Interval]:
    """Each figure, one sum over another, with the bounds of 95 of 100 resamples of the documents.

    Documents, not trees, are drawn, because the trees of a document are alike. The same seed and number of documents
    give the same draws, so figures that are found one after the other can be compared.
    """
    documents, figures = counts.shape[:2]
    values = quotients(counts.sum(0))
    if documents < 2 or resamples < 1:
        return [Interval(_number(value)) for value in values]
    random = np.random.default_rng(seed)
    flat = np.ascontiguousarray(counts).reshape(documents, -1)
    found = np.empty((resamples, figures))
    for start in range(0, resamples, AT_ONCE):
        some = range(start, min(start + AT_ONCE, resamples))
        times = [np.bincount(random.integers(documents, size=documents), minlength=documents) for _ in some]
        found[some] = quotients((np.array(times, float) @ flat).reshape(len(some), figures, 2))
    found.sort(axis=0)  # NaN comes last
    bounds = [_bounds(column[: np.count_nonzero(~np.isnan(column))]) for column in found.T]
    return [Interval(_number(value), *bound) for value, bound in zip(values, bounds, strict=True)]


def quotients(sums: Float[np.ndarray, "*some 2"]) -> Float[np.ndarray, "*some"]:
    """The first over the second; NaN where that is 0."""
    above, below = sums[..., 0], sums[..., 1]
    found: np.ndarray = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return found


def _bounds(column: np.ndarray) -> tuple[float | None, float | None]:
    if not len(column):
        return None, None
    low, high = np.quantile(column, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
