"""The ranges that a search tries values of: the section ``[search]`` of a recipe."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from treetext.data import Settings

Number = int | float
Choice = bool | int | float | str


class Range(Settings):
    """A range of numbers. They are whole if those of the setting are."""

    low: Number = Field(description="lowest value")
    high: Number = Field(description="highest value")
    log: bool = Field(False, description="draw the logarithm uniformly, not the number")
    step: Number | None = Field(None, gt=0, description="distance of neighbouring values")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low is {self.low} and high is {self.high}; expected a low below the high")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("log: expected a low above 0, and no step")
        if self.step is not None and (_exact(self.high) - _exact(self.low)) % _exact(self.step):
            raise ValueError(f"step: {self.step} does not lead from {self.low} to {self.high}; expected one that does")
        return self


def read_ranges(section: Any) -> dict[str, list[Choice] | Range]:
    """The ranges of a section by their dotted keys. Raises `ValueError` about the first that is wrong."""
    if not isinstance(section, Mapping):
        raise ValueError(f"expected a section of keys and ranges, got {section!r:.60}")
    return {key: _range(key, stated) for key, stated in section.items()}


def flat_ranges(section: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and what is stated for them. In TOML, dotted keys without quotes are sections in sections."""
    for key, stated in section.items():
        if isinstance(stated, Mapping) and stated and not stated.keys() & Range.model_fields.keys():
            yield from flat_ranges(stated, f"{outer}{key}.")
        else:
            yield f"{outer}{key}", stated


def some_values(stated: list[Choice] | Range) -> list[Choice]:
    """The choices, or the ends of a range and, if it has steps, the first one."""
    if isinstance(stated, list):
        return stated
    return [stated.low, stated.high, *([] if stated.step is None else [stated.low + stated.step])]


def _range(key: str, stated: Any) -> list[Choice] | Range:
    if not key.startswith(("model.", "training.")):
        raise ValueError(f"{key}: all trials have the same data and seed; expected a key of model or training")
    if isinstance(stated, Range):
        return stated
    if isinstance(stated, list):
        if not stated or not all(isinstance(each, Choice) for each in stated):
            raise ValueError(f"{key}: expected one choice or more, each a value and not a list; got {stated!r:.60}")
        return stated
    if not isinstance(stated, Mapping):
        raise ValueError(f"{key}: expected a list of choices, or {{ low = …, high = … }}; got {stated!r:.60}")
    try:
        return Range.model_validate(stated)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([key, *(str(part) for part in first["loc"][:1])])
        if first["type"] == "extra_forbidden":
            raise ValueError(f"{where}: unknown; expected low, high, log or step") from None
        raise ValueError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _exact(number: Number) -> Decimal:
    """A number as it is written: in binary, a step of 0.1 does not lead from 0.1 to 0.5."""
    return Decimal(str(number))
