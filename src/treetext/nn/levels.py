"""A level of a text: from words to a sentence vector, or from sentences to a document vector."""

from typing import Any, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.nn.attention import KINDS, TREES, Attention, Replacement
from treetext.nn.buckets import Buckets
from treetext.nn.checks import check_choice, check_vectors
from treetext.nn.encoders import Affine, BiLSTM, Feedforward, Local
from treetext.nn.pooling import POOLINGS, pool_real
from treetext.trees import Marginals, TreeDistribution

ENCODERS: dict[str, type[BiLSTM | Feedforward | Local]] = {
    "bilstm": BiLSTM, "feedforward": Feedforward, "affine": Affine, "local": Local,
}  # fmt: skip


class LevelOutput(NamedTuple):
    """A vector for each sequence, the updated vectors of its words (or sentences), and the trees over them."""

    vectors: Float[Tensor, "b k"]
    words: Float[Tensor, "b n k"]
    """The vector of each word (or sentence) in context."""
    marginals: Marginals | None
    trees: TreeDistribution | None


class Level(nn.Module):
    """An encoder, attention and pooling. `options` are those of `Attention`.

    The attribute `size` is the size of the output vectors: twice `semantic`, as for a `BiLSTM`.

    >>> import torch
    >>> sentences = Level(inputs=5, semantic=3, structure=2)
    >>> vectors, words, marginals, _ = sentences(torch.randn(4, 7, 5), torch.tensor([7, 7, 6, 5]))
    >>> vectors.shape, words.shape, marginals.arcs.shape
    (torch.Size([4, 6]), torch.Size([4, 7, 6]), torch.Size([4, 7, 7]))
    """

    def __init__(
        self,
        inputs: int,
        semantic: int,
        structure: int,
        *,
        encoder: str = "bilstm",
        attention: str = "nonprojective",
        pooling: str = "max",
        **options: Any,
    ) -> None:
        super().__init__()
        check_choice("encoder", encoder, tuple(ENCODERS))
        check_choice("attention", attention, KINDS)
        check_choice("pooling", pooling, POOLINGS)
        if pooling == "root" and attention not in TREES:
            raise ValueError(f"pooling: root needs trees ({' or '.join(TREES)}), got attention {attention!r}")
        self.pooling = pooling
        unused = encoder == "local" and attention == "none"  # its bi-LSTM is for the structure vectors alone
        self.encoder = ENCODERS[encoder](inputs, semantic, 0 if unused else structure)
        self.size = self.encoder.semantic
        self.attention = Attention(self.encoder.semantic, self.encoder.structure, attention, **options)

    @property
    def has_trees(self) -> bool:
        """Whether the attention is over trees."""
        return self.attention.kind in TREES

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        lengths: Int[Tensor, "b"] | None = None,
        marginals: Replacement | None = None,
    ) -> LevelOutput:
        """A vector for each sequence, the vectors of its words in context, the marginals and the trees.

        `marginals` is a function that replaces the marginals of the trees.
        """
        check_vectors("x", x, self.encoder.inputs)
        buckets = Buckets.of([x.shape[:2]], [lengths])
        return self.compose(x.transpose(0, 1).flatten(0, 1), buckets, marginals)[0]

    def compose(
        self, x: Float[Tensor, "p d"], buckets: Buckets, marginals: Replacement | None = None
    ) -> list[LevelOutput]:
        """The same for several buckets at once, with fewer and larger operations. Rows of `x` are time-major."""
        semantic, structure = self.encoder.encode(x, buckets)
        outputs = []
        for attended, real in zip(
            self.attention.attend(semantic, structure, buckets, marginals), buckets.real, strict=True
        ):
            words, weights, trees = attended
            vectors = pool_real(words, real, self.pooling, weights.roots if weights else None)
            outputs.append(LevelOutput(vectors, words, weights, trees))
        return outputs
