"""Pooling: one vector for each sequence."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.nn.checks import check_choice, is_real

POOLINGS = ("max", "mean", "sum", "root")


def pool(
    x: Float[Tensor, "b n k"],
    lengths: Int[Tensor, "b"] | None = None,
    kind: str = "max",
    roots: Float[Tensor, "b n"] | None = None,
) -> Float[Tensor, "b k"]:
    """The maximum, mean or sum of each sequence. With ``root``, the sum weighted by the root probabilities `roots`.

    >>> pool(torch.tensor([[[1.0], [2.0], [9.0]]]), torch.tensor([2]), "mean")
    tensor([[1.5000]])
    """
    check_choice("kind", kind, POOLINGS)
    if x.dim() != 3 or x.shape[1] == 0:
        raise ValueError(f"x: expected shape (b, n >= 1, k), got {tuple(x.shape)}")
    real = None if lengths is None else is_real(lengths, x.shape)
    if kind == "root" and (roots is None or roots.shape != x.shape[:2]):
        got = "none" if roots is None else tuple(roots.shape)
        raise ValueError(f"roots: expected shape {tuple(x.shape[:2])} to pool by root, got {got}")
    return pool_real(x, real, kind, roots)


def pool_real(x: Tensor, real: Tensor | None, kind: str, roots: Tensor | None) -> Tensor:
    """`pool` without checks, given the mask of real positions (None if there is no padding)."""
    if real is not None:
        x = x.masked_fill(~real[..., None], -torch.inf if kind == "max" else 0)
    if kind == "max":
        return x.max(1).values
    if kind == "root" and roots is not None:
        return (roots[:, None] @ x)[:, 0]
    total = x.sum(1)
    if kind == "sum":
        return total
    return total / (x.shape[1] if real is None else real.sum(1, keepdim=True))
