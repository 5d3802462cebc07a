"""Non-projective marginals in tensor operations, against kernels."""

import pytest

from tests.trees.kernels.alone import assert_agrees
from tests.trees.problems import padded
from treetext.trees.autograd import Inference
from treetext.trees.kernels import nonprojective_torch


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
def test_agrees_with_what_is_used(n: int, scale: float, single_root: bool) -> None:
    *values, derive = nonprojective_torch.marginals(*padded(scale, n), single_root)
    assert_agrees(Inference(*values), derive, scale, n, single_root)


def test_torch_way_keeps_to_torch() -> None:
    """On a device without data, so that any copy to the host would fail."""
    arcs, roots, lengths = (x.to("meta") for x in padded(1.0, 5))
    log_z, p_arcs, _, derivative = nonprojective_torch.marginals(arcs, roots, lengths, True)
    assert log_z.device.type == p_arcs.device.type == "meta"
    assert derivative(arcs, roots)[0].shape == arcs.shape
