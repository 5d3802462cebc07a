"""Dropout that takes a quarter of the time on a CPU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Dropout):
    """As torch's, but on the CPU, each random number of 64 bits decides over four elements.

    The probability is rounded to a multiple of 2⁻¹⁶, and what is kept is scaled by just that.
    """

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Elements set to 0 at random and others scaled up in training, x itself otherwise."""
        if not self.training or self.p == 0 or x.device.type != "cpu" or torch.compiler.is_compiling():
            return super().forward(x)
        dropped = round(self.p * 2**16)
        numbers = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        return x * ((bits >= dropped - 2**15).to(x.dtype) * (2**16 / (2**16 - dropped)))
