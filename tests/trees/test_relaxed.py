"""Relaxed samples (`perturbed`) and straight-through trees, for both kinds of trees and both root modes."""

import math

import pytest
import torch
from scipy import stats
from torch.autograd import gradcheck

from tests.trees.brute import Enumeration
from tests.trees.problems import padded, scores, with_forbidden
from treetext.trees import ROOT, NonProjectiveTrees, ProjectiveTrees

pytestmark = [
    pytest.mark.parametrize("kind", [NonProjectiveTrees, ProjectiveTrees]),
    pytest.mark.parametrize("single_root", [True, False], ids=["single", "many"]),
]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("temperature", [3.0, 1.0, 0.1, 0.01, 0.001])
def test_marginals_against_enumeration(kind, single_root, temperature):
    for problem in (scores(6, 4), with_forbidden(*scores(6, 4, seed=1))):
        arcs, roots = (x.clone().requires_grad_() for x in problem)
        relaxed = kind(arcs, roots, single_root=single_root).perturbed(0.7, temperature, seeded())
        weights = scores(6, 4, seed=2)
        (relaxed.marginals.arcs * weights[0]).sum().add((relaxed.marginals.roots * weights[1]).sum()).backward()
        for i in range(len(arcs)):
            exact = Enumeration(kind, relaxed.arcs[i].detach(), relaxed.roots[i].detach(), single_root)
            torch.testing.assert_close(relaxed.marginals.arcs[i].detach(), exact.marginals[:-1])
            torch.testing.assert_close(relaxed.marginals.roots[i].detach(), exact.marginals[-1])
            # The gradient is the covariance of the function with each arc, divided by the temperature.
            parts = exact.parts.flatten(1)
            value = parts @ torch.cat([weights[0][i], weights[1][i, None]]).flatten()
            covariance = (exact.p * (value - exact.p @ value)) @ parts / temperature
            expected = covariance.view(5, 4)
            precise = {"atol": 3e-8 / temperature, "rtol": 1e-6}  # derivatives are as precise as float32
            torch.testing.assert_close(arcs.grad[i], expected[:-1], **precise)
            torch.testing.assert_close(roots.grad[i], expected[-1], **precise)


def test_gradcheck(kind, single_root):
    def relaxed(arcs, roots):
        return tuple(kind(arcs, roots, single_root=single_root).perturbed(1.0, 0.5, seeded()).marginals)

    assert gradcheck(relaxed, [x.requires_grad_() for x in scores(2, 4)])


def test_the_noise_is_gumbel_noise(kind, single_root):
    n = 60
    trees = kind(torch.zeros(n, n), torch.zeros(n), single_root=single_root)
    relaxed = trees.perturbed(2.0, 0.5, seeded())
    for noise in (relaxed.arcs.flatten(), relaxed.roots):
        assert stats.kstest(noise / 4, "gumbel_r").pvalue > 1e-3
        assert stats.kstest(noise / 4.4, "gumbel_r").pvalue < 0.5, "the test can fail"
    assert torch.equal(trees.perturbed(0.0, 0.5).arcs, trees.arcs)
    assert not torch.equal(trees.perturbed().arcs, trees.perturbed().arcs), "new noise each time"


def test_padding_is_invisible(kind, single_root):
    arcs, roots, lengths = padded(1.0, 6)
    short = kind(arcs, roots, lengths, single_root)
    wide = [torch.nn.functional.pad(arcs, (0, 3, 0, 3), value=9.0), torch.nn.functional.pad(roots, (0, 3), value=9.0)]
    long = kind(*wide, lengths, single_root)
    for hard in (False, True):
        a, b = (each.perturbed(1.0, 0.3, seeded()) for each in (short, long))
        a, b = (each.straight_through() if hard else each.marginals for each in (a, b))
        assert torch.equal(a.arcs, b.arcs[:, :6, :6]), "the same bits"
        assert torch.equal(a.roots, b.roots[:, :6])
        assert not b.arcs[:, 6:].any()
        assert not b.arcs[:, :, 6:].any()
        assert not b.roots[:, 6:].any()


def test_batch_shapes(kind, single_root):
    arcs, roots = scores(6, 5, dtype=torch.float32)
    flat = kind(arcs, roots, single_root=single_root).perturbed(generator=seeded())
    nested = kind(arcs.view(2, 3, 5, 5), roots.view(2, 3, 5), single_root=single_root).perturbed(generator=seeded())
    assert torch.equal(nested.marginals.arcs.view(6, 5, 5), flat.marginals.arcs)
    assert nested.straight_through().roots.shape == (2, 3, 5)
    one = kind(arcs[0], roots[0], single_root=single_root).perturbed(generator=seeded())
    assert one.straight_through().arcs.shape == (5, 5)


def test_cold_marginals_are_the_best_tree(kind, single_root):
    arcs, roots = scores(200, 12, dtype=torch.float32)
    cold = kind(arcs, roots, single_root=single_root).perturbed(1.0, 1e-3, seeded())
    clear = cold.margin() > 20
    assert clear.sum() > 150
    tree = cold.straight_through()
    torch.testing.assert_close(cold.marginals.arcs[clear], tree.arcs[clear], atol=1e-6, rtol=0)
    torch.testing.assert_close(cold.marginals.roots[clear], tree.roots[clear], atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_straight_through_is_a_tree_with_the_gradients_of_the_marginals(kind, single_root, dtype):
    arcs, roots, lengths = padded(1.0, 7)
    weights = scores(len(arcs), 7, seed=3)
    gradients = []
    for hard in (True, False):
        leaves = [x.to(dtype).requires_grad_() for x in (arcs, roots)]
        trees = kind(*leaves, lengths, single_root)
        marginals = trees.straight_through() if hard else trees.marginals
        if hard:
            heads = trees.mode()
            for i, n in enumerate(lengths.tolist()):
                for j in range(7):
                    column = [*marginals.arcs[i, :, j].tolist(), marginals.roots[i, j].item()]
                    assert sum(column) == (j < n), "each word has one head"
                    assert column[-1 if heads[i, j] == ROOT else int(heads[i, j])] == (j < n)
        (marginals.arcs * weights[0]).sum().add((marginals.roots * weights[1]).sum()).backward()
        gradients.append([leaf.grad for leaf in leaves])
    for hard, soft in zip(*gradients, strict=True):
        assert torch.equal(hard, soft)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_bad_arguments(kind, single_root, bad):
    trees = kind(*scores(1, 3), single_root=single_root)
    with pytest.raises(ValueError, match=f"noise: expected a number of 0 or more, got {bad}"):
        trees.perturbed(noise=bad)
    with pytest.raises(ValueError, match=f"temperature: expected a number above 0, got {bad}"):
        trees.perturbed(temperature=bad)
