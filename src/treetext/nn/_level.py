"""One level of a text: from the words of a sentence to the sentence, or from sentences to the document."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.nn._attention import KINDS, TREES, Attention
from treetext.nn._checks import check_choice, check_vectors
from treetext.nn._chunks import Chunks
from treetext.nn._encoders import BiLSTM, Feedforward, Linear
from treetext.nn._pooling import POOLINGS, pool_real
from treetext.trees import Marginals, TreeDistribution

ENCODERS: dict[str, type[BiLSTM | Feedforward]] = {"bilstm": BiLSTM, "feedforward": Feedforward, "linear": Linear}


class Composed(NamedTuple):
    """A vector for each sequence, and what it was made of."""

    vectors: Float[Tensor, "b k"]
    words: Float[Tensor, "b n k"]
    """Each word (or sentence) in its context."""
    marginals: Marginals | None
    trees: TreeDistribution | None


class Level(nn.Module):
    """Encode, attend and pool. `size` is that of the vectors that come out: twice the semantic size, as of a `BiLSTM`.

    With ``own_structure=False``, the encoder makes semantic vectors alone, and structure vectors (twice the structure
    size) are to be given.

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
        own_structure: bool = True,
    ) -> None:
        super().__init__()
        check_choice("encoder", encoder, tuple(ENCODERS))
        check_choice("attention", attention, KINDS)
        check_choice("pooling", pooling, POOLINGS)
        if pooling == "root" and attention not in TREES:
            raise ValueError(f"pooling: root needs trees ({' or '.join(TREES)}), got attention {attention!r}")
        self.pooling = pooling
        self.encoder = ENCODERS[encoder](inputs, semantic, structure if own_structure else 0)
        self.size, self.own_structure = self.encoder.semantic, own_structure
        self.attention = Attention(
            self.encoder.semantic,
            2 * structure,
            attention,
            children=children,
            activation=activation,
            single_root=single_root,
            temperature=temperature,
            gated=gated,
        )

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        lengths: Int[Tensor, "b"] | None = None,
        structure: Float[Tensor, "b n s"] | None = None,
    ) -> Composed:
        """A vector for each sequence, each word in its context, and the marginals."""
        check_vectors("x", x, self.encoder.inputs)
        if (structure is None) != self.own_structure:
            expected = "none: the encoder makes them" if self.own_structure else "structure vectors"
            raise ValueError(f"structure: expected {expected}, got {'none' if structure is None else 'some'}")
        if structure is not None:
            check_vectors("structure", structure, self.attention.structure, like=x)
            structure = structure.flatten(0, 1)
        chunks = Chunks.of([x.shape[:2]], [lengths])
        return self.compose(x.transpose(0, 1).flatten(0, 1), chunks, structure)[0]

    def compose(
        self, x: Float[Tensor, "p d"], chunks: Chunks, structure: Float[Tensor, "p s"] | None = None
    ) -> list[Composed]:
        """The same for several chunks at once, from a flat matrix in the time order: fewer and larger operations.

        That of the structure, if any, is in the other order.
        """
        semantic, own = self.encoder.encode(x, chunks)
        attended_chunks = self.attention.attend(semantic, own if structure is None else structure, chunks)
        composed = []
        for attended, real in zip(attended_chunks, chunks.real, strict=True):
            roots = attended.marginals.roots if attended.marginals else None
            composed.append(Composed(pool_real(attended.vectors, real, self.pooling, roots), *attended))
        return composed
