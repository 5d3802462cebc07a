"""Sequences of different lengths in a few padded buckets. Layers that act on single positions run once over all."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.nn.checks import is_real


class Buckets(NamedTuple):
    """The layout of a flat matrix whose rows are the positions of several buckets of shapes (b, n).

    Rows are sequence-major within each bucket, or time-major, as for LSTMs.
    """

    shapes: list[tuple[int, int]]
    lengths: list[Int[Tensor, "b"] | None]
    real: Sequence[Tensor | None]
    """For each bucket, the mask (b, n) of positions that are not padding; None if there is no padding."""

    @classmethod
    def of(cls, shapes: Sequence[Sequence[int]], lengths: Sequence[Tensor | None]) -> "Buckets":
        """Buckets of these shapes. Raises an error for lengths that do not fit."""
        real = [None if n is None else is_real(n, shape) for shape, n in zip(shapes, lengths, strict=True)]
        return cls([(int(b), int(n)) for b, n in shapes], list(lengths), real)

    def split(self, flat: Float[Tensor, "p k"]) -> list[Float[Tensor, "b n k"]]:
        """The buckets of a flat matrix."""
        if len(self.shapes) == 1:
            return [flat.view(*self.shapes[0], -1)]
        parts = torch.split(flat, [b * n for b, n in self.shapes])
        return [part.view(b, n, -1) for part, (b, n) in zip(parts, self.shapes, strict=True)]

    def split_time(self, flat: Float[Tensor, "p k"]) -> list[Float[Tensor, "n b k"]]:
        """The buckets of a time-major flat matrix."""
        parts = torch.split(flat, [b * n for b, n in self.shapes])
        return [part.view(n, b, -1) for part, (b, n) in zip(parts, self.shapes, strict=True)]

    def orders(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Three permutations of the rows.

        For each time-major row: the sequence-major row, and the time-major row of the same sequence reversed within
        its length. For each sequence-major row: the time-major row.
        """
        start, parts = 0, []
        for (b, n), lengths, real in zip(self.shapes, self.lengths, self.real, strict=True):
            time, which = torch.arange(n, device=device)[:, None], torch.arange(b, device=device)
            mirrored = n - 1 - time if lengths is None else torch.where(_transposed(real), lengths - 1 - time, time)
            otherwise, in_time = start + which * n + time, start + time * b + which
            mirror = (start + mirrored * b + which).expand(n, b)
            parts.append((otherwise.flatten(), mirror.flatten(), in_time.T.flatten()))
            start += b * n
        return tuple(joined(list(each)) for each in zip(*parts, strict=True))  # type: ignore[return-value]


def joined(parts: list[Tensor]) -> Tensor:
    """Concatenate rows, without a copy if there is only one part."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def permuted(x: Float[Tensor, "p k"], order: Int[Tensor, "p"], inverse: Int[Tensor, "p"]) -> Float[Tensor, "p k"]:
    """Permute rows. With the inverse, the gradient is a gather, which is cheaper than a scatter."""
    rows: Tensor = _Permute.apply(x, order, inverse)  # type: ignore[no-untyped-call]
    return rows


def _transposed(real: Tensor | None) -> Tensor:
    assert real is not None  # since there are lengths
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
