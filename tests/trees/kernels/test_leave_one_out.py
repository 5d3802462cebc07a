"""Leave-one-out elimination in each kind of workspace, against the results in use."""

import pytest

from tests.trees.kernels.alone import assert_agrees, by_leave_one_out
from tests.trees.problems import padded
from treetext.trees.kernels.workspaces import Lanes, Logs, Rows


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("kind", [Lanes, Rows, Logs])
def test_agrees_with_what_is_used(kind: type, n: int, scale: float, single_root: bool) -> None:
    inference, derive = by_leave_one_out(kind, *padded(scale, n), single_root)
    assert_agrees(inference, derive, scale, n, single_root)
