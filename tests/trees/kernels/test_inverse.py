"""The inverse detects its loss of digits."""

import numpy as np
import torch

from tests.trees.kernels.alone import by_leave_one_out
from tests.trees.problems import attracted
from treetext.trees.kernels import inverse
from treetext.trees.kernels.workspaces import Lanes, Logs, make


def test_inverse_distrusts_itself() -> None:
    """Well before its error shows, the inverse leaves a problem to the exact way; and what it keeps is right."""
    n, kept = 10, 0
    for strength in range(40):
        arcs, roots = (x.double()[None] for x in attracted(strength, n, strength))
        log_z, p_arcs, p_roots = np.zeros(1), np.zeros((1, n, n)), np.zeros((1, n))
        work = make(Lanes, inverse.workspace_size(n))
        lengths, everything = np.array([n]), np.array([0])
        inverse.marginals(work, 0, arcs.numpy(), roots.numpy(), lengths, everything, True, log_z, p_arcs, p_roots)
        if np.isnan(log_z[0]):
            assert strength > 5
        else:
            kept += 1
            assert strength < 25
            exact, _ = by_leave_one_out(Logs, arcs, roots, torch.tensor([n]), True)
            assert abs(p_arcs - exact.arcs.numpy()).max() < 1e-9
    assert kept > 5
