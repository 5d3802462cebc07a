"""Tensor operations against kernels."""

import functools
import math

import pytest
import torch
from torch.testing import assert_close

from tests.trees.projective import direction, joined, problems
from treetext.trees.inference import projective_derivatives, projective_marginals
from treetext.trees.kernels import inside_outside_torch as on_device
from treetext.trees.kernels.items import with_root

single_or_many_roots = pytest.mark.parametrize("single_root", [True, False], ids=["single", "many"])


@single_or_many_roots
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (1.0, 0.5), (1000.0, 0.2)])
def test_tensor_operations_agree_with_kernels(scale: float, forbid: float, single_root: bool) -> None:
    arcs, roots, _ = problems(5, 13, scale, forbid)
    lengths = torch.tensor([13, 1, 7, 12, 13])
    roots[4] = -math.inf  # no tree
    arcs[2, 7:] = roots[2, 7:] = math.nan
    d_arcs, d_roots = direction(arcs, roots)
    d_arcs[2, 7:] = math.nan
    scores = with_root(arcs, roots)
    log_z, *marginals = projective_marginals(arcs, roots, lengths, single_root)
    derivatives = projective_derivatives(arcs, roots, lengths, single_root, d_arcs, d_roots)
    other_log_z, other_marginals = on_device.marginals(scores, lengths, single_root)
    other_derivatives = on_device.marginals_jvp(scores, lengths, single_root, with_root(d_arcs, d_roots))
    close = functools.partial(assert_close, rtol=1e-10, atol=1e-11)
    close(other_log_z, log_z)
    close(other_marginals[:, :, 1:], joined(*marginals))
    close(other_derivatives[:, :, 1:], joined(*derivatives))
