"""By how much the best tree is better than the second best."""

import pytest
import torch

from tests.trees.brute import Enumeration
from treetext.trees import NonProjectiveTrees, ProjectiveTrees

KINDS = [(NonProjectiveTrees, True), (NonProjectiveTrees, False), (ProjectiveTrees, True), (ProjectiveTrees, False)]


def brute(arcs, roots, kind, single_root):
    """From the scores of all trees."""
    scores = Enumeration(kind, arcs, roots, single_root).scores.tolist()
    best, second = sorted([*scores, -float("inf")], reverse=True)[:2]
    return best - second


@pytest.mark.parametrize(("kind", "single_root"), KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_of_all_trees(kind, single_root, n):
    random = torch.Generator().manual_seed(n)
    for trial in range(12 if n == 5 else 30):
        scale = 10.0 ** (trial % 3 - 1)
        arcs, roots = (scale * torch.randn(*shape, generator=random).double() for shape in ((n, n), (n,)))
        if trial % 4 == 3:  # many ties
            arcs, roots = arcs.round(), roots.round()
        expected = brute(arcs, roots, kind, single_root)
        assert float(kind(arcs, roots, single_root=single_root).margin()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("kind", "single_root"), KINDS)
def test_of_the_two_best_of_larger_trees(kind, single_root):
    """Nested cycles: each node is drawn to its neighbours, and pairs to pairs."""
    random = torch.Generator().manual_seed(0)
    lengths = torch.tensor([20, 13, 7, 20])
    place = torch.arange(20.0)
    near = -((place[:, None] // 2 - place // 2).abs() + (place[:, None] // 4 - place // 4).abs() * 2)
    for scale in (0, 1, 3):
        arcs = (near * scale + torch.randn(4, 20, 20, generator=random)).double()
        roots = torch.randn(4, 20, generator=random).double() - 10
        trees = kind(arcs, roots, lengths, single_root)
        best, second = trees.top(2).log_probs
        assert trees.margin().tolist() == pytest.approx((best - second).tolist(), abs=1e-9)
        alone = kind(arcs[1, :13, :13], roots[1, :13], single_root=single_root)
        assert alone.margin() == trees.margin()[1]


@pytest.mark.parametrize(("kind", "single_root"), KINDS)
def test_forbidden_arcs(kind, single_root):
    arcs = torch.tensor([[0.0, 1.0, -torch.inf], [-torch.inf, 0.0, 2.0], [-torch.inf, -torch.inf, 0.0]])
    roots = torch.tensor([0.0, -torch.inf, -torch.inf])
    assert kind(arcs, roots, single_root=single_root).margin() == torch.inf, "there is only one tree"
    arcs[0, 2] = 0.5
    assert kind(arcs, roots, single_root=single_root).margin() == 1.5
    with pytest.raises(ValueError, match="has no tree"):
        kind(arcs, roots - torch.inf, single_root=single_root).margin()


def test_shapes_and_types():
    arcs, roots = torch.zeros(2, 3, 4, 4), torch.zeros(2, 3, 4)
    for kind, single_root in KINDS:
        margins = kind(arcs, roots, single_root=single_root).margin()
        assert (margins.shape, margins.dtype) == ((2, 3), torch.float32)
        assert not margins.any(), "all trees are equally good"
