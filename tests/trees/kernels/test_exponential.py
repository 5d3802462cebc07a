"""The exponential function against that of the C library."""

import math

import numpy as np

from treetext.trees.kernels.exponential import exp


def test_exponential() -> None:
    assert exp(0.0) == 1.0
    assert exp(-math.inf) == exp(-1e300) == exp(-745.0) == 0.0
    for x in np.linspace(-708.0, 1e-9, 10_001):
        assert math.isclose(exp(x), math.exp(x), rel_tol=5e-16)
