"""Checks of arguments, with errors that name the argument and the batch element."""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor


class NonFiniteScores(ValueError):  # noqa: N818
    """Some scores are NaN or +inf; -inf is allowed."""


class Scores(NamedTuple):
    """Checked scores with their batch dimensions flattened into one."""

    arcs: Tensor  # (B, n, n)
    roots: Tensor  # (B, n)
    lengths: Tensor  # (B,) int64, on the device of the scores
    batch_shape: torch.Size


def check_scores(
    arcs: Tensor,
    roots: Tensor,
    lengths: Tensor | None,
    names: tuple[str, str] = ("arcs", "roots"),
) -> Scores:
    """Return the scores with flat batch dimensions. Errors name the argument and the batch element."""
    for name, scores in zip(names, (arcs, roots), strict=True):
        if not isinstance(scores, Tensor) or not scores.is_floating_point():
            kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
            raise TypeError(f"{name}: expected a floating-point tensor, got {kind}")
    if arcs.dim() < 2 or arcs.shape[-1] != arcs.shape[-2] or arcs.shape[-1] == 0:
        raise ValueError(f"{names[0]}: expected shape (*batch, n, n) with n >= 1, got {tuple(arcs.shape)}")
    if roots.shape != arcs.shape[:-1]:
        raise ValueError(
            f"{names[1]}: expected shape {tuple(arcs.shape[:-1])} to go with {names[0]} of shape"
            f" {tuple(arcs.shape)}, got {tuple(roots.shape)}"
        )
    if roots.device != arcs.device or roots.dtype != arcs.dtype:
        raise ValueError(
            f"{names[1]}: expected {arcs.dtype} on {arcs.device} as {names[0]} is, got {roots.dtype} on {roots.device}"
        )
    batch_shape, n = arcs.shape[:-2], arcs.shape[-1]
    flat_lengths = _check_lengths(lengths, batch_shape, n, arcs.device)
    flat_arcs, flat_roots = shaped(arcs, (flat_lengths.numel(), n, n)), shaped(roots, (flat_lengths.numel(), n))
    # If the sum is finite, all scores are. If not, look closer: -inf (a forbidden arc) is allowed, NaN and +inf not.
    values = flat_arcs.detach(), flat_roots.detach()
    if not math.isfinite(values[0].sum().item() + values[1].sum().item()):
        _check_values(*values, flat_lengths, batch_shape, names)
    return Scores(flat_arcs, flat_roots, flat_lengths, batch_shape)


def shaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Reshape only if needed: reshaping takes as long as a small problem."""
    return x if x.shape == shape else x.reshape(shape)


def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert only if needed, for the same reason."""
    return x if x.dtype == dtype else x.to(dtype)


def element(flat: int, batch_shape: torch.Size) -> str:
    """The name of a batch element, by its index in the shape that the user gave."""
    if not batch_shape:
        return "the only element"
    index = []
    for size in reversed(batch_shape):
        flat, i = divmod(flat, size)
        index.append(i)
    return f"batch element {tuple(reversed(index))}"


def _check_lengths(lengths: Tensor | None, batch_shape: torch.Size, n: int, device: torch.device) -> Tensor:
    if lengths is None:
        return _full(batch_shape.numel(), n, device)
    if not isinstance(lengths, Tensor) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        kind = lengths.dtype if isinstance(lengths, Tensor) else type(lengths).__name__
        raise TypeError(f"lengths: expected a tensor of integers, got {kind}")
    if lengths.shape != batch_shape:
        raise ValueError(f"lengths: expected shape {tuple(batch_shape)}, got {tuple(lengths.shape)}")
    if lengths.device != device:
        raise ValueError(f"lengths: expected a tensor on {device} as the scores are, got {lengths.device}")
    flat = lengths.reshape(-1).to(torch.int64, copy=True).contiguous()  # a copy: the caller may change the original
    if flat.numel() and not (int(flat.min()) >= 1 and int(flat.max()) <= n):
        bad = int(((flat < 1) | (flat > n)).nonzero()[0])
        raise ValueError(f"lengths: {element(bad, batch_shape)} is {int(flat[bad])}, expected 1 to {n}")
    return flat


@lru_cache(maxsize=64)  # making one takes a tenth of the time of a small problem; nothing writes to lengths
def _full(count: int, n: int, device: torch.device) -> Tensor:
    return torch.full((count,), n, dtype=torch.int64, device=device)


def _check_values(
    arcs: Tensor, roots: Tensor, lengths: Tensor, batch_shape: torch.Size, names: tuple[str, str]
) -> None:
    n = arcs.shape[-1]
    position = torch.arange(n, device=arcs.device)
    real = position < lengths[:, None]
    off_diagonal = position[:, None] != position
    for name, scores, used in (
        (names[0], arcs, real[:, :, None] & real[:, None, :] & off_diagonal),
        (names[1], roots, real),
    ):
        bad = (scores.isnan() | (scores == torch.inf)) & used
        if bad.any():
            b, *where = bad.nonzero()[0].tolist()
            raise NonFiniteScores(
                f"{name}: {element(b, batch_shape)} is {float(scores[(b, *where)])} at {tuple(where)},"
                " expected finite scores, or -inf for what is forbidden"
            )
