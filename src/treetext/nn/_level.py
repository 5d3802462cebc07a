"""One level of a text: from the words of a sentence to the sentence, or from sentences to the document."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.nn._attention import KINDS, TREES, Attention
from treetext.nn._checks import check_choice, check_vectors
from treetext.nn._chunks import Chunks
from treetext.nn._encoders import Affine, BiLSTM, Feedforward
from treetext.nn._pooling import POOLINGS, pool_real
from treetext.trees import Marginals, TreeDistribution

ENCODERS: dict[str, type[BiLSTM | Feedforward]] = {"bilstm": BiLSTM, "feedforward": Feedforward, "affine": Affine}


class Composed(NamedTuple):
    """A vector for each sequence, and what it was made of."""

    vectors: Float[Tensor, "b k"]
    words: Float[Tensor, "b n k"]
    """Each word (or sentence) in its context."""
    marginals: Marginals | None
    trees: TreeDistribution | None


class Level(nn.Module):
    """Encode, attend and pool. `size` is that of the vectors that come out: twice the semantic size, as of a `BiLSTM`.

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
        children: bool = True,
        activation: str = "tanh",
        single_root: bool = True,
        temperature: float = 1.0,
        gated: bool = False,
    ) -> None:
        super().__init__()
        check_choice("encoder", encoder, tuple(ENCODERS))
        check_choice("attention", attention, KINDS)
        check_choice("pooling", pooling, POOLINGS)
        if pooling == "root" and attention not in TREES:
            raise ValueError(f"pooling: root needs trees ({' or '.join(TREES)}), got attention {attention!r}")
        self.pooling = pooling
        self.encoder = ENCODERS[encoder](inputs, semantic, structure)
        self.size = self.encoder.semantic
        self.attention = Attention(
            self.encoder.semantic,
            self.encoder.structure,
            attention,
            children=children,
            activation=activation,
            single_root=single_root,
            temperature=temperature,
            gated=gated,
        )

    def forward(self, x: Float[Tensor, "b n d"], lengths: Int[Tensor, "b"] | None = None) -> Composed:
        """A vector for each sequence, each word in its context, and the marginals."""
        check_vectors("x", x, self.encoder.inputs)
        chunks = Chunks.of([x.shape[:2]], [lengths])
        return self.compose(x.transpose(0, 1).flatten(0, 1), chunks)[0]

    def compose(self, x: Float[Tensor, "p d"], chunks: Chunks) -> list[Composed]:
        """The same for several chunks at once, from a flat matrix in the time order: fewer and larger operations."""
        semantic, structure = self.encoder.encode(x, chunks)
        composed = []
        for attended, real in zip(self.attention.attend(semantic, structure, chunks), chunks.real, strict=True):
            roots = attended.marginals.roots if attended.marginals else None
            composed.append(Composed(pool_real(attended.vectors, real, self.pooling, roots), *attended))
        return composed
