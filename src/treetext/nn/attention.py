"""Attention within a text: none, over positions, or over the arcs of latent trees."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, linear

from treetext.nn.buckets import Buckets
from treetext.nn.checks import check_choice, check_schedule, check_size, check_vectors
from treetext.nn.estimators import ESTIMATORS, EVALUATIONS, Schedule, height, value_at
from treetext.trees import Marginals, NonProjectiveTrees, ProjectiveTrees, TreeDistribution, infer_together

KINDS = ("none", "simple", "projective", "nonprojective")
TREES: dict[str, type[TreeDistribution]] = {"projective": ProjectiveTrees, "nonprojective": NonProjectiveTrees}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "leaky_relu": leaky_relu}
PRODUCT = "product"
HEIGHT = "height"
ROOTS = ("any", "first")

Replacement = Callable[[TreeDistribution], Marginals]
"""A function that gets a distribution and returns the marginals to use instead of its own."""
Bucket = tuple[Tensor, Tensor, Tensor | None]
"""The scores of arcs and of roots, and the lengths."""
Attended = tuple[Float[Tensor, "b n k"], Marginals | None, TreeDistribution | None]
"""The updated vectors, the attention weights (marginals), and the distribution over trees behind them."""


class Attention(nn.Module):
    """Structured attention (Liu and Lapata 2018): structure vectors decide how semantic vectors attend to each other.

    With trees, a word gathers its possible parents, the root vector and (if ``children``) its possible children. The
    weights are the marginals over trees. With ``simple``, it gathers all words, itself included, by a softmax of the
    same scores; ``marginals.arcs[i, j]`` is then the weight of i for j, and the roots are 0. With ``none``, vectors do
    not change. ``temperature`` divides the scores. With ``gated``, the gathered vector is added to the semantic vector
    through a gate that starts at 0 (Bachlechner et al. 2021), so training starts without attention. The activation
    ``product`` adds the product of a linear map of the semantic vector and a linear map of the gathered vector
    (Mitchell and Lapata 2010), so words interact only along arcs.

    With ``rounds`` of 2 or more, each round gathers the vectors that the round before gave to parents and children,
    along the same tree and with the same weights, so r rounds carry a message over r arcs. ``"height"`` takes as many
    rounds as the highest of the most probable trees of a bucket has arcs between its root and its deepest word.
    ``parents=False`` gathers from children only. ``root="first"`` makes the first word the root of all trees.

    ``estimator`` says what training uses in place of the marginals: relaxed samples (``perturbed``), the best trees of
    perturbed scores (``straight_through``), or samples (``sampled``). Samples have no gradients; `treetext.training`
    adds those of the score-function estimator. ``noise`` and ``relaxation`` are the scale of the noise and the
    temperature of relaxed samples. Each is a number, or a list of numbers at evenly spaced points of training. The
    attribute ``progress``, from 0 to 1, says where training is. Evaluation uses the marginals or, with
    ``evaluation="tree"``, the most probable tree.

    >>> attention = Attention(semantic=6, structure=4)
    >>> vectors, marginals, trees = attention(torch.ones(2, 3, 6), torch.zeros(2, 3, 4), lengths=torch.tensor([3, 2]))
    >>> vectors.shape
    torch.Size([2, 3, 6])
    >>> marginals.roots.detach()
    tensor([[0.3333, 0.3333, 0.3333],
            [0.5000, 0.5000, 0.0000]])
    """

    def __init__(
        self,
        semantic: int,
        structure: int,
        kind: str = "nonprojective",
        *,
        parents: bool = True,
        children: bool = True,
        rounds: int | str = 1,
        root: str = "any",
        estimator: str = "marginals",
        noise: Schedule = 1.0,
        relaxation: Schedule = 1.0,
        evaluation: str = "marginals",
        activation: str = "tanh",
        single_root: bool = True,
        temperature: float = 1.0,
        gated: bool = False,
    ) -> None:
        super().__init__()
        check_choice("kind", kind, KINDS)
        check_choice("activation", activation, (*ACTIVATIONS, PRODUCT))
        if gated and activation == PRODUCT:
            raise ValueError("gated: expected False with the activation product, which adds by itself, got True")
        check_size("semantic", semantic, 1)
        check_size("structure", structure, 0 if kind == "none" else 1)
        check_choice("root", root, ROOTS)
        check_choice("estimator", estimator, tuple(ESTIMATORS))
        check_choice("evaluation", evaluation, tuple(EVALUATIONS))
        check_schedule("noise", noise, allow_zero=True)
        check_schedule("relaxation", relaxation, allow_zero=False)
        if not 0 < temperature < float("inf"):
            raise ValueError(f"temperature: expected a number above 0, got {temperature}")
        if not isinstance(rounds, int):
            check_choice("rounds", rounds, (HEIGHT,))
        elif rounds < 1:
            raise ValueError(f"rounds: expected 1 or more, or {HEIGHT!r}, got {rounds}")
        if not (parents or children):
            raise ValueError("parents, children: expected at least one of them, got False for both")
        self.semantic, self.structure, self.kind, self.activation = semantic, structure, kind, activation
        self.with_parents = parents or kind not in TREES  # simple attention has no children
        self.with_children, self.single_root, self.temperature = children and kind in TREES, single_root, temperature
        self.rounds, self.fixed_root = rounds, root == "first"
        self.estimator, self.noise, self.relaxation, self.evaluation = estimator, noise, relaxation, evaluation
        self.progress = 0.0
        self.gated = gated and kind != "none"
        if kind == "none":
            return
        self.parent = nn.Linear(structure, structure)
        self.child = nn.Linear(structure, structure)
        self.bilinear = nn.Linear(structure, structure, bias=False)
        if kind in TREES and not self.fixed_root:
            self.root = nn.Linear(structure, 1, bias=False)
        if kind in TREES and self.with_parents:
            self.root_vector = nn.Parameter(torch.empty(semantic))
        if activation == PRODUCT:
            self.own = nn.Linear(semantic, semantic, bias=False)
        gathered = self.with_parents + self.with_children + (activation != PRODUCT)
        self.combine = nn.Linear(gathered * semantic, semantic, bias=False)
        if self.gated:
            self.gate = nn.Parameter(torch.empty(semantic))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weights as Glorot and Bengio (2010) do for tanh. Biases and gates start at 0."""
        for name, parameter in self.named_parameters():
            if name.endswith(("bias", "gate")):
                parameter.zero_()
            else:
                nn.init.xavier_uniform_(parameter if parameter.dim() == 2 else parameter[None])

    def forward(
        self,
        semantic: Float[Tensor, "b n k"],
        structure: Float[Tensor, "b n s"],
        lengths: Int[Tensor, "b"] | None = None,
        marginals: Replacement | None = None,
    ) -> Attended:
        """The updated semantic vectors, the marginals (0 past the lengths) and the trees.

        `marginals` is a function that replaces the marginals of the trees.
        """
        check_vectors("semantic", semantic, self.semantic)
        if self.kind != "none":
            check_vectors("structure", structure, self.structure, like=semantic)
        buckets = Buckets.of([semantic.shape[:2]], [lengths])
        return self.attend(semantic.flatten(0, 1), structure.flatten(0, 1), buckets, marginals)[0]

    def attend(
        self,
        semantic: Float[Tensor, "p k"],
        structure: Float[Tensor, "p s"],
        buckets: Buckets,
        marginals: Replacement | None = None,
    ) -> list[Attended]:
        """The same for several buckets at once, from flat matrices."""
        words = buckets.split(semantic)
        if self.kind == "none":
            return [(e, None, None) for e in words]
        return [
            (self._in_context(e, weights, self._count_rounds(weights, trees)), weights, trees)
            for e, (weights, trees) in zip(words, self._marginals(structure, buckets, marginals), strict=True)
        ]

    def _count_rounds(self, weights: Marginals, trees: TreeDistribution | None) -> int:
        if isinstance(self.rounds, int):
            return self.rounds
        if trees is None:
            return 1
        arcs, roots = weights
        used = TREES[self.kind](arcs.detach(), roots.detach(), trees.lengths, trees.single_root)
        return max(1, height(used.mode()))

    def _in_context(self, semantic: Tensor, marginals: Marginals, rounds: int) -> Tensor:
        vectors = semantic
        for _ in range(rounds):
            vectors = self._round(semantic, vectors, marginals)
        return vectors

    def _round(self, semantic: Tensor, vectors: Tensor, marginals: Marginals) -> Tensor:
        """Update all words, from their semantic vectors and from the vectors of their parents and children."""
        arcs, roots = marginals
        gathered = []
        if self.with_parents:
            parents = arcs.mT @ vectors
            if self.kind in TREES:
                factors = roots.flatten().to(parents.dtype), self.root_vector.to(parents.dtype)  # autocast mixes types
                parents = torch.addr(parents.flatten(0, 1), *factors).view(semantic.shape)
            gathered.append(parents)
        if self.with_children:
            gathered.append(arcs @ vectors)
        if self.activation == PRODUCT:
            product: Tensor = self.own(semantic) * self.combine(torch.cat(gathered, -1))
            return semantic + product
        combined = ACTIVATIONS[self.activation](self.combine(torch.cat([semantic, *gathered], -1)))
        return semantic + self.gate.to(combined.dtype) * combined if self.gated else combined

    def _marginals(
        self, structure: Tensor, buckets: Buckets, replacement: Replacement | None
    ) -> Sequence[tuple[Marginals, TreeDistribution | None]]:
        """The weights of each bucket, and the trees."""
        parents, children = map(buckets.split, self._projected(structure))
        arcs = [p @ c.mT for p, c in zip(parents, children, strict=True)]
        if self.kind == "simple":
            return [(_softmax(scores, real), None) for scores, real in zip(arcs, buckets.real, strict=True)]
        roots = [x[..., 0] for x in buckets.split(self._root_scores(structure))]
        if self.fixed_root:
            roots = [_first(x) for x in roots]
        scores = list(zip(arcs, roots, buckets.lengths, strict=True))
        if torch.compiler.is_compiling():  # the kernels are not torch operations, so they run outside of the graph
            eager: Any = torch.compiler.disable(self._estimate)  # type: ignore[no-untyped-call]
            estimated: list[tuple[Marginals, TreeDistribution]] = eager(scores, replacement)
            return estimated
        return self._estimate(scores, replacement)

    def _estimate(
        self, scores: list[Bucket], replacement: Replacement | None
    ) -> list[tuple[Marginals, TreeDistribution]]:
        """The weights of each bucket: of training, of evaluation, or a replacement."""
        trees = [TREES[self.kind](*bucket, self.single_root) for bucket in scores]
        if replacement is not None:
            infer_together(trees)
            return [(replacement(each), each) for each in trees]
        if self.training:
            noise, relaxation = (value_at(x, self.progress) for x in (self.noise, self.relaxation))
            weights = ESTIMATORS[self.estimator](trees, noise, relaxation)
        else:
            weights = EVALUATIONS[self.evaluation](trees, 0.0, 1.0)
        return list(zip(weights, trees, strict=True))

    def trees(self, structure: Float[Tensor, "b n s"], lengths: Int[Tensor, "b"] | None = None) -> TreeDistribution:
        """The distribution over trees that structure vectors score."""
        if self.kind not in TREES:
            raise ValueError(f"trees: expected a kind with trees ({' or '.join(TREES)}), got {self.kind!r}")
        check_vectors("structure", structure, self.structure)
        parents, children = self._projected(structure)
        roots = self._root_scores(structure)[..., 0]
        roots = _first(roots) if self.fixed_root else roots
        return TREES[self.kind](parents @ children.mT, roots, lengths, self.single_root)

    def _projected(self, structure: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of parents and of children: the product of i's and j's is the score of i being the parent of j."""
        parents, children = torch.tanh(self.parent(structure)), torch.tanh(self.child(structure))
        return parents, linear(children, self.bilinear.weight / self.temperature)

    def _root_scores(self, structure: Tensor) -> Tensor:
        if self.fixed_root:
            return structure.new_zeros(*structure.shape[:-1], 1)
        return linear(structure, self.root.weight / self.temperature)

    def extra_repr(self) -> str:
        """The settings that the submodules do not show."""
        options = f"parents={self.with_parents}, children={self.with_children}, rounds={self.rounds}"
        options += f", root={ROOTS[self.fixed_root]}, single_root={self.single_root}, temperature={self.temperature}"
        options += f", gated={self.gated}, estimator={self.estimator}, evaluation={self.evaluation}"
        return f"{self.semantic}, {self.structure}, {self.kind}, activation={self.activation}, {options}"


def _softmax(scores: Tensor, real: Tensor | None) -> Marginals:
    """Attention weights: at [i, j] the weight of i for j."""
    if real is None:
        arcs = scores.softmax(-2)
    else:
        arcs = scores.masked_fill(~real[:, :, None], -torch.inf).softmax(-2) * real[:, None]
    return Marginals(arcs, arcs.new_zeros(arcs.shape[:2]))


def _first(roots: Tensor) -> Tensor:
    """Scores that allow the first word only as a root."""
    return torch.full_like(roots, -torch.inf).index_fill(-1, torch.zeros(1, dtype=torch.int64, device=roots.device), 0)
