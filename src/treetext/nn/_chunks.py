"""Sequences of different lengths in a few padded chunks, so that whatever does not look at its neighbours runs once."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.nn._checks import is_real


class Chunks(NamedTuple):
    """How the positions of several chunks (b, n), one after the other, are numbered in one flat matrix.

    In the *time* order, a chunk has its first words first, as LSTMs want it; else its first sequence.
    """

    shapes: list[tuple[int, int]]
    lengths: list[Int[Tensor, "b"] | None]
    real: Sequence[Tensor | None]
    """For each chunk (b, n), which positions are no padding; None if all."""

    @classmethod
    def of(cls, shapes: Sequence[Sequence[int]], lengths: Sequence[Tensor | None]) -> "Chunks":
        """Chunks of these shapes; refuses lengths that don't fit."""
        real = [None if n is None else is_real(n, shape) for shape, n in zip(shapes, lengths, strict=True)]
        return cls([(int(b), int(n)) for b, n in shapes], list(lengths), real)

    def split(self, flat: Float[Tensor, "p k"]) -> list[Float[Tensor, "b n k"]]:
        """The chunks of a flat matrix."""
        if len(self.shapes) == 1:
            return [flat.view(*self.shapes[0], -1)]
        parts = torch.split(flat, [b * n for b, n in self.shapes])
        return [part.view(b, n, -1) for part, (b, n) in zip(parts, self.shapes, strict=True)]

    def split_time(self, flat: Float[Tensor, "p k"]) -> list[Float[Tensor, "n b k"]]:
        """The chunks of a flat matrix in the time order."""
        parts = torch.split(flat, [b * n for b, n in self.shapes])
        return [part.view(n, b, -1) for part, (b, n) in zip(parts, self.shapes, strict=True)]

    def orders(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """For each position in the time order: where it is otherwise; its mirror image, if each sequence is reversed
        within its length; and for each position otherwise, where it is in the time order.
        """
        start, found = 0, []
        for (b, n), lengths, real in zip(self.shapes, self.lengths, self.real, strict=True):
            time, which = torch.arange(n, device=device)[:, None], torch.arange(b, device=device)
            mirrored = n - 1 - time if lengths is None else torch.where(_transposed(real), lengths - 1 - time, time)
            otherwise, in_time = start + which * n + time, start + time * b + which
            mirror = (start + mirrored * b + which).expand(n, b)
            found.append((otherwise.flatten(), mirror.flatten(), in_time.T.flatten()))
            start += b * n
        return tuple(joined(list(each)) for each in zip(*found, strict=True))  # type: ignore[return-value]


def joined(parts: list[Tensor]) -> Tensor:
    """All rows, without a copy if there is one part only."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def permuted(x: Float[Tensor, "p k"], order: Int[Tensor, "p"], inverse: Int[Tensor, "p"]) -> Float[Tensor, "p k"]:
    """Rows in another order; knowing the inverse, the gradient takes no scatter, but a gather, which is cheap."""
    found: Tensor = _Permute.apply(x, order, inverse)  # type: ignore[no-untyped-call]
    return found


def _transposed(real: Tensor | None) -> Tensor:
    assert real is not None  # where there are lengths
    return real.T


class _Permute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(order, inverse)
        return x.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        order, inverse = ctx.saved_tensors
        return permuted(grad, inverse, order), None, None
