"""Exact and independent samples of trees, and noise for relaxed ones."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.trees.kernels import eisner, sampling
from treetext.trees.kernels.items import in_threads, with_root
from treetext.trees.kernels.threads import for_each, threads_worth
from treetext.trees.kernels.workspaces import Logs, Rows, make, release
from treetext.trees.tree import PAD


def sample_nonprojective(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, uniforms: Tensor) -> Tensor:
    """Heads (k, B, n) of k samples for each problem, from random numbers (k, B, 2n); PAD if there is no tree."""
    k, batch, n = len(uniforms), *roots.shape
    scores = [x.detach().to("cpu", torch.float64).contiguous().numpy() for x in (arcs, roots)]
    sizes, numbers = lengths.cpu().numpy(), uniforms.to("cpu").contiguous().numpy()
    heads = torch.full((k, batch, n), PAD)
    threads = min(batch, threads_worth(int(k * (sizes**4).sum() / 12)))

    def share(first: int) -> None:
        problems = np.arange(first, batch, threads)
        # Each does the problems beyond the range of the one before.
        for kind, priced in ((Rows, False), (Logs, False), (Logs, True)):
            if len(problems):
                work = make(kind, 4 * (n + 1) * n)
                again = sampling.sample(
                    work, *scores, sizes, problems, single_root, priced and single_root, numbers, heads.numpy()
                )
                problems = problems[again]
                release(work.value)

    for_each(share, range(threads))
    return heads.to(roots.device)


def sample_projective(
    arcs: Float[Tensor, "B n n"],
    roots: Float[Tensor, "B n"],
    lengths: Int[Tensor, " B"],
    single_root: bool,
    uniforms: Float[Tensor, "k B m"],
) -> Int[Tensor, "k B n"]:
    """The heads of k independent samples for each problem; rows of PAD if there is no tree.

    ``uniforms`` are random numbers in [0, 1). A tree of n words takes at most the first 2n of its m: for each word, one
    to choose its head and one to divide the words between them. Sampling runs in float64 on the CPU: tensors on another
    device are copied there, and the heads are copied back.
    """
    needed = uniforms_needed(roots.shape[1])
    if uniforms.shape[2] < needed:
        raise ValueError(f"uniforms: expected at least {needed} for each tree, got {uniforms.shape[2]}")
    scores = with_root(arcs, roots).cpu()
    heads = torch.full((len(uniforms), *roots.shape), PAD)
    in_threads(eisner.trees, scores, lengths.cpu(), single_root, uniforms.to("cpu", torch.float64), heads)
    return heads.to(arcs.device)


def uniforms_needed(n: int) -> int:
    """How many random numbers a sample of a tree of n words takes."""
    return 2 * n


def gumbel(like: Tensor, real: Tensor, generator: torch.Generator | None) -> Tensor:
    """Standard Gumbel noise where `real`, and 0 elsewhere. Only real elements take random numbers."""
    device = generator.device if generator else like.device
    draws = torch.empty(int(real.sum()), dtype=torch.float64, device=device).exponential_(generator=generator)
    noise = -draws.log().to(like.device, like.dtype)
    return torch.zeros_like(like).masked_scatter(real, noise)
