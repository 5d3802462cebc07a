"""Confidence intervals."""

import numpy as np
import pytest

from treetext.evaluation.bootstrap import Interval, intervals


def test_as_by_drawing_documents_one_by_one():
    random = np.random.default_rng(5)
    counts = random.integers(1, 9, (7, 2, 2)).astype(float)
    draws = np.random.default_rng(3)
    figures = []
    for _ in range(120):
        drawn = [draws.integers(7, size=7)][0]
        figures.append([sum(counts[d, f, 0] for d in drawn) / sum(counts[d, f, 1] for d in drawn) for f in range(2)])
    found = intervals(counts, resamples=120, seed=3)
    for f in range(2):
        low, high = np.quantile([each[f] for each in figures], [0.025, 0.975])
        assert found[f] == pytest.approx((counts[:, f, 0].sum() / counts[:, f, 1].sum(), low, high))


def test_as_theory_says():
    """The mean of 400 coins: its standard error is half of a twentieth."""
    heads = np.zeros((400, 1, 2))
    heads[:200, 0, 0] = heads[:, 0, 1] = 1
    [(value, low, high)] = intervals(heads, resamples=4000)
    assert (value, low, high) == (0.5, pytest.approx(0.5 - 1.96 * 0.025, abs=0.004), pytest.approx(0.549, abs=0.004))


def test_seed_decides():
    counts = np.random.default_rng(0).random((30, 1, 2))
    assert intervals(counts, seed=1) == intervals(counts, seed=1) != intervals(counts, seed=2)
    both = np.concatenate([counts, counts * 3], axis=1)
    assert intervals(both, seed=1)[0] == intervals(counts, seed=1)[0], "whatever else is counted"


def test_what_cannot_be_counted():
    counts = np.zeros((3, 2, 2))
    counts[1, 1] = 1, 2
    nothing, rare = intervals(counts, resamples=200)
    assert nothing == (None, None, None)
    assert rare == (0.5, 0.5, 0.5), "resamples without anything to count say nothing"
    assert intervals(counts[1:2]) == [Interval(None), Interval(0.5)], "one document has no variance"
    assert intervals(counts, resamples=0)[1] == Interval(0.5)
