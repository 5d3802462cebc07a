"""What readers give: labelled texts; and what all of treetext shares: bad input, settings, progress."""

from collections.abc import Callable
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

Text = str | list[str] | list[list[str]]
"""Raw text; or sentences, each raw; or sentences of words, for text that is already tokenised."""

Progress = Callable[[str, int], object]
"""A callback for long work: what is being done, and how many more items are done."""


class BadInput(ValueError):  # noqa: N818 (it reads as what it says)
    """The user's input is bad: one line that names the place, what is wrong and what would be right."""


class Settings(BaseModel):
    """The base of all settings: unknown keys are refused, and nothing changes after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Example(NamedTuple):
    """A document with its label; a sentence pair is an example of exactly two sentences."""

    text: Text
    label: str | None = None
    where: str = ""
    """The source, for messages, such as "reviews.csv, row 7"."""
    heads: list[list[int]] | None = None
    """The gold tree over the words of each sentence: -1 for a root, -3 (`UNKNOWN`) for an unknown head."""
    sentence_heads: list[int] | None = None
    """The gold tree over the sentences, in the same way."""
    parses: list[list[int]] | None = None
    """The binary parse of each sentence as transitions: 2n - 1 of `SHIFT` and `REDUCE` for n words."""


UNKNOWN = -3
"""The head of a node whose head is not known; `treetext.trees` has -1 for a root and -2 for padding."""
SHIFT, REDUCE = 0, 1
