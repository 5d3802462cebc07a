"""Labelled texts, as readers give them, and the types that all packages share: bad input, settings, progress."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler, field_validator

Text = str | list[str] | list[list[str]]
"""Raw text, a list of raw sentences, or a list of tokenised sentences (lists of words)."""

Progress = Callable[[str, int], object]
"""A callback for long work. It gets the name of the step, and how many items were done since the last call."""


class BadInput(ValueError):  # noqa: N818 (a message for users, not a failure of the program)
    """The user's input is bad. The message is one line: where, what is wrong, and what was expected."""


class Settings(BaseModel):
    """The base class of all settings. Unknown keys are errors, and instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _unset(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        """Take the word none for None where it is no value itself but None is. TOML has no null."""
        try:
            return validate(value)
        except ValidationError:
            if value == "none":
                with suppress(ValidationError):
                    return validate(None)
            raise


class Example(NamedTuple):
    """A document with its label. A sentence pair is an example of exactly two sentences."""

    text: Text
    label: str | None = None
    where: str = ""
    """The source of the text, for messages, such as "reviews.csv, row 7"."""
    heads: list[list[int]] | None = None
    """The gold tree over the words of each sentence: -1 for a root, -3 (`UNKNOWN`) for an unknown head."""
    sentence_heads: list[int] | None = None
    """The gold tree over the sentences, in the same format."""
    parses: list[list[int]] | None = None
    """The binary parse of each sentence: 2n - 1 transitions, `SHIFT` or `REDUCE`, for n words."""
    id: Any = None
    """The value in the column of ids of a table; None if there is no such column, or if ids are not read."""


UNKNOWN = -3
"""Marks an unknown head; `treetext.trees` uses -1 for a root and -2 for padding."""
SHIFT, REDUCE = 0, 1


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number with its noun in the singular or the plural: ``1 text``, ``2,000 classes``."""
    return f"{number:,} {noun}{plural * (number != 1)}"


def dotted(values: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any]]:
    """All values of nested settings, with their keys in a recipe: ``model.words.attention``."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from dotted(value, f"{section}{key}.")
        else:
            yield f"{section}{key}", value
