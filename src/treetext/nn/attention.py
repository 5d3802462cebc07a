"""Attention within a text: none, over positions, or over the arcs of latent trees."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, linear

from treetext.nn.buckets import Buckets
from treetext.nn.checks import check_choice, check_size, check_vectors
from treetext.trees import Marginals, NonProjectiveTrees, ProjectiveTrees, TreeDistribution, infer_together

KINDS = ("none", "simple", "projective", "nonprojective")
TREES: dict[str, type[TreeDistribution]] = {"projective": ProjectiveTrees, "nonprojective": NonProjectiveTrees}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "leaky_relu": leaky_relu}
PRODUCT = "product"


Replacement = Callable[[TreeDistribution], Marginals]
"""A function that gets a distribution and returns the marginals to use instead of its own."""
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
        children: bool = True,
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
        if not 0 < temperature < float("inf"):
            raise ValueError(f"temperature: expected a number above 0, got {temperature}")
        self.semantic, self.structure, self.kind, self.activation = semantic, structure, kind, activation
        self.with_children, self.single_root, self.temperature = children and kind in TREES, single_root, temperature
        self.gated = gated and kind != "none"
        if kind == "none":
            return
        self.parent = nn.Linear(structure, structure)
        self.child = nn.Linear(structure, structure)
        self.bilinear = nn.Linear(structure, structure, bias=False)
        if kind in TREES:
            self.root = nn.Linear(structure, 1, bias=False)
            self.root_vector = nn.Parameter(torch.empty(semantic))
        if activation == PRODUCT:
            self.own = nn.Linear(semantic, semantic, bias=False)
        gathered = (2 if self.with_children else 1) + (activation != PRODUCT)
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
            (self._in_context(e, weights), weights, trees)
            for e, (weights, trees) in zip(words, self._marginals(structure, buckets, marginals), strict=True)
        ]

    def _in_context(self, semantic: Tensor, marginals: Marginals) -> Tensor:
        arcs, roots = marginals
        parents = arcs.mT @ semantic
        if self.kind in TREES:
            factors = roots.flatten().to(parents.dtype), self.root_vector.to(parents.dtype)  # autocast mixes types
            parents = torch.addr(parents.flatten(0, 1), *factors).view(semantic.shape)
        gathered = [parents, *([arcs @ semantic] if self.with_children else [])]
        if self.activation == PRODUCT:
            product: Tensor = self.own(semantic) * self.combine(torch.cat(gathered, -1))
            return semantic + product
        combined = ACTIVATIONS[self.activation](self.combine(torch.cat([semantic, *gathered], -1)))
        return semantic + self.gate.to(combined.dtype) * combined if self.gated else combined

    def _marginals(
        self, structure: Tensor, buckets: Buckets, replacement: Replacement | None
    ) -> Sequence[tuple[Marginals, TreeDistribution | None]]:
        """The marginals of each bucket, and the trees."""
        parents, children = map(buckets.split, self._projected(structure))
        arcs = [p @ c.mT for p, c in zip(parents, children, strict=True)]
        if self.kind == "simple":
            return [(_softmax(scores, real), None) for scores, real in zip(arcs, buckets.real, strict=True)]
        roots = [x[..., 0] for x in buckets.split(self._root_scores(structure))]
        inferred = _infer(TREES[self.kind], list(zip(arcs, roots, buckets.lengths, strict=True)), self.single_root)
        return inferred if replacement is None else [(replacement(trees), trees) for _, trees in inferred]

    def trees(self, structure: Float[Tensor, "b n s"], lengths: Int[Tensor, "b"] | None = None) -> TreeDistribution:
        """The distribution over trees that structure vectors score."""
        if self.kind not in TREES:
            raise ValueError(f"trees: expected a kind with trees ({' or '.join(TREES)}), got {self.kind!r}")
        check_vectors("structure", structure, self.structure)
        parents, children = self._projected(structure)
        return TREES[self.kind](parents @ children.mT, self._root_scores(structure)[..., 0], lengths, self.single_root)

    def _projected(self, structure: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of parents and of children: the product of i's and j's is the score of i being the parent of j."""
        parents, children = torch.tanh(self.parent(structure)), torch.tanh(self.child(structure))
        return parents, linear(children, self.bilinear.weight / self.temperature)

    def _root_scores(self, structure: Tensor) -> Tensor:
        return linear(structure, self.root.weight / self.temperature)

    def extra_repr(self) -> str:
        """The settings that the submodules do not show."""
        options = f"children={self.with_children}, single_root={self.single_root}, temperature={self.temperature}"
        options += f", gated={self.gated}"
        return f"{self.semantic}, {self.structure}, {self.kind}, activation={self.activation}, {options}"


def _softmax(scores: Tensor, real: Tensor | None) -> Marginals:
    """Attention weights: at [i, j] the weight of i for j."""
    if real is None:
        arcs = scores.softmax(-2)
    else:
        arcs = scores.masked_fill(~real[:, :, None], -torch.inf).softmax(-2) * real[:, None]
    return Marginals(arcs, arcs.new_zeros(arcs.shape[:2]))


Bucket = tuple[Tensor, Tensor, Tensor | None]
"""The scores of arcs and of roots, and the lengths."""


def _infer(
    kind: type[TreeDistribution], buckets: list[Bucket], single_root: bool
) -> list[tuple[Marginals, TreeDistribution]]:
    if torch.compiler.is_compiling():  # the kernels are not torch operations, so they run outside of the graph
        eager: Any = torch.compiler.disable(_infer_eagerly)  # type: ignore[no-untyped-call]
        inferred: list[tuple[Marginals, TreeDistribution]] = eager(kind, buckets, single_root)
        return inferred
    return _infer_eagerly(kind, buckets, single_root)


def _infer_eagerly(
    kind: type[TreeDistribution], buckets: list[Bucket], single_root: bool
) -> list[tuple[Marginals, TreeDistribution]]:
    trees = [kind(*bucket, single_root) for bucket in buckets]
    infer_together(trees)
    return [(each.marginals, each) for each in trees]
