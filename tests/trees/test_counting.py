"""How many trees there are, and what share of the largest entropy a distribution has."""

import math

import pytest
import torch

from tests.trees.brute import Enumeration, all_trees
from treetext.trees import NonProjectiveTrees, ProjectiveTrees
from treetext.trees.counting import count_trees, log_count

KINDS = [(NonProjectiveTrees, True), (NonProjectiveTrees, False), (ProjectiveTrees, True), (ProjectiveTrees, False)]
every_kind = pytest.mark.parametrize(("kind", "single_root"), KINDS)


@every_kind
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_against_enumeration(kind, single_root, n):
    projective = kind is ProjectiveTrees
    assert count_trees(n, projective, single_root) == len(all_trees(n, projective, single_root))


@every_kind
@pytest.mark.parametrize("n", [1, 2, 7, 30, 100, 150])
def test_against_the_log_partition_of_zero_scores(kind, single_root, n):
    zeros = kind(torch.zeros(n, n).double(), torch.zeros(n).double(), single_root=single_root)
    assert float(zeros.max_entropy) == pytest.approx(float(zeros.log_partition), rel=1e-12, abs=1e-12)
    assert zeros.entropy_share.item() == pytest.approx(0.0 if n == 1 else 1.0, abs=1e-12)


@every_kind
def test_long_sequences_are_cheap(kind, single_root):
    n = 10_000
    count = log_count(n, kind is ProjectiveTrees, single_root)
    root = math.lgamma(3 * n - 1) - math.lgamma(n) - math.lgamma(2 * n) - math.log(n)
    roots = math.lgamma(3 * n + 1) - math.lgamma(n + 1) - math.lgamma(2 * n + 1) - math.log(2 * n + 1)
    expected = (
        (root if single_root else roots) if kind is ProjectiveTrees else (n - 1) * math.log(n if single_root else n + 1)
    )
    assert count == pytest.approx(expected, rel=1e-12)


@every_kind
@pytest.mark.parametrize("n", [2, 3, 4])
def test_share_of_all_trees(kind, single_root, n):
    random = torch.Generator().manual_seed(n)
    arcs, roots = torch.randn(n, n, generator=random), torch.randn(n, generator=random)
    all_of_them = Enumeration(kind, arcs, roots, single_root)
    entropy = -float((all_of_them.p * all_of_them.log_probs).sum())
    trees = kind(arcs, roots, single_root=single_root)
    assert float(trees.max_entropy) == pytest.approx(math.log(len(all_of_them.trees)), rel=1e-6)
    assert float(trees.entropy_share) == pytest.approx(entropy / math.log(len(all_of_them.trees)), rel=1e-6)


@every_kind
def test_shapes_types_and_padding(kind, single_root):
    arcs, roots = torch.randn(2, 3, 6, 6), torch.randn(2, 3, 6)
    lengths = torch.tensor([[6, 1, 2], [3, 6, 5]])
    for dtype in (torch.float16, torch.float32, torch.float64):
        trees = kind(arcs.to(dtype), roots.to(dtype), lengths, single_root)
        for entropy in (trees.max_entropy, trees.entropy_share):
            assert (entropy.shape, entropy.dtype) == ((2, 3), dtype)
            assert entropy[0, 1] == 0, "a single node"
        assert ((trees.entropy_share >= 0) & (trees.entropy_share <= 1)).all()
    alone = kind(arcs[1, 2, :5, :5].double(), roots[1, 2, :5].double(), single_root=single_root)
    assert torch.equal(alone.entropy_share, trees.entropy_share[1, 2])


@every_kind
def test_gradient(kind, single_root):
    lengths = torch.tensor([4, 1, 3])
    arcs = torch.randn(3, 4, 4, dtype=torch.float64, requires_grad=True)
    roots = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, r: kind(a, r, lengths, single_root).entropy_share, (arcs, roots))
    (grad,) = torch.autograd.grad(kind(arcs, roots, lengths, single_root).entropy_share.sum(), arcs)
    assert not grad[1].any()
    assert grad[0].any()


def test_uniform_projective_trees_over_ten_nodes():
    assert ProjectiveTrees(torch.zeros(10, 10), torch.zeros(10)).entropy_share == 1
