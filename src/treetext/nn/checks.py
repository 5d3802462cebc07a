"""Arguments of the layers: errors that say which one is wrong and what would be right."""

from collections.abc import Sequence

import torch
from torch import Tensor


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


def check_size(name: str, value: int, least: int) -> None:
    """Refuse a size that is too small."""
    if value < least:
        raise ValueError(f"{name}: expected a size of {least} or more, got {value}")


def check_vectors(name: str, x: Tensor, size: int, like: Tensor | None = None) -> None:
    """Refuse what is not a batch of sequences of vectors of this size, as many as in `like`."""
    if x.dim() != 3 or x.shape[1] == 0 or x.shape[2] != size or (like is not None and x.shape[:2] != like.shape[:2]):
        b, n = ("b", "n >= 1") if like is None else like.shape[:2]
        raise ValueError(f"{name}: expected shape ({b}, {n}, {size}), got {tuple(x.shape)}")


def is_real(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """Which of the positions (b, n) are within the lengths; refuses lengths that don't fit."""
    b, n = shape[:2]
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TypeError(f"lengths: expected a tensor of integers, got {lengths.dtype}")
    if lengths.shape != (b,):
        raise ValueError(f"lengths: expected shape ({b},), got {tuple(lengths.shape)}")
    if b and not torch.compiler.is_compiling():  # looking at values would break a compiled graph
        least, most = (int(end) for end in lengths.aminmax())
        if least < 1 or most > n:
            raise ValueError(f"lengths: expected 1 to {n}, got {least if least < 1 else most}")
    return torch.arange(n, device=lengths.device) < lengths[:, None]
