"""Gradients of both distributions."""

import weakref

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from tests.trees.problems import scores, with_forbidden
from treetext.trees import NonProjectiveTrees, ProjectiveTrees, TreeDistribution

Kind = type[TreeDistribution]

every_kind = pytest.mark.parametrize("kind", [NonProjectiveTrees, ProjectiveTrees])
every_root = pytest.mark.parametrize("single_root", [True, False])


@every_kind
@every_root
class TestGradients:
    def test_gradients(self, kind: Kind, single_root: bool) -> None:
        arcs, roots = (x.requires_grad_() for x in scores(3, 5))
        lengths = torch.tensor([5, 3, 1])
        other = scores(3, 5, seed=1)

        def trees(arcs: Tensor, roots: Tensor) -> TreeDistribution:
            return kind(arcs, roots, lengths, single_root)

        heads = trees(arcs, roots).mode()
        for function in (
            lambda *x: tuple(trees(*x).marginals),
            lambda *x: trees(*x).log_partition,
            lambda *x: trees(*x).log_prob(heads),
            lambda *x: trees(*x).entropy,
            lambda *x: trees(*x).kl(trees(*other)),
            lambda *x: trees(*other).cross_entropy(trees(*x)),
        ):
            assert gradcheck(function, (arcs, roots))
        assert gradgradcheck(lambda *x: trees(*x).log_partition, (arcs, roots))

    def test_gradients_with_forbidden_arcs(self, kind: Kind, single_root: bool) -> None:
        forbidden = with_forbidden(*scores(4, 5))
        arcs, roots = (x.clone().requires_grad_() for x in forbidden)
        trees = kind(arcs, roots, single_root=single_root)
        (trees.entropy.sum() + trees.marginals.arcs.square().sum()).backward()
        for x in (arcs, roots):
            assert x.grad is not None
            assert x.grad.isfinite().all()
            assert (x.grad[x == -torch.inf] == 0).all()

    def test_second_derivative_of_marginals_is_refused(self, kind: Kind, single_root: bool) -> None:
        arcs, roots = (x.requires_grad_() for x in scores(1, 3))
        loss = kind(arcs, roots, single_root=single_root).marginals.arcs.square().sum()
        (grad,) = torch.autograd.grad(loss, arcs, create_graph=True)
        with pytest.raises(NotImplementedError, match="once, not twice"):
            grad.sum().backward()


@every_kind
@pytest.mark.parametrize("backward", [True, False])
def test_nothing_stays_behind(kind: Kind, backward: bool) -> None:
    """Results that hold their own history alive would never be freed: a leak in every step of training."""
    arcs, roots = (x.requires_grad_() for x in scores(2, 5))
    trees = kind(arcs, roots)
    arrived = [weakref.ref(x) for x in (*trees.marginals, trees.log_partition.grad_fn)]
    if backward:
        trees.marginals.arcs.square().sum().backward()
    del trees
    assert [x() for x in arrived] == [None, None, None]
