"""Encoders: from the vectors of a sequence to semantic vectors and structure vectors."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.nn._checks import check_size, check_vectors, is_real


class Encoded(NamedTuple):
    """What each word means, and what decides its place in the tree."""

    semantic: Float[Tensor, "b n k"]
    structure: Float[Tensor, "b n s"]


class BiLSTM(nn.Module):
    """An LSTM in each direction, each with outputs of size `semantic` + `structure`, split into these parts.

    The parts of the two directions are put side by side: so what comes out is twice as large as what is asked for, and
    the attributes `semantic` and `structure` say how large. The size of the structure may be 0.
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

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Encoded:
        """Semantic and structure vectors of each position."""
        check_vectors("x", x, self.inputs)
        order = _reversal(x, lengths)
        x = x.transpose(0, 1).contiguous()  # time first, as torch's kernels want it
        there, _ = self.rightward(x)
        back, _ = self.leftward(_reverse(x, order))
        sizes = [self.semantic // 2, self.structure // 2]
        halves = (torch.split(y.transpose(0, 1), sizes, -1) for y in (there, _reverse(back, order)))
        return Encoded(*(torch.cat(both, -1) for both in zip(*halves, strict=True)))


class Feedforward(nn.Module):
    """One tanh layer with outputs as large as a `BiLSTM`'s: words meet in the attention only."""

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

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Encoded:  # noqa: ARG002
        """Semantic and structure vectors of each position, from that position alone."""
        check_vectors("x", x, self.inputs)
        return Encoded(*torch.split(torch.tanh(self.layer(x)), [self.semantic, self.structure], -1))


def _checked(inputs: int, semantic: int, structure: int) -> tuple[int, int, int]:
    """The size of what comes in, and of the two that come out."""
    check_size("inputs", inputs, 1)
    check_size("semantic", semantic, 1)
    check_size("structure", structure, 0)
    return inputs, 2 * semantic, 2 * structure


def _reversal(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Which row of x, flat and time first, goes where to reverse each sequence within its length."""
    b, n = x.shape[:2]
    position = torch.arange(n, device=x.device)[:, None]
    if lengths is None:
        time = n - 1 - position.expand(n, b)
    else:
        time = torch.where(is_real(lengths, x).T, lengths - 1 - position, position)
    return (time * b + torch.arange(b, device=x.device)).flatten()


def _reverse(x: Tensor, order: Tensor) -> Tensor:
    reversed_: Tensor = _Reverse.apply(x, order)  # type: ignore[no-untyped-call]
    return reversed_


class _Reverse(torch.autograd.Function):
    """Reversing undoes itself, so that its gradient takes no scatter, only the same cheap gather."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        return x.flatten(0, 1).index_select(0, order).view(x.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _reverse(grad, *ctx.saved_tensors), None
