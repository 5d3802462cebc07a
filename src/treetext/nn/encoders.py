"""Encoders: from the vectors of a sequence to semantic vectors and structure vectors."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.nn.buckets import Buckets, joined, permuted
from treetext.nn.checks import check_size, check_vectors


class Parts(NamedTuple):
    """The semantic and the structure part of each word."""

    semantic: Float[Tensor, "b n k"]
    structure: Float[Tensor, "b n s"]


class FlatParts(NamedTuple):
    """The same of several buckets, as flat matrices."""

    semantic: Float[Tensor, "p k"]
    structure: Float[Tensor, "p s"]


class BiLSTM(nn.Module):
    """An LSTM in each direction, each with outputs of size `semantic` + `structure`, split into these parts.

    The parts of the two directions are concatenated: each output is twice as large as the argument says, and the
    attributes `semantic` and `structure` hold the sizes of the outputs. The size of the structure may be 0.
    """

    def __init__(self, inputs: int, semantic: int, structure: int) -> None:
        super().__init__()
        self.inputs, self.semantic, self.structure = _checked(inputs, semantic, structure)
        self.rightward = nn.LSTM(inputs, semantic + structure)
        self.leftward = nn.LSTM(inputs, semantic + structure)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weights after Glorot and Bengio (2010), whose setting is tanh; biases are 0, but 1 for forget gates."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
                continue
            parameter.zero_()
            if "bias_ih" in name:  # of the two biases, which are added
                _, forget, _, _ = parameter.chunk(4)
                forget.fill_(1)

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Parts:
        """Semantic and structure vectors of each position."""
        check_vectors("x", x, self.inputs)
        buckets = Buckets.of([x.shape[:2]], [lengths])
        return Parts(*(buckets.split(y)[0] for y in self.encode(x.transpose(0, 1).flatten(0, 1), buckets)))

    def encode(self, x: Float[Tensor, "p d"], buckets: Buckets) -> FlatParts:
        """The same for several buckets at once. Rows of `x` are time-major within each bucket; results are not."""
        sizes = [self.semantic // 2, self.structure // 2]
        halves = (torch.split(y, sizes, -1) for y in both_directions(self.rightward, self.leftward, x, buckets))
        return FlatParts(*(torch.cat(both, -1) for both in zip(*halves, strict=True)))


def both_directions(
    rightward: nn.RNNBase, leftward: nn.RNNBase, x: Float[Tensor, "p d"], buckets: Buckets
) -> tuple[Float[Tensor, "p h"], Float[Tensor, "p h"]]:
    """The outputs of two recurrent layers, the second of which reads each sequence from its end.

    Rows of `x` are time-major within each bucket; results are not.
    """
    otherwise, mirror, in_time = buckets.orders(x.device)
    there, back = (
        joined([layer(part)[0].flatten(0, 1) for part in buckets.split_time(flat)])
        for layer, flat in ((rightward, x), (leftward, permuted(x, mirror, mirror)))
    )
    return permuted(there, in_time, otherwise), permuted(back, mirror[in_time], otherwise[mirror])


class Feedforward(nn.Module):
    """One tanh layer with outputs as large as a `BiLSTM`'s: words interact in the attention only."""

    def __init__(self, inputs: int, semantic: int, structure: int) -> None:
        super().__init__()
        self.inputs, self.semantic, self.structure = _checked(inputs, semantic, structure)
        self.layer = nn.Linear(inputs, self.semantic + self.structure)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weights after Glorot and Bengio (2010), whose setting is tanh; biases start at 0."""
        nn.init.xavier_uniform_(self.layer.weight)
        self.layer.bias.zero_()

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Parts:  # noqa: ARG002
        """Semantic and structure vectors of each position, from that position alone."""
        check_vectors("x", x, self.inputs)
        return Parts(*torch.split(self._mapped(x), [self.semantic, self.structure], -1))

    def encode(self, x: Float[Tensor, "p d"], buckets: Buckets) -> FlatParts:
        """The same for several buckets at once. Rows of `x` are time-major within each bucket; results are not."""
        otherwise, _, in_time = buckets.orders(x.device)
        y = permuted(self._mapped(x), in_time, otherwise)
        return FlatParts(*torch.split(y, [self.semantic, self.structure], -1))

    def _mapped(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x))


class Affine(Feedforward):
    """The same without the tanh: the map is linear, so words that were added up do not interact here."""

    def _mapped(self, x: Tensor) -> Tensor:
        mapped: Tensor = self.layer(x)
        return mapped


def _checked(inputs: int, semantic: int, structure: int) -> tuple[int, int, int]:
    """The size of the inputs, and of the two outputs."""
    check_size("inputs", inputs, 1)
    check_size("semantic", semantic, 1)
    check_size("structure", structure, 0)
    return inputs, 2 * semantic, 2 * structure
