"""Log partition functions and marginals as differentiable functions of the scores.

The marginals are the gradient of log Z, and their Jacobian, the Hessian of log Z, is symmetric: so what backward
needs (a vector times the Jacobian) is the derivative of the marginals along that vector, which the kernels compute.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from treetext.trees._checks import cast

Scores = tuple[Tensor, Tensor]
"""Of arcs (B, n, n) and of roots (B, n); or their derivatives."""
Derivative = Callable[[list[Scores]], list[Scores]]
"""From directions in which the scores of each batch move to the derivatives of the marginals along these."""


class Inference(NamedTuple):
    """What a kernel finds for a flat batch of problems."""

    log_partition: Tensor  # (B,) float64; -inf where there is no tree
    arcs: Tensor  # (B, n, n)
    roots: Tensor  # (B, n)


class Problems(NamedTuple):
    """A flat batch, all of whose scores are float32, or float64."""

    arcs: Tensor  # (B, n, n)
    roots: Tensor  # (B, n)
    lengths: Tensor  # (B,)


Engine = Callable[[list[Problems], bool, bool], tuple[list[Inference], Derivative]]
"""From several batches, single_root, and whether derivatives are wanted."""


def infer(engine: Engine, batches: list[Problems], single_root: bool) -> list[Inference]:
    """Log Z (float64) and the marginals of arcs and roots of each batch, with gradients."""
    scores = [x for batch in batches for x in batch[:2]]
    lengths = [batch.lengths for batch in batches]
    flat = _Infer.apply(engine, lengths, single_root, torch.is_grad_enabled(), *scores)  # type: ignore[no-untyped-call]
    return [Inference(*flat[i : i + 3]) for i in range(0, len(flat), 3)]


class _Infer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, engine: Engine, lengths: list[Tensor], single_root: bool, keep: bool, *scores: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        kernel_type = torch.float64 if scores[0].dtype == torch.float64 else torch.float32
        pairs = _pairs([cast(x, kernel_type) for x in scores])
        batches = [Problems(*pair, sizes) for pair, sizes in zip(pairs, lengths, strict=True)]
        found, ctx.derivative = engine(batches, single_root, keep and any(ctx.needs_input_grad))
        ctx.kernel_type = kernel_type
        marginals = [cast(x, scores[0].dtype) for each in found for x in each[1:]]
        ctx.save_for_backward(*scores, *marginals)
        return tuple(
            x for each, pair in zip(found, _pairs(marginals), strict=True) for x in (each.log_partition, *pair)
        )

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        scores, marginals = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        wanted: list[Tensor | None] = [None] * len(scores)
        for i, grad_log_z in enumerate(grads[::3]):
            if grad_log_z is not None:
                # The marginals are outputs of this very function, so this can be differentiated again.
                each = grad_log_z.to(marginals[0].dtype)
                wanted[2 * i] = each[:, None, None] * marginals[2 * i]
                wanted[2 * i + 1] = each[:, None] * marginals[2 * i + 1]
        directions = [grad for i, grad in enumerate(grads) if i % 3]
        if any(grad is not None for grad in directions):
            filled = [torch.zeros_like(p) if d is None else d for d, p in zip(directions, marginals, strict=True)]
            derive = _Derivative.apply if torch.is_grad_enabled() else _derivatives
            more = derive(ctx.derivative, ctx.kernel_type, *scores, *filled)
            wanted = [x if w is None else w + x for w, x in zip(wanted, more, strict=True)]
        return None, None, None, None, *wanted


def _derivatives(derivative: Derivative, kernel_type: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:
    scores, directions = tensors[: len(tensors) // 2], tensors[len(tensors) // 2 :]
    found = derivative(_pairs([cast(x, kernel_type) for x in directions]))
    return tuple(cast(x, scores[0].dtype) for pair in found for x in pair)


def _pairs(tensors: Sequence[Tensor]) -> list[Scores]:
    return list(zip(tensors[::2], tensors[1::2], strict=True))


class _Derivative(torch.autograd.Function):
    """The same, but it refuses to be differentiated in its turn instead of passing for a constant."""

    @staticmethod
    def forward(_: Any, *args: Any) -> tuple[Tensor, ...]:
        return _derivatives(*args)

    @staticmethod
    def backward(_: Any, *__: Tensor) -> Any:
        raise NotImplementedError("marginals of trees can be differentiated once, not twice")
