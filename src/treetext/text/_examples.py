"""What readers give: labelled texts, and how they say that one is bad."""

from typing import NamedTuple


class BadInput(ValueError):  # noqa: N818 (it reads as what it says)
    """Bad input of a user: one line that names the place, what was wrong and what would be right."""


class Example(NamedTuple):
    """A document with its label; a sentence pair is an example of exactly two sentences."""

    text: str | list[str] | list[list[str]]
    """Raw text; or sentences, each raw; or sentences of words, for text that is already tokenised."""
    label: str | None = None
    where: str = ""
    """Where it comes from, such as "reviews.csv, row 7": for messages."""
    heads: list[list[int]] | None = None
    """The gold tree over the words of each sentence, where known; the head of a root is -1."""
    sentence_heads: list[int] | None = None
    """The gold tree over the sentences, where known."""
