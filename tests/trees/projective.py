"""Projective trees by enumeration, and scores to test them with."""

import functools
import math

import torch
from torch import Tensor

from tests.trees.brute import all_trees


@functools.cache
def trees(n: int, single_root: bool) -> Tensor:
    """The heads of all projective trees of n words, (trees, n)."""
    return torch.tensor(all_trees(n, True, single_root))


def incidence(n: int, single_root: bool) -> Tensor:
    """Which arcs each tree has: (trees, n + 1, n), the root as the first head."""
    return torch.nn.functional.one_hot(trees(n, single_root) + 1, n + 1).mT.double()


def tree_scores(arcs: Tensor, roots: Tensor, single_root: bool) -> Tensor:
    """(batch, trees)"""
    heads = trees(roots.shape[1], single_root)
    scores = torch.cat([roots[:, None], arcs], 1)
    return scores[:, heads + 1, torch.arange(roots.shape[1])].sum(-1)


def problems(batch: int, n: int, scale: float = 1.0, forbid: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """Random arcs, roots and full lengths. Forbidden arcs always leave the chain from left to right."""
    random = torch.Generator().manual_seed(0)
    arcs = scale * torch.randn(batch, n, n, generator=random, dtype=torch.float64)
    roots = scale * torch.randn(batch, n, generator=random, dtype=torch.float64)
    forbidden = torch.rand(batch, n, n, generator=random) < forbid
    forbidden.diagonal(1, 1, 2).fill_(False)
    return arcs.masked_fill(forbidden, -math.inf), roots, torch.full((batch,), n)


def direction(arcs: Tensor, roots: Tensor) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    return (
        torch.randn(arcs.shape, generator=random, dtype=torch.float64),
        torch.randn(roots.shape, generator=random, dtype=torch.float64),
    )


def joined(arcs: Tensor, roots: Tensor) -> Tensor:
    """(batch, n + 1, n), the root as the first head."""
    return torch.cat([roots[:, None], arcs], 1)
