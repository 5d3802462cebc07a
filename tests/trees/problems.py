"""Scores to test with."""

import torch
from torch import Tensor


def scores(
    batch: int, n: int, seed: int = 0, scale: float = 1.0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        (scale * torch.randn(batch, n, n, generator=generator, dtype=torch.float64)).to(dtype),
        (scale * torch.randn(batch, n, generator=generator, dtype=torch.float64)).to(dtype),
    )


def with_forbidden(arcs: Tensor, roots: Tensor, seed: int = 0, share: float = 0.3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    hidden = [torch.rand(x.shape, generator=generator) < share for x in (arcs, roots)]
    hidden[1][..., 0] = False  # the chain from node 0 on stays
    for j in range(1, arcs.shape[-1]):
        hidden[0][..., j - 1, j] = False
    return arcs.masked_fill(hidden[0], -torch.inf), roots.masked_fill(hidden[1], -torch.inf)


def padded(scale: float, n: int, batch: int = 11) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(n)
    return (
        scale * torch.randn(batch, n, n, generator=generator, dtype=torch.float64),
        scale * torch.randn(batch, n, generator=generator, dtype=torch.float64),
        torch.randint(1, n + 1, (batch,), generator=generator),
    )


def noise(seed: int, n: int, scale: float) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(n, n, generator=generator), scale * torch.randn(n, generator=generator)


def attracted(seed: int, n: int, strength: float) -> tuple[Tensor, Tensor]:
    arcs, roots = noise(seed, n, 1.0)
    for i in range(0, n - 1, 2):
        arcs[i, i + 1] += strength
        arcs[i + 1, i] += strength
    return arcs, roots


def far_roots(seed: int, n: int, extent: float) -> tuple[Tensor, Tensor]:
    arcs, _ = noise(seed, n, 1.0)
    return arcs, torch.linspace(-extent, extent, n)[torch.randperm(n, generator=torch.Generator().manual_seed(seed))]
