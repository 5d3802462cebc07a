"""Generated nested list operations (after Nangia and Bowman 2018): the label is the value of an expression.

An expression is one sentence, as in ``[MAX 2 9 [MIN 4 7 ] 0 ]``. In its gold tree, each token hangs from the operator
that encloses it, and closing brackets hang from the operator that they close. The label does not depend on where
brackets hang.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from treetext.data.document import BadInput, Example, Settings
from treetext.data.readers.base import Reader, Split
from treetext.trees.tree import ROOT

OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "MAX": max,
    "MIN": min,
    "MED": lambda values: int(median(values)),
    "SUM": lambda values: sum(values) % 10,
}
"""The operators. MED is the integer part of the median, SUM is modulo 10."""
CLOSE = "]"
TRIES = 100_000
"""So many draws without a new expression of the wanted depth end the generation."""


class ListOps(Settings):
    """The settings of generated expressions: their number, depth and length."""

    train: int = Field(100_000, ge=1, description="expressions to train on")
    dev: int = Field(10_000, ge=0, description="expressions for development")
    test: int = Field(10_000, ge=0, description="expressions to test on")
    operators: list[Literal["MAX", "MIN", "MED", "SUM"]] = Field(
        ["MAX", "MIN", "MED"], min_length=1, description="operators; SUM is modulo 10"
    )
    depths: list[Annotated[int, Field(ge=1, le=100)]] = Field(
        [1, 2, 3, 4, 5], min_length=1, description="depths of nested operators; all are equally frequent"
    )
    arguments: tuple[int, int] = Field((2, 5), description="arguments of an operator, least and most")
    nested: float = Field(0.25, gt=0, lt=1, description="probability that an argument is an operator")
    tokens: int = Field(50, ge=4, description="most tokens of an expression")
    seed: int = Field(0, ge=0, description="seed of the corpus")

    @field_validator("arguments")
    @classmethod
    def _check_range(cls, value: tuple[int, int]) -> tuple[int, int]:
        if not 1 <= value[0] <= value[1]:
            raise ValueError(f"expected the least and the most, from 1 up, as in [2, 5], not {list(value)}")
        return value

    @model_validator(mode="after")
    def _check_room(self) -> Self:
        shortest = max(self.depths) * (self.arguments[0] + 1) + 1
        if shortest > self.tokens:
            raise ValueError(
                f"tokens: a depth of {max(self.depths)} needs at least {shortest} tokens, not {self.tokens}"
            )
        return self


class ListOpsReader(Reader):
    """Generated list operations."""

    about: ClassVar[str] = "no files: nested list operations whose trees are known are generated"
    generated: ClassVar[bool] = True
    format: Literal["listops"] = "listops"
    lowercase: bool = Field(False, description="read all words in lower case")
    listops: ListOps = Field(default_factory=ListOps, description="the generated expressions")

    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:  # noqa: ARG002 (there is nothing to leave out)
        """The expressions of all splits."""
        return generate(self.listops)

    def contents(self) -> Iterator[tuple[str, Path]]:
        """No files."""
        yield from ()

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        for name in self.places:
            raise ValueError(f"{name}: listops are generated, not read; expected no {name}")
        return self


class Expression(NamedTuple):
    """An expression as tokens, with the gold head of each, its value and its depth."""

    tokens: list[str]
    heads: list[int]
    value: int
    depth: int


def generate(spec: ListOps) -> Iterator[Split]:
    """The expressions with their splits, values and gold trees. No two are the same.

    Each split has its own random generator. So the test data do not change if there are more training data.
    """
    seen = set[str]()
    for split, wanted in (("test", spec.test), ("dev", spec.dev), ("train", spec.train)):
        rng = Random(f"{spec.seed} {split}")
        for number in range(1, wanted + 1):
            depth = spec.depths[number % len(spec.depths)]
            where = f"listops, {split} {number}"
            tokens, heads, value, _ = _draw(spec, depth, rng, seen, where)
            yield split, Example([tokens], str(value), where, [heads], [ROOT])


def _draw(spec: ListOps, depth: int, rng: Random, seen: set[str], where: str) -> Expression:
    """A new expression of a depth, by rejection."""
    for _ in range(TRIES):
        expression = _expression(spec, depth, rng, [], [], ROOT)
        if expression is not None and expression.depth == depth:
            text = " ".join(expression.tokens)
            if text not in seen:
                seen.add(text)
                return expression
    raise BadInput(
        f"{where}: too few expressions of depth {depth} have at most {spec.tokens} tokens;"
        " expected more tokens, or fewer expressions"
    )


def _expression(
    spec: ListOps, depth: int, rng: Random, tokens: list[str], heads: list[int], head: int
) -> Expression | None:
    """Append an operator with its arguments. None if it is deeper than `depth`, or too long."""
    if depth == 0:
        return None
    operator, place = rng.choice(spec.operators), len(tokens)
    tokens.append(f"[{operator}")
    heads.append(head)
    values, deepest = list[int](), 0
    for _ in range(rng.randint(*spec.arguments)):
        if rng.random() < spec.nested:
            inner = _expression(spec, depth - 1, rng, tokens, heads, place)
            if inner is None:
                return None
            values.append(inner.value)
            deepest = max(deepest, inner.depth)
        else:
            values.append(rng.randrange(10))
            tokens.append(str(values[-1]))
            heads.append(place)
    tokens.append(CLOSE)
    heads.append(place)
    if len(tokens) > spec.tokens:
        return None
    return Expression(tokens, heads, OPERATORS[operator](values), deepest + 1)
