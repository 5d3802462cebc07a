"""Log partition functions and marginals as differentiable functions of the scores.

The marginals are the gradient of log Z. Their Jacobian is the Hessian of log Z, which is symmetric. So the
vector-Jacobian product of a backward pass is the derivative of the marginals along that vector. The kernels compute it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from treetext.trees.checks import cast

Tensors = tuple[Tensor, ...]
"""A flat list for several batches: the arcs (B, n, n) and roots (B, n) of the first, those of the second, and so on."""
Derivative = Callable[..., Tensors]
"""From directions of the scores, one per argument, to the derivatives of the marginals along them."""
Engine = Callable[..., tuple[Tensors, Tensors, Derivative]]
"""Inference over several batches.

The arguments are the lengths (B,) of each batch, single_root, whether derivatives are needed, and the scores (float32
or float64), one per argument. The results are the marginals, log Z (B,) of each batch (float64, -inf if there is no
tree), and a function for derivatives.
"""
OneBatch = tuple[Tensor, Tensor, Tensor, Derivative]
"""Log Z, the marginals of arcs and of roots, and a function for derivatives."""


class Inference(NamedTuple):
    """Log Z and the marginals of a flat batch of problems."""

    log_partition: Tensor  # (B,) float64
    arcs: Tensor  # (B, n, n)
    roots: Tensor  # (B, n)


def infer(engine: Engine, scores: list[Tensor], lengths: list[Tensor], single_root: bool) -> list[Inference]:
    """Log Z (float64) and the marginals of arcs and roots of each batch, with gradients."""
    dtype = scores[0].dtype
    if dtype not in (torch.float32, torch.float64):
        scores = [x.float() for x in scores]
    flat = _Infer.apply(engine, lengths, single_root, torch.is_grad_enabled(), *scores)  # type: ignore[no-untyped-call]
    batches = zip(flat[len(scores) :], flat[: len(scores) : 2], flat[1 : len(scores) : 2], strict=True)
    return [Inference(log_z, cast(arcs, dtype), cast(roots, dtype)) for log_z, arcs, roots in batches]


def one_by_one(
    one: Callable[..., OneBatch], lengths: list[Tensor], single_root: bool, *scores: Tensor
) -> tuple[Tensors, Tensors, Derivative]:
    """Do the work of an engine by a function of the arcs, roots and lengths of one batch, and of single_root."""
    batches = zip(scores[::2], scores[1::2], lengths, strict=True)
    log_z, arcs, roots, derivatives = zip(*(one(*batch, single_root) for batch in batches), strict=True)

    def derivative(*directions: Tensor) -> Tensors:
        both = zip(derivatives, directions[::2], directions[1::2], strict=True)
        return tuple(x for each, *direction in both for x in each(*direction))

    return tuple(x for pair in zip(arcs, roots, strict=True) for x in pair), log_z, derivative


class _Infer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, engine: Engine, lengths: list[Tensor], single_root: bool, keep: bool, *scores: Tensor
    ) -> Tensors:
        ctx.set_materialize_grads(False)
        differentiable = keep and any(ctx.needs_input_grad)
        marginals, log_z, ctx.derivative = engine(lengths, single_root, differentiable, *scores)
        ctx.save_for_backward(*scores, *marginals)
        return *marginals, *log_z

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        half = len(saved) // 2
        scores, marginals = saved[:half], saved[half:]
        directions, from_log_z = grads[:half], grads[half:]
        wanted: list[Tensor | None] = [None] * half
        for i, grad in enumerate(from_log_z):
            if grad is not None:
                # The marginals are outputs of this function, so this product can be differentiated again.
                each = grad.to(marginals[0].dtype)
                wanted[2 * i] = each[:, None, None] * marginals[2 * i]
                wanted[2 * i + 1] = each[:, None] * marginals[2 * i + 1]
        if any(direction is not None for direction in directions):
            filled = [torch.zeros_like(p) if d is None else d for d, p in zip(directions, marginals, strict=True)]
            if torch.is_grad_enabled():
                more = _Derivative.apply(ctx.derivative, *scores, *filled)  # type: ignore[no-untyped-call]
            else:
                more = ctx.derivative(*filled)
            wanted = [x if w is None else w + x for w, x in zip(wanted, more, strict=True)]
        return None, None, None, None, *wanted


class _Derivative(torch.autograd.Function):
    """Raises an error if it is differentiated. Otherwise autograd would take it for a constant."""

    @staticmethod
    def forward(_: Any, derivative: Derivative, *tensors: Tensor) -> Tensors:
        return derivative(*tensors[len(tensors) // 2 :])  # the scores, in the first half, are there for the graph

    @staticmethod
    def backward(_: Any, *__: Tensor) -> Any:
        raise NotImplementedError("marginals of trees can be differentiated once, not twice")
