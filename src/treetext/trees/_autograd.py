"""Log partition functions and marginals as differentiable functions of the scores.

The marginals are the gradient of log Z, and their Jacobian, the Hessian of log Z, is symmetric: so what backward
needs (a vector times the Jacobian) is the derivative of the marginals along that vector, which the kernels compute.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from treetext.trees._checks import cast

Derivative = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From a direction (arcs, roots) in which the scores move to the derivatives of the marginals along it."""


class Inference(NamedTuple):
    """What a kernel finds for a flat batch of problems."""

    log_partition: Tensor  # (B,) float64; -inf where there is no tree
    arcs: Tensor  # (B, n, n)
    roots: Tensor  # (B, n)
    derivative: Derivative


Engine = Callable[[Tensor, Tensor, Tensor, bool, bool], Inference]
"""From float32 or float64 arcs (B, n, n) and roots (B, n), lengths, single_root, and whether derivatives are wanted."""


def infer(
    engine: Engine, arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Log Z (float64) and the marginals of arcs and roots, with gradients."""
    log_z, p_arcs, p_roots = _Infer.apply(engine, arcs, roots, lengths, single_root, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
    return log_z, p_arcs, p_roots


class _Infer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, engine: Engine, arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, keep: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        kernel_type = torch.float64 if arcs.dtype == torch.float64 else torch.float32
        scores = cast(arcs, kernel_type), cast(roots, kernel_type)
        found = engine(*scores, lengths, single_root, keep and any(ctx.needs_input_grad))
        ctx.derivative, ctx.kernel_type = found.derivative, kernel_type
        p_arcs, p_roots = cast(found.arcs, arcs.dtype), cast(found.roots, arcs.dtype)
        ctx.save_for_backward(arcs, roots, p_arcs, p_roots)
        return found.log_partition, p_arcs, p_roots

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        grad_log_z, grad_arcs, grad_roots = grads
        arcs, roots, p_arcs, p_roots = ctx.saved_tensors
        d_arcs: Tensor | None = None
        d_roots: Tensor | None = None
        if grad_log_z is not None:
            # The marginals are outputs of this very function, so this can be differentiated again.
            each = grad_log_z.to(p_arcs.dtype)
            d_arcs, d_roots = each[:, None, None] * p_arcs, each[:, None] * p_roots
        if grad_arcs is not None or grad_roots is not None:
            grad_arcs = torch.zeros_like(p_arcs) if grad_arcs is None else grad_arcs
            grad_roots = torch.zeros_like(p_roots) if grad_roots is None else grad_roots
            derive = _Derivative.apply if torch.is_grad_enabled() else _derivative
            more_arcs, more_roots = derive(ctx.derivative, ctx.kernel_type, arcs, roots, grad_arcs, grad_roots)
            d_arcs = more_arcs if d_arcs is None else d_arcs + more_arcs
            d_roots = more_roots if d_roots is None else d_roots + more_roots
        return None, d_arcs, d_roots, None, None, None


def _derivative(
    derivative: Derivative, kernel_type: torch.dtype, arcs: Tensor, roots: Tensor, d_arcs: Tensor, d_roots: Tensor
) -> tuple[Tensor, Tensor]:
    found_arcs, found_roots = derivative(cast(d_arcs, kernel_type), cast(d_roots, kernel_type))
    return cast(found_arcs, arcs.dtype), cast(found_roots, roots.dtype)


class _Derivative(torch.autograd.Function):
    """The same, but it refuses to be differentiated in its turn instead of passing for a constant."""

    @staticmethod
    def forward(_: Any, *args: Any) -> tuple[Tensor, Tensor]:
        return _derivative(*args)

    @staticmethod
    def backward(_: Any, *__: Tensor) -> Any:
        raise NotImplementedError("marginals of trees can be differentiated once, not twice")
