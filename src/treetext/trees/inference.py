"""Inference: log partition functions, marginals and their derivatives. Chooses the kernel for each problem.

On the CPU, the inverse of the Laplacian does nearly all non-projective problems. It detects the problems in which it
loses too many digits. Leave-one-out elimination does these: in floats or, if floats do not hold the range, in
logarithms. The choice for a problem depends on that problem alone, never on the rest of the batch or on padding.
Inside-outside does projective problems. Other devices use tensor operations.
"""

import threading
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.trees.autograd import Derivative, OneBatch, Tensors, one_by_one
from treetext.trees.kernels import (
    inside_outside,
    inside_outside_torch,
    inverse,
    leave_one_out,
    nonprojective_torch,
)
from treetext.trees.kernels.items import in_threads, with_root, without_root
from treetext.trees.kernels.shares import Share, Shares, Work, divide, each_share
from treetext.trees.kernels.workspaces import release, with_tangents


def nonprojective(
    lengths: list[Tensor], single_root: bool, differentiable: bool, *scores: Tensor
) -> tuple[Tensors, Tensors, Derivative]:
    """Inference over batches of non-projective problems, and a function for derivatives (only if `differentiable`)."""
    if scores[0].device.type != "cpu":
        return one_by_one(nonprojective_torch.marginals, lengths, single_root, *scores)
    arrays = [x.contiguous().numpy() for x in scores]
    works = [Work(i, arrays[2 * i : 2 * i + 2], n.numpy(), differentiable) for i, n in enumerate(lengths)]
    marginals = [np.zeros(x.shape, x.dtype) for x in arrays]
    log_z = [np.empty(len(work.sizes)) for work in works]

    def infer(work: Work, share: Share) -> bool:
        out = log_z[work.index], marginals[2 * work.index], marginals[2 * work.index + 1]
        trusted: bool = inverse.marginals(
            share.work, share.stride, *work.scores, work.sizes, share.problems, single_root, *out
        )
        return trusted

    if not all(each_share(works, infer)):
        for i, work in enumerate(works):
            work.distrusted = np.flatnonzero(np.isnan(log_z[i]))
            out = log_z[i], *marginals[2 * i : 2 * i + 2]
            _eliminate(work, single_root, work.scores, *out)

    lock = threading.Lock()  # derivatives write to the workspaces that inference keeps

    # Autograd keeps this function as long as the results. So it must not refer to them, or they would never be freed.
    def derivative(*directions: Tensor) -> Tensors:
        along = [x.contiguous().numpy() for x in directions]
        derived = [np.zeros(x.shape, x.dtype) for x in along]

        def differentiate(work: Work, share: Share) -> None:
            i, space = 2 * work.index, with_tangents(share.work, inverse.tangents_size(share.size))
            args = work.sizes, share.problems, single_root, along[i], along[i + 1], derived[i], derived[i + 1]
            inverse.derivatives(space, share.stride, *args)
            release(space.tangent)

        with lock:
            each_share(works, differentiate)
        for i, work in enumerate(works):
            if len(work.distrusted):
                here, nowhere = slice(2 * i, 2 * i + 2), np.empty(len(work.sizes))
                _eliminate(work, single_root, along[here], nowhere, *derived[here], tangents=True)
        return tuple(map(torch.from_numpy, derived))

    return tuple(map(torch.from_numpy, marginals)), tuple(map(torch.from_numpy, log_z)), derivative


def projective(
    lengths: list[Tensor], single_root: bool, _: bool, *scores: Tensor
) -> tuple[Tensors, Tensors, Derivative]:
    """Inference over batches of projective problems, and a function for derivatives."""

    def one(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> OneBatch:
        problems = arcs, roots, lengths, single_root
        return *projective_marginals(*problems), partial(projective_derivatives, *problems)

    return one_by_one(one, lengths, single_root, *scores)


def projective_marginals(
    arcs: Float[Tensor, "B n n"], roots: Float[Tensor, "B n"], lengths: Int[Tensor, " B"], single_root: bool
) -> tuple[Float[Tensor, " B"], Float[Tensor, "B n n"], Float[Tensor, "B n"]]:
    """The log partition function, in float64, and the marginals of arcs and roots.

    If there is no tree, the log partition function is -inf and all marginals are 0.
    """
    scores = with_root(arcs, roots)
    if scores.device.type != "cpu":
        log_z, marginals = inside_outside_torch.marginals(scores, lengths, single_root)
    else:
        log_z, marginals = scores.new_empty(len(scores)), torch.zeros_like(scores)
        in_threads(inside_outside.marginals, scores, lengths, single_root, log_z, marginals)
    return log_z, *without_root(marginals, arcs.dtype)


def projective_derivatives(
    arcs: Float[Tensor, "B n n"],
    roots: Float[Tensor, "B n"],
    lengths: Int[Tensor, " B"],
    single_root: bool,
    d_arcs: Float[Tensor, "B n n"],
    d_roots: Float[Tensor, "B n"],
) -> tuple[Float[Tensor, "B n n"], Float[Tensor, "B n"]]:
    """The derivatives of the marginals of arcs and roots along a direction.

    The Hessian of the log partition function is symmetric, so this is the vector-Jacobian product as well.
    """
    scores, direction = with_root(arcs, roots), with_root(d_arcs, d_roots)
    if scores.device.type != "cpu":
        derivatives = inside_outside_torch.marginals_jvp(scores, lengths, single_root, direction)
    else:
        derivatives = torch.zeros_like(scores)
        in_threads(inside_outside.derivatives, scores, lengths, single_root, direction, derivatives)
    return without_root(derivatives, arcs.dtype)


def _eliminate(work: Work, single_root: bool, direction: Any, log_z: Any, *out: Any, tangents: bool = False) -> None:
    """Leave-one-out elimination in floats and, for problems beyond their range, in logarithms."""
    problems, sizes, size = work.distrusted, work.sizes, leave_one_out.workspace_size

    def eliminate(priced: bool, s: Share) -> None:
        space = with_tangents(s.work, size(s.size)) if tangents else s.work
        leave_one_out.marginals(
            space, *work.scores, sizes, s.problems, single_root, priced and single_root, *direction, log_z, *out
        )
        release(space.tangent)

    for in_logs, priced in ((False, False), (True, False), (True, True)):
        if len(problems):
            Shares(divide(problems, sizes, in_logs), size).each(partial(eliminate, priced))
            problems = problems[np.isnan(log_z[problems])]
