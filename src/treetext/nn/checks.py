"""Checks of the arguments of layers. Errors name the argument and say what was expected."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise an error for a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


def check_size(name: str, value: int, least: int) -> None:
    """Raise an error for a size that is too small."""
    if value < least:
        raise ValueError(f"{name}: expected a size of {least} or more, got {value}")


def check_schedule(name: str, value: float | Sequence[float], allow_zero: bool) -> None:
    """Raise an error unless a schedule is a number, or one or more numbers, above 0 (or 0, if allowed)."""
    values = [value] if isinstance(value, int | float) else list(value)
    if not values or not all(0 < each < math.inf or (allow_zero and each == 0) for each in values):
        expected = "0 or more" if allow_zero else "more than 0"
        raise ValueError(f"{name}: expected a number of {expected}, or several, got {value}")


def check_vectors(name: str, x: Tensor, size: int, like: Tensor | None = None) -> None:
    """Raise an error unless `x` has the shape (b, n, size), with b and n as in `like`, if given."""
    if x.dim() != 3 or x.shape[1] == 0 or x.shape[2] != size or (like is not None and x.shape[:2] != like.shape[:2]):
        b, n = ("b", "n >= 1") if like is None else like.shape[:2]
        raise ValueError(f"{name}: expected shape ({b}, {n}, {size}), got {tuple(x.shape)}")


def is_real(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """The mask (b, n) of positions within the lengths. Raises an error for lengths that do not fit."""
    b, n = shape[:2]
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TypeError(f"lengths: expected a tensor of integers, got {lengths.dtype}")
    if lengths.shape != (b,):
        raise ValueError(f"lengths: expected shape ({b},), got {tuple(lengths.shape)}")
    if b and not torch.compiler.is_compiling():  # reading values would break a compiled graph
        least, most = (int(end) for end in lengths.aminmax())
        if least < 1 or most > n:
            raise ValueError(f"lengths: expected 1 to {n}, got {least if least < 1 else most}")
    return torch.arange(n, device=lengths.device) < lengths[:, None]
