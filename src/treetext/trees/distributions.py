"""Probability distributions over dependency trees: one interface for projective and non-projective trees."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.trees.autograd import Derivative, Inference, Tensors, infer
from treetext.trees.checks import check_scores, element, shaped
from treetext.trees.counting import log_count
from treetext.trees.decoding import eisner, projective_margins, spanning_heads, spanning_margins, top_trees
from treetext.trees.inference import nonprojective, projective
from treetext.trees.sampling import gumbel, sample_nonprojective, sample_projective
from treetext.trees.tree import PAD, ROOT


class Marginals(NamedTuple):
    """The probability of each arc and of each root."""

    arcs: Float[Tensor, "*batch n n"]
    """``arcs[..., i, j]``: the probability that i is the parent of j."""
    roots: Float[Tensor, "*batch n"]
    """``roots[..., i]``: the probability that i is a root."""

    @classmethod
    def of(cls, heads: Int[Tensor, "*batch n"], dtype: torch.dtype) -> "Marginals":
        """1 for the arcs and the root of a tree, 0 for all others."""
        parents = torch.arange(heads.shape[-1], device=heads.device)[:, None]
        return cls((heads[..., None, :] == parents).to(dtype), (heads == ROOT).to(dtype))


class Top(NamedTuple):
    """Trees, best first. If there are too few, the remaining rows are ``PAD`` with a log probability of -inf."""

    heads: Int[Tensor, "k *batch n"]
    log_probs: Float[Tensor, "k *batch"]


class TreeDistribution(ABC):
    """A distribution over the dependency trees of each problem of a batch.

    The probability of a tree is proportional to the exponential of its score, which is the sum of the scores of its
    arcs and of its root. ``arcs[..., i, j]`` is the score of i being the parent of j; the diagonal is ignored.
    ``roots[..., i]`` is the score of i being a root. ``lengths`` says how many of the n nodes are real (default: all).
    A score of -inf forbids an arc or a root. ``single_root=False`` allows trees with several roots.

    Scores may be large (in the thousands) and may conflict: marginals are right to about the last digit of float32. On
    the CPU, a problem gives the same bits alone as padded in any batch. Results past the length are 0, and heads there
    are ``PAD`` (-2). The head of a root is ``ROOT`` (-1).

    ``log_partition``, ``marginals``, ``log_prob``, ``entropy``, ``cross_entropy``, ``kl`` and the marginals of
    ``perturbed`` and ``straight_through`` have gradients with respect to both scores. Trees (``mode``, ``mbr``,
    ``sample``, ``top``) are computed on the CPU: scores on another device are copied there, and the heads are copied
    back.
    """

    _projective: ClassVar[bool]

    def __init__(
        self,
        arcs: Float[Tensor, "*batch n n"],
        roots: Float[Tensor, "*batch n"],
        lengths: Int[Tensor, "*batch"] | None = None,
        single_root: bool = True,
    ) -> None:
        self._arcs, self._roots, self._lengths, self.batch_shape = check_scores(arcs, roots, lengths)
        self.arcs, self.roots, self.single_root = arcs, roots, single_root

    @property
    def lengths(self) -> Int[Tensor, "*batch"]:
        """How many nodes of each problem are real."""
        return self._lengths.reshape(self.batch_shape).clone()

    @cached_property
    def log_partition(self) -> Float[Tensor, "*batch"]:
        """The log partition function: the logarithm of the sum, over all trees, of the exponentials of their scores."""
        return shaped(self._inference[0].to(self.arcs.dtype), self.batch_shape)

    @cached_property
    def marginals(self) -> Marginals:
        """The probability of each arc and of each root."""
        _, arcs, roots = self._inference
        return Marginals(shaped(arcs, self.arcs.shape), shaped(roots, self.roots.shape))

    def log_prob(self, heads: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
        """The log probability of a tree for each problem: -inf if the heads are not a tree of this kind.

        Heads past the lengths are ignored.
        """
        if heads.is_floating_point() or heads.dtype == torch.bool:
            raise TypeError(f"heads: expected a tensor of integers, got {heads.dtype}")
        if heads.shape != self.roots.shape:
            raise ValueError(f"heads: expected shape {tuple(self.roots.shape)}, got {tuple(heads.shape)}")
        if heads.device != self.roots.device:
            raise ValueError(f"heads: expected a tensor on {self.roots.device} as the scores are, got {heads.device}")
        position = torch.arange(heads.shape[-1], device=heads.device)
        padding = position >= self._lengths[:, None]
        flat = heads.reshape(self._roots.shape).to(torch.int64).masked_fill(padding, ROOT)
        possible = _are_trees(flat, self._lengths, self.single_root) & self._is_of_this_kind(flat)
        arc = self._arcs.gather(1, flat.clamp(0, len(position) - 1)[:, None])[:, 0]
        score = _total(torch.where(flat == ROOT, self._roots, arc).double().masked_fill(padding, 0))
        log_prob = (score - self._inference[0]).masked_fill(~possible, -torch.inf)
        return log_prob.to(self.arcs.dtype).reshape(self.batch_shape)

    @cached_property
    def entropy(self) -> Float[Tensor, "*batch"]:
        """The entropy in nats: from 0 for one certain tree to the logarithm of the number of trees."""
        return self.cross_entropy(self)

    @cached_property
    def max_entropy(self) -> Float[Tensor, "*batch"]:
        """The entropy of the uniform distribution: the logarithm of the number of trees, including forbidden ones."""
        return self._max_entropy.to(self.arcs.dtype).reshape(self.batch_shape)

    @cached_property
    def entropy_share(self) -> Float[Tensor, "*batch"]:
        """The entropy divided by ``max_entropy``: from 0 to 1, and 0 for a single node.

        >>> ProjectiveTrees(torch.zeros(10, 10), torch.zeros(10)).entropy_share
        tensor(1.)
        """
        # In float64, since a quotient of rounded numbers could exceed 1 by much more.
        entropy = self._in_float64.entropy.reshape(-1)
        largest = self._max_entropy
        share = (entropy / largest.masked_fill(largest == 0, 1)).clamp(max=1)
        return share.to(self.arcs.dtype).reshape(self.batch_shape)

    def cross_entropy(self, other: "TreeDistribution") -> Float[Tensor, "*batch"]:
        """The expected negative log probability under `other` of a tree from this distribution."""
        self._check_same_kind(other)
        # In float64, since large terms cancel.
        mine, theirs = self._in_float64, other._in_float64
        _, p_arcs, p_roots = mine._inference
        score = _total(_total(_expected(p_arcs, theirs._arcs)) + _expected(p_roots, theirs._roots))
        cross = theirs._inference[0] - score
        if other is self:
            cross = cross.clamp(min=0)  # rounding
        return cross.to(self.arcs.dtype).reshape(self.batch_shape)

    def kl(self, other: "TreeDistribution") -> Float[Tensor, "*batch"]:
        """The Kullback-Leibler divergence of `other` from this distribution."""
        self._check_same_kind(other)
        mine, theirs = self._in_float64, other._in_float64
        return (mine.cross_entropy(theirs) - mine.entropy).clamp(min=0).to(self.arcs.dtype)

    def mode(self) -> Int[Tensor, "*batch n"]:
        """The heads of the most probable tree."""
        return self._one_each(self._arcs, self._roots)

    def mbr(self) -> Int[Tensor, "*batch n"]:
        """Minimum Bayes risk decoding: the heads of the tree with the largest expected number of correct heads."""
        _, p_arcs, p_roots = self._inference
        return self._one_each(
            p_arcs.detach().masked_fill(self._arcs == -torch.inf, -torch.inf),
            p_roots.detach().masked_fill(self._roots == -torch.inf, -torch.inf),
        )

    def sample(self, k: int, generator: torch.Generator | None = None) -> Int[Tensor, "{k} *batch n"]:
        """The heads of k exact and independent samples."""
        _check_count(k)
        batch, n = self._roots.shape
        device = generator.device if generator else "cpu"
        uniforms = torch.rand(k, batch, 2 * n, dtype=torch.float64, generator=generator, device=device)
        heads = self._sample(self._arcs, self._roots, self._lengths, self.single_root, uniforms)
        self._check_trees(heads[0, :, 0] != PAD)
        return heads.reshape(k, *self.roots.shape)

    def perturbed(self, noise: float = 1.0, temperature: float = 1.0, generator: torch.Generator | None = None) -> Self:
        """The distribution of ``(scores + noise * g) / temperature``, with independent standard Gumbel noise g.

        Its marginals are a relaxed sample (Paulus et al. 2020), with gradients with respect to the scores. Towards
        temperature 0, they become the tree with the best perturbed score. Padding takes no random numbers: a batch
        gets the same noise, however far it is padded.
        """
        if not 0 <= noise < math.inf:
            raise ValueError(f"noise: expected a number of 0 or more, got {noise}")
        if not 0 < temperature < math.inf:
            raise ValueError(f"temperature: expected a number above 0, got {temperature}")
        real = torch.arange(self._roots.shape[-1], device=self._roots.device) < self._lengths[:, None]
        arcs = self._arcs + noise * gumbel(self._arcs, real[:, :, None] & real[:, None], generator)
        roots = self._roots + noise * gumbel(self._roots, real, generator)
        scores = arcs.reshape(self.arcs.shape) / temperature, roots.reshape(self.roots.shape) / temperature
        return type(self)(*scores, self.lengths, self.single_root)

    def straight_through(self) -> Marginals:
        """The mode as arcs and roots that are 0 or 1, with the gradients of the marginals (Bengio et al. 2013)."""
        # A number minus itself is 0, so adding the difference changes no bit of the tree.
        tree = Marginals.of(self.mode(), self.arcs.dtype)
        return Marginals(*(hard + (soft - soft.detach()) for hard, soft in zip(tree, self.marginals, strict=True)))

    def top(self, k: int) -> Top:
        """The k most probable trees, best first."""
        _check_count(k)
        heads, scores = top_trees(self._decode, self._arcs, self._roots, self._lengths, self.single_root, k)
        log_probs = (scores - self._inference[0].detach()).to(self.arcs.dtype)
        return Top(heads.reshape(k, *self.roots.shape), log_probs.reshape(k, *self.batch_shape))

    def margin(self) -> Float[Tensor, "*batch"]:
        """The log probability of the best tree minus that of the second best: inf if there is only one tree."""
        margins = self._margins(self._arcs, self._roots, self._lengths, self.single_root)
        self._check_trees(~margins.isnan())
        return margins.to(self.arcs.dtype).reshape(self.batch_shape)

    @staticmethod
    @abstractmethod
    def _infer(
        lengths: list[Tensor], single_root: bool, differentiable: bool, *scores: Tensor
    ) -> tuple[Tensors, Tensors, Derivative]:
        """Log partition functions and marginals of several batches: an `Engine`."""

    @staticmethod
    @abstractmethod
    def _decode(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """Heads of the best trees, PAD if there is no tree: a `Decoder`."""

    @staticmethod
    @abstractmethod
    def _margins(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """The score of the best tree minus that of the second best; NaN if there is no tree."""

    @staticmethod
    @abstractmethod
    def _sample(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, uniforms: Tensor) -> Tensor:
        """Heads of samples (k, B, n), from random numbers (k, B, 2n); PAD if there is no tree."""

    @staticmethod
    @abstractmethod
    def _is_of_this_kind(heads: Tensor) -> Tensor:
        """Whether trees are in the support of this distribution, if no arc is forbidden."""

    @cached_property
    def _inference(self) -> Inference:
        infer_together([self])
        inference: Inference = self.__dict__["_inference"]
        return inference

    @property
    def _max_entropy(self) -> Tensor:
        counts = [log_count(n, self._projective, self.single_root) for n in self._lengths.tolist()]
        return torch.tensor(counts, dtype=torch.float64, device=self.arcs.device)

    @property
    def _in_float64(self) -> "TreeDistribution":
        return self if self.arcs.dtype == torch.float64 else self._copy_in_float64

    @cached_property
    def _copy_in_float64(self) -> "TreeDistribution":
        return type(self)(self.arcs.double(), self.roots.double(), self.lengths, self.single_root)

    def _one_each(self, arcs: Tensor, roots: Tensor) -> Tensor:
        heads = self._decode(arcs, roots, self._lengths, self.single_root)
        self._check_trees(heads[:, 0] != PAD)
        return heads.reshape(self.roots.shape)

    def _check_trees(self, has_tree: Tensor) -> None:
        if not has_tree.all():
            where = element(int((~has_tree).nonzero()[0]), self.batch_shape)
            raise ValueError(f"arcs, roots: {where} has no tree: every one uses something forbidden (-inf)")

    def _check_same_kind(self, other: "TreeDistribution") -> None:
        if type(other) is not type(self) or other.single_root != self.single_root:
            mine, theirs = ((type(d).__name__, f"single_root={d.single_root}") for d in (self, other))
            raise ValueError(f"other: expected {' with '.join(mine)}, got {' with '.join(theirs)}")
        if other.roots.shape != self.roots.shape:
            raise ValueError(f"other: expected shape {tuple(self.roots.shape)}, got {tuple(other.roots.shape)}")
        if not torch.equal(other._lengths, self._lengths):
            b = int((other._lengths != self._lengths).nonzero()[0])
            lengths = f"expected length {int(self._lengths[b])}, got {int(other._lengths[b])}"
            raise ValueError(f"other: {element(b, self.batch_shape)}: {lengths}")


def infer_together(distributions: "Sequence[TreeDistribution]") -> None:
    """Run inference for several distributions of one kind at once. This is faster than one by one."""
    first = distributions[0]
    scores, lengths = [x for d in distributions for x in (d._arcs, d._roots)], [d._lengths for d in distributions]
    # The results are cached, so they must have gradients even if gradients are switched off now.
    with nullcontext() if torch.is_grad_enabled() or torch.is_inference_mode_enabled() else torch.enable_grad():
        inferences = infer(first._infer, scores, lengths, first.single_root)
    for distribution, inference in zip(distributions, inferences, strict=True):
        log_z = inference.log_partition.detach()
        if log_z.numel() and log_z.min().item() == -torch.inf:
            distribution._check_trees(log_z != -torch.inf)
        distribution.__dict__["_inference"] = inference


class NonProjectiveTrees(TreeDistribution):
    """The distribution over all dependency trees, whether their arcs cross or not.

    The Matrix-Tree theorem gives the marginals (Koo et al. 2007), in a numerically stable form.

    >>> arcs, roots = torch.zeros(3, 3), torch.tensor([0.0, 0.0, 1.0])
    >>> NonProjectiveTrees(arcs, roots).marginals.roots
    tensor([0.2119, 0.2119, 0.5761])
    """

    _projective = False

    @staticmethod
    def _infer(
        lengths: list[Tensor], single_root: bool, differentiable: bool, *scores: Tensor
    ) -> tuple[Tensors, Tensors, Derivative]:
        return nonprojective(lengths, single_root, differentiable, *scores)

    @staticmethod
    def _decode(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        return spanning_heads(arcs, roots, lengths, single_root)

    @staticmethod
    def _margins(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        return spanning_margins(arcs, roots, lengths, single_root)

    @staticmethod
    def _sample(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, uniforms: Tensor) -> Tensor:
        return sample_nonprojective(arcs, roots, lengths, single_root, uniforms)

    @staticmethod
    def _is_of_this_kind(heads: Tensor) -> Tensor:
        return torch.ones_like(heads[:, 0], dtype=torch.bool)


class ProjectiveTrees(TreeDistribution):
    """The distribution over projective trees: all nodes between a head and its dependent descend from the head.

    The artificial root is left of all nodes. Inside-outside gives the marginals (Baker 1979; Eisner 1996).

    >>> arcs, roots = torch.zeros(3, 3), torch.zeros(3)
    >>> ProjectiveTrees(arcs, roots).log_partition.exp()
    tensor(7.0000)
    """

    _projective = True

    @staticmethod
    def _infer(
        lengths: list[Tensor], single_root: bool, differentiable: bool, *scores: Tensor
    ) -> tuple[Tensors, Tensors, Derivative]:
        return projective(lengths, single_root, differentiable, *scores)

    @staticmethod
    def _decode(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        return eisner(arcs, roots, lengths, single_root)

    @staticmethod
    def _margins(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        return projective_margins(arcs, roots, lengths, single_root)

    @staticmethod
    def _sample(arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool, uniforms: Tensor) -> Tensor:
        return sample_projective(arcs, roots, lengths, single_root, uniforms)

    @staticmethod
    def _is_of_this_kind(heads: Tensor) -> Tensor:
        ends = torch.stack([heads, torch.arange(heads.shape[-1], device=heads.device).expand_as(heads)])
        left, right = ends.amin(0), ends.amax(0)
        starts_inside = (left[:, :, None] < left[:, None]) & (left[:, None] < right[:, :, None])
        crosses = starts_inside & (right[:, :, None] < right[:, None])
        return ~crosses.flatten(1).any(1)


def _are_trees(heads: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Whether the heads (B, n) are trees: each node has a path to the root. Heads past the lengths are ROOT."""
    n = heads.shape[-1]
    position = torch.arange(n, device=heads.device)
    padding = position >= lengths[:, None]
    in_range = (heads >= ROOT) & (heads < lengths[:, None])
    right_roots = ((heads == ROOT) & ~padding).sum(-1) == 1 if single_root else heads.new_ones(len(heads)).bool()
    # Each round doubles the number of steps that `up` takes towards the root, which is n.
    up = torch.cat([torch.where(heads == ROOT, n, heads.clamp(0, n - 1)), torch.full_like(heads[:, :1], n)], -1)
    for _ in range(n.bit_length()):
        up = up.gather(-1, up)
    return (in_range | padding).all(-1) & right_roots & (up == n).all(-1)


def _expected(p: Tensor, scores: Tensor) -> Tensor:
    """p times scores, where 0 times -inf or NaN is 0: for forbidden arcs, the diagonal and padding."""
    return p * scores.masked_fill(p.detach() == 0, 0)


def _total(x: Tensor) -> Tensor:
    """The sum over the last dimension, from first to last, so that zeros at the end (padding) do not change it."""
    return x.cumsum(-1)[..., -1]


def _check_count(k: int) -> None:
    if not isinstance(k, int) or k < 1:
        raise ValueError(f"k: expected 1 or more, got {k}")
