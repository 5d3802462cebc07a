"""One non-projective kernel on its own, so that none hides behind another."""

import numpy as np
import torch
from torch import Tensor

from tests.trees.problems import padded
from treetext.trees.autograd import Derivative, Inference
from treetext.trees.inference import nonprojective
from treetext.trees.kernels import leave_one_out
from treetext.trees.kernels.workspaces import make, with_tangents


def by_leave_one_out(
    kind: type, arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool
) -> tuple[Inference, Derivative]:
    scores = arcs.numpy(), roots.numpy()
    size = leave_one_out.workspace_size(arcs.shape[-1])

    def run(direction: tuple[np.ndarray, ...], work: object) -> tuple[Tensor, Tensor, Tensor]:
        out = torch.zeros(len(arcs), dtype=torch.float64), torch.zeros_like(arcs), torch.zeros_like(roots)
        everything = np.arange(len(arcs))
        leave_one_out.marginals(
            work, *scores, lengths.numpy(), everything, single_root, False, *direction, *(x.numpy() for x in out)
        )
        return out

    def derivative(d_arcs: Tensor, d_roots: Tensor) -> tuple[Tensor, Tensor]:
        return run((d_arcs.numpy(), d_roots.numpy()), with_tangents(make(kind, size), size))[1:]

    return Inference(*run(scores, make(kind, size))), derivative


def assert_agrees(inference: Inference, derive: Derivative, scale: float, n: int, single_root: bool) -> None:
    """The results of one kernel for a batch from `padded` are those of `nonprojective`, which chooses among all."""
    arcs, roots, lengths = padded(scale, n)
    marginals, [log_z], derivative = nonprojective([lengths], single_root, True, arcs, roots)
    wanted = Inference(log_z, *marginals)
    torch.testing.assert_close(inference.log_partition, wanted.log_partition, rtol=1e-11, atol=1e-10)
    torch.testing.assert_close(inference.arcs, wanted.arcs, rtol=0, atol=1e-10)
    torch.testing.assert_close(inference.roots, wanted.roots, rtol=0, atol=1e-10)
    direction = padded(1.0, n)[:2]
    mine, theirs = (torch.cat([d[0], d[1][:, None]], 1) for d in (derive(*direction), derivative(*direction)))
    largest = theirs.abs().amax((1, 2))
    assert ((mine - theirs).abs().amax((1, 2)) <= 1e-4 * largest + 1e-300).all()
