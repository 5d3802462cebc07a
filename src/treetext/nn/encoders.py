"""Encoders: map the vectors of a sequence to semantic vectors and structure vectors."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.nn.buckets import Buckets, joined, permuted
from treetext.nn.checks import check_size, check_vectors


class Parts(NamedTuple):
    """The semantic and the structure vector of each position."""

    semantic: Float[Tensor, "b n k"]
    structure: Float[Tensor, "b n s"]


class FlatParts(NamedTuple):
    """The semantic and the structure vectors of several buckets, as flat matrices."""

    semantic: Float[Tensor, "p k"]
    structure: Float[Tensor, "p s"]


class BiLSTM(nn.Module):
    """A bidirectional LSTM whose outputs are split into a semantic and a structure part.

    `semantic` and `structure` are the sizes per direction. The parts of the two directions are concatenated, so outputs
    are twice as large; the attributes `semantic` and `structure` are the sizes of the outputs. `structure` may be 0.
    """

    def __init__(self, inputs: int, semantic: int, structure: int) -> None:
        super().__init__()
        self.inputs, self.semantic, self.structure = _checked(inputs, semantic, structure)
        self.rightward = nn.LSTM(inputs, semantic + structure)
        self.leftward = nn.LSTM(inputs, semantic + structure)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weights as Glorot and Bengio (2010) do for tanh. Biases are 0, but 1 for forget gates."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
                continue
            parameter.zero_()
            if "bias_ih" in name:  # only one of the two biases, since they are added
                _, forget, _, _ = parameter.chunk(4)
                forget.fill_(1)

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Parts:
        """The semantic and the structure vector of each position."""
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
    """The outputs of two recurrent layers. The second one reads each sequence from its end.

    Rows of `x` are time-major within each bucket; results are not.
    """
    otherwise, mirror, in_time = buckets.orders(x.device)
    there, back = (
        joined([layer(part)[0].flatten(0, 1) for part in buckets.split_time(flat)])
        for layer, flat in ((rightward, x), (leftward, permuted(x, mirror, mirror)))
    )
    return permuted(there, in_time, otherwise), permuted(back, mirror[in_time], otherwise[mirror])


class Feedforward(nn.Module):
    """One tanh layer with the output sizes of a `BiLSTM`. Words interact only in the attention."""

    def __init__(self, inputs: int, semantic: int, structure: int) -> None:
        super().__init__()
        self.inputs, self.semantic, self.structure = _checked(inputs, semantic, structure)
        self.layer = nn.Linear(inputs, self.semantic + self.structure)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weights as Glorot and Bengio (2010) do for tanh. Biases start at 0."""
        nn.init.xavier_uniform_(self.layer.weight)
        self.layer.bias.zero_()

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Parts:  # noqa: ARG002
        """The semantic and the structure vector of each position, which depend only on that position."""
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
    """A `Feedforward` layer without the tanh. The map is affine, so words whose vectors were added do not interact."""

    def _mapped(self, x: Tensor) -> Tensor:
        mapped: Tensor = self.layer(x)
        return mapped


class Local(nn.Module):
    """Semantic vectors of each word alone, by an affine map, and structure vectors of a `BiLSTM`.

    So words interact in the attention only, while the scores of arcs know the context of each word.
    """

    def __init__(self, inputs: int, semantic: int, structure: int) -> None:
        super().__init__()
        self.inputs, self.semantic, self.structure = _checked(inputs, semantic, structure)
        self.words = Affine(inputs, semantic, 0)
        self.context = BiLSTM(inputs, structure, 0) if structure else None

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Parts:
        """The semantic and the structure vector of each position."""
        check_vectors("x", x, self.inputs)
        buckets = Buckets.of([x.shape[:2]], [lengths])
        return Parts(*(buckets.split(y)[0] for y in self.encode(x.transpose(0, 1).flatten(0, 1), buckets)))

    def encode(self, x: Float[Tensor, "p d"], buckets: Buckets) -> FlatParts:
        """The same for several buckets at once. Rows of `x` are time-major within each bucket; results are not."""
        semantic, nothing = self.words.encode(x, buckets)
        return FlatParts(semantic, self.context.encode(x, buckets).semantic if self.context else nothing)


def _checked(inputs: int, semantic: int, structure: int) -> tuple[int, int, int]:
    """The sizes of the inputs and of the two outputs, checked."""
    check_size("inputs", inputs, 1)
    check_size("semantic", semantic, 1)
    check_size("structure", structure, 0)
    return inputs, 2 * semantic, 2 * structure
