"""Structure vectors from the forms of words alone, so that trees can't depend on what else is known of a word."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from treetext.text import PAD, Vocabulary

STEM = 5
SOURCES = ("words", "endings")


def ending(word: str) -> str:
    """What follows the first five letters, which are a rough stem (Can et al. 2008); of a shorter word, all of it.

    >>> ending("gathering"), ending("of")
    ('-ring', 'of')
    """
    return f"-{word[STEM:]}" if len(word) > STEM else word


class Forms(nn.Module):
    """A table with a vector for each word, or for each ending, of a vocabulary. That for padding is 0.

    The rows are in the order in which the vocabulary has them first: so the table of a vocabulary that was cut is a
    part of that of the whole.
    """

    def __init__(self, vocabulary: Vocabulary, size: int, source: str, deviation: float) -> None:
        super().__init__()
        if source not in SOURCES:
            raise ValueError(f"source: expected {' or '.join(SOURCES)}, got {source!r}")
        found: dict[str, int] = {}
        forms = vocabulary.words if source == "words" else map(ending, vocabulary.words)
        rows = [found.setdefault(form, len(found)) for form in forms]
        self.register_buffer("rows", torch.tensor(rows), persistent=False)
        self.table = nn.Embedding(len(found), size, padding_idx=PAD)
        with torch.no_grad():
            self.table.weight.normal_(0, deviation)
            self.table.weight[PAD] = 0

    def forward(self, ids: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape size"]:
        """The vector of each word."""
        rows: Tensor = self.rows  # type: ignore[assignment]
        found: Tensor = self.table(rows[ids])
        return found
