"""Decoding: the best tree, the k best trees, and the margin between the best two."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import fsum
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from treetext.trees.checks import check_scores, element
from treetext.trees.kernels import margin, spanning
from treetext.trees.kernels.eisner import trees as projective_trees
from treetext.trees.kernels.items import in_threads, with_root
from treetext.trees.tree import PAD

Decoder = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""From arcs (B, n, n), roots (B, n), lengths (B,) and single_root to the heads (B, n) of the best trees.

A row is all PAD if there is no tree. `spanning_heads` and `eisner` are decoders.
"""

LARGEST_BATCH = 2**22
"""The largest number of scores in one call of a decoder (32 MB), to limit memory."""


def max_spanning_tree(
    scores: Float[Tensor, "*batch n n"],
    roots: Float[Tensor, "*batch n"],
    lengths: Int[Tensor, "*batch"] | None = None,
    single_root: bool = True,
) -> Int[Tensor, "*batch n"]:
    """Heads of the highest-scoring tree of each problem, projective or not.

    ``scores[..., i, j]`` is the score of i being the parent of j; the diagonal is ignored. ``roots[..., i]``
    is the score of i being the root. ``lengths`` says how many of the n nodes are real (default: all).
    A score of -inf forbids an arc or a root. ``single_root=False`` allows a tree to have several roots.

    The heads are int64: ``ROOT`` (-1) is the head of a root, and ``PAD`` (-2) fills positions past the length.

    A tree takes O(n²) time. Decoding runs in float64 on the CPU: tensors on another device are copied there, and the
    heads are copied back.

    >>> max_spanning_tree(torch.tensor([[0.0, 5.0], [9.0, 0.0]]), torch.tensor([4.0, 1.0]))
    tensor([ 1, -1])
    """
    arcs, flat_roots, flat_lengths, batch_shape = check_scores(scores, roots, lengths, ("scores", "roots"))
    heads = spanning_heads(arcs, flat_roots, flat_lengths, single_root)
    without = (heads[:, 0] == PAD).nonzero()
    if len(without):
        kind = "tree with a single root" if single_root else "tree"
        where = element(int(without[0]), batch_shape)
        raise ValueError(f"scores: {where} has no tree: every {kind} uses something forbidden (-inf)")
    return heads.reshape(roots.shape)


def spanning_heads(
    arcs: Float[Tensor, "batch n n"],
    roots: Float[Tensor, "batch n"],
    lengths: Int[Tensor, " batch"],
    single_root: bool,
) -> Int[Tensor, "batch n"]:
    """`max_spanning_tree` for a flat batch of checked scores; a row of PAD if there is no tree."""
    heads = spanning.decode(_on_host(arcs), _on_host(roots), lengths.cpu().numpy(), single_root)
    return torch.from_numpy(heads).to(arcs.device)


def eisner(
    arcs: Float[Tensor, "B n n"], roots: Float[Tensor, "B n"], lengths: Int[Tensor, " B"], single_root: bool
) -> Int[Tensor, "B n"]:
    """The heads of the best projective tree of each problem; a row of PAD if there is no tree.

    Ties are always broken in the same way. Decoding runs in float64 on the CPU: tensors on another device are copied
    there, and the heads are copied back.
    """
    scores = with_root(arcs, roots).cpu()
    heads = torch.full(roots.shape, PAD)
    in_threads(projective_trees, scores, lengths.cpu(), single_root, scores.new_empty(1, len(scores), 0), heads[None])
    return heads.to(arcs.device)


def spanning_margins(
    arcs: Float[Tensor, "batch n n"], roots: Float[Tensor, "batch n"], lengths: Int[Tensor, " batch"], single_root: bool
) -> Float[Tensor, " batch"]:
    """The score of the best tree minus that of the second best (float64).

    It is inf if there is only one tree, and NaN if there is none.
    """
    margins = margin.spanning_margins(_on_host(arcs), _on_host(roots), lengths.cpu().numpy(), single_root)
    return torch.from_numpy(margins).to(arcs.device)


def projective_margins(
    arcs: Float[Tensor, "batch n n"], roots: Float[Tensor, "batch n"], lengths: Int[Tensor, " batch"], single_root: bool
) -> Float[Tensor, " batch"]:
    """`spanning_margins` for projective trees."""
    scores = with_root(arcs, roots).cpu()
    margins = scores.new_full((len(scores),), torch.nan)
    in_threads(margin.projective_margins, scores, lengths.cpu(), single_root, margins)
    return margins.to(arcs.device)


def top_trees(
    decode: Decoder,
    arcs: Float[Tensor, "batch n n"],
    roots: Float[Tensor, "batch n"],
    lengths: Int[Tensor, " batch"],
    single_root: bool,
    k: int,
) -> tuple[Int[Tensor, "{k} batch n"], Float[Tensor, "{k} batch"]]:
    """The heads of the k best trees of each problem, best first, and their scores (float64).

    If there are fewer than k trees, the remaining rows are PAD with a score of -inf.

    After Lawler (1972): the best tree divides all others into parts, by the first head in which they differ from it.
    The second best tree is the best tree of one of these parts. It divides that part again, and so on.
    """
    batch, n = roots.shape
    # The root scores become the last row, which is row ROOT = -1.
    scores = torch.cat([arcs, roots[:, None]], dim=1).detach().to("cpu", torch.float64)
    lengths = lengths.cpu()
    heads = torch.full((k, batch, n), PAD)
    totals = torch.full((k, batch), -torch.inf, dtype=torch.float64)
    parts = [Part(problem, (PAD,) * n, 0, frozenset()) for problem in range(batch)]
    candidates: list[list[Candidate]] = [[] for _ in range(batch)]  # heaps: the best comes first
    for rank in range(k):
        for best in _best_of_each(parts, decode, scores, lengths, single_root):
            heappush(candidates[best.part.problem], best)
        parts = []
        for problem, remaining in enumerate(candidates):
            if remaining:
                best = heappop(remaining)
                heads[rank, problem] = torch.tensor(best.heads)
                totals[rank, problem] = -best.cost
                parts += _divide(best.part, best.heads, int(lengths[problem]))
    # Rounding in the decoder can swap trees of nearly the same score.
    totals, order = totals.sort(dim=0, descending=True, stable=True)
    heads = heads.take_along_dim(order[:, :, None], dim=0)
    return heads.to(arcs.device), totals.to(arcs.device)


class Part(NamedTuple):
    """The trees of a problem that have the given heads before a position, and no banned head at it."""

    problem: int
    heads: tuple[int, ...]
    position: int
    banned: frozenset[int]


class Candidate(NamedTuple):
    """The best tree of a part. Candidates sort by score, then by heads: no tree is in two parts."""

    cost: float  # the score, negated
    heads: tuple[int, ...]
    part: Part


def _divide(part: Part, heads: tuple[int, ...], length: int) -> Iterator[Part]:
    """Divide a part without the tree that has these heads."""
    banned = part.banned
    for position in range(part.position, length):
        yield Part(part.problem, heads, position, banned | {heads[position]})
        banned = frozenset()


def _best_of_each(
    parts: list[Part], decode: Decoder, scores: Tensor, lengths: Tensor, single_root: bool
) -> Iterator[Candidate]:
    """The best tree of each part that has one."""
    size = max(1, LARGEST_BATCH // (scores.shape[1] * scores.shape[2]))
    for start in range(0, len(parts), size):
        some = parts[start : start + size]
        problems = [part.problem for part in some]
        allowed = _allowed_scores(scores[problems], some)
        heads = decode(allowed[:, :-1], allowed[:, -1], lengths[problems], single_root)
        chosen = allowed.take_along_dim(_rows(heads, allowed)[:, None], dim=1)[:, 0]
        chosen = chosen.masked_fill(heads == PAD, 0)
        for part, tree, terms in zip(some, heads.tolist(), chosen.tolist(), strict=True):
            if tree[0] != PAD:
                yield Candidate(-fsum(terms), tuple(tree), part)


def _allowed_scores(scores: Float[Tensor, "part head node"], parts: list[Part]) -> Float[Tensor, "part head node"]:
    """The scores of each part, with -inf for arcs of trees outside it."""
    fixed = _rows(torch.tensor([part.heads for part in parts]), scores)
    position = torch.tensor([part.position for part in parts])
    row, node = torch.arange(scores.shape[1]), torch.arange(scores.shape[2])
    other = (node < position[:, None, None]) & (row[:, None] != fixed[:, None])
    banned = [(index, head, part.position) for index, part in enumerate(parts) for head in part.banned]
    scores = scores.masked_fill(other, -torch.inf)
    scores[torch.tensor(banned, dtype=torch.int64).reshape(-1, 3).unbind(1)] = -torch.inf
    return scores


def _rows(heads: Tensor, scores: Tensor) -> Tensor:
    """The row of scores for each head: the last one for ROOT = -1, and any for PAD."""
    return heads % scores.shape[1]


def _on_host(scores: Tensor) -> NDArray[np.float64]:
    return scores.detach().to("cpu", torch.float64).contiguous().numpy()
