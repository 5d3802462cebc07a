"""Dropout that is about four times as fast on a CPU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Dropout):
    """Like torch's dropout, but on a CPU, one random number of 64 bits decides about four elements.

    The probability is rounded to a multiple of 2⁻¹⁶; the scale of the kept elements uses the rounded value.
    """

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """In training, set random elements to 0 and scale up the others; otherwise return `x`."""
        if not self.training or self.p == 0 or x.device.type != "cpu" or torch.compiler.is_compiling():
            return super().forward(x)
        dropped = min(round(self.p * 2**16), 2**16 - 1)
        numbers = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        return x * ((bits >= dropped - 2**15).to(x.dtype) * (2**16 / (2**16 - dropped)))
