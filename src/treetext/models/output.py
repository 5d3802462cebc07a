"""The output of a model for a batch."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from treetext.data.batches import Batch
from treetext.nn import LevelOutput


class Output(NamedTuple):
    """The output of a model for a batch."""

    logits: Float[Tensor, "b classes"]
    """The scores of the classes."""
    texts: Float[Tensor, "b k"] | None = None
    """A vector for each text, if the model has one."""
    levels: Mapping[str, list[LevelOutput]] = {}
    """The outputs of each level that the model has (words, sentences), one for each bucket of the batch."""
    parts: Mapping[str, Float[Tensor, "b classes"]] = {}
    """What the parts of a model (n-grams, trees) add to the logits, if it has several."""

    def divided(self, temperature: float) -> "Output":
        """The output with all logits divided by a temperature."""
        parts = {name: logits / temperature for name, logits in self.parts.items()}
        return self if temperature == 1 else self._replace(logits=self.logits / temperature, parts=parts)


class TreeKind(NamedTuple):
    """The kind of the trees of a level."""

    projective: bool
    single_root: bool


class Ran(NamedTuple):
    """A batch that a model has run on."""

    texts: list[int]
    """The indices of the texts in the batch."""
    batch: Batch
    output: Output
