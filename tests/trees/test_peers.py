"""Agreement with torch-struct, where that is right: moderate scores."""

from typing import Any

import pytest
import torch
import torch_struct
from torch import Tensor

from treetext.trees import NonProjectiveTrees, ProjectiveTrees, TreeDistribution

pytestmark = pytest.mark.filterwarnings("ignore:.*arg_constraints")  # torch-struct's, about itself


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs", "error"),
    [
        (NonProjectiveTrees, torch_struct.NonProjectiveDependencyCRF, 5e-4),  # it adds 1e-5 to each weight
        (ProjectiveTrees, torch_struct.DependencyCRF, 1e-9),
    ],
)
@pytest.mark.parametrize("n", [3, 8, 20])
def test_agrees_with_torch_struct(
    ours: type[TreeDistribution], theirs: Any, error: float, multi_root: bool, n: int
) -> None:
    scores = torch.randn(4, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    direction = torch.randn(4, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n + 1))

    def by_us(x: Tensor) -> tuple[Tensor, Tensor]:
        trees = ours(x, x.diagonal(dim1=-2, dim2=-1), single_root=not multi_root)
        return trees.log_partition, trees.marginals.arcs + trees.marginals.roots.diag_embed()

    def by_them(x: Tensor) -> tuple[Tensor, Tensor]:
        trees = theirs(x, multiroot=multi_root)
        return trees.partition, trees.marginals

    actual, expected = [], []
    for function, results in ((by_us, actual), (by_them, expected)):
        x = scores.clone().requires_grad_()
        log_z, marginals = function(x)
        results += [log_z.detach(), marginals.detach(), *torch.autograd.grad((marginals * direction).sum(), x)]
    for name, mine, other in zip(("log Z", "marginals", "gradient"), actual, expected, strict=True):
        assert (mine - other.squeeze()).abs().max() < error, name
