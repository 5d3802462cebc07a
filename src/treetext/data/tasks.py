"""Tasks: the kinds of input of a model, documents and pairs. Nothing else in treetext branches on the task."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Int
from pydantic import Field
from pydantic.types import FailFast

from treetext.data.document import BadInput, counted
from treetext.data.tokens import Tokenizer

if TYPE_CHECKING:
    from treetext.data.encoded import Encoded


class Sample(NamedTuple):
    """An example input for documentation: raw, as words, and with trees."""

    text: Any
    sentences: list[list[str]]
    heads: list[list[int]]
    sentence_heads: list[int] | None


class Task(ABC):
    """How inputs are read and checked, and their names in tables, requests and examples."""

    name: ClassVar[str]
    recipe: ClassVar[str]
    """The recipe for users' own files."""
    columns: ClassVar[tuple[str, ...]]
    """The usual columns of the text in a table."""
    field: ClassVar[str]
    """The field of the inputs in a request over HTTP."""
    shell: ClassVar[str]
    """A shell command that prints an example input."""
    python: ClassVar[str]
    """An example input in Python."""
    sample: ClassVar[Sample]

    @abstractmethod
    def tokens(self, text: Any, tokenizer: Tokenizer) -> list[list[str]]:
        """The sentences of an input as lists of words as typed, without empty sentences."""

    @abstractmethod
    def is_whole(self, sentences: Any) -> Any:
        """Whether an input with this number of sentences can be scored. Also takes an array of numbers."""

    @abstractmethod
    def lengths(
        self, encoded: "Encoded", rows: Int[np.ndarray, "rows"]
    ) -> tuple[Int[np.ndarray, "rows"], Int[np.ndarray, "rows"]]:
        """Two lengths of each row. The inputs of a batch should be similar in both."""

    @abstractmethod
    def from_line(self, line: str, where: str) -> Any:
        """The input on a line of a text file."""

    @abstractmethod
    def from_sentences(self, documents: Sequence[list[list[str]]]) -> list[list[list[str]]]:
        """Inputs that together have all sentences of some documents, in the same order."""

    @abstractmethod
    def json_type(self, text: Any) -> Any:
        """The type of an input in JSON, given the type of a text."""

    def __repr__(self) -> str:
        return self.name


class _Documents(Task):
    name, recipe, columns, field = "documents", "documents/default", ("text",), "texts"
    shell, python = "echo 'Some text. More text.'", '"Some text. More text."'
    sample = Sample(
        "A good film. I saw it twice.",
        [["A", "good", "film", "."], ["I", "saw", "it", "twice", "."]],
        [[2, 2, -1, 2], [1, -1, 1, 1, 1]],
        [-1, 0],
    )

    def tokens(self, text: Any, tokenizer: Tokenizer) -> list[list[str]]:
        if not isinstance(text, str) and not _are_sentences(text):
            raise TypeError(f"expected a string, a list of sentences or a list of lists of words, got {text!r:.40}")
        return tokenizer.split(text if isinstance(text, str) else list(text))

    def is_whole(self, sentences: Any) -> Any:
        return sentences > 0

    def lengths(
        self, encoded: "Encoded", rows: Int[np.ndarray, "rows"]
    ) -> tuple[Int[np.ndarray, "rows"], Int[np.ndarray, "rows"]]:
        return encoded.sentence_counts[rows], encoded.sizes[rows]

    def from_line(self, line: str, where: str) -> Any:  # noqa: ARG002 (any line is a document)
        return line

    def from_sentences(self, documents: Sequence[list[list[str]]]) -> list[list[list[str]]]:
        return list(documents)

    def json_type(self, text: Any) -> Any:
        return text


class _Pairs(Task):
    name, recipe, columns, field = "pairs", "pairs/default", ("premise", "hypothesis"), "pairs"
    shell, python = r"printf 'One sentence.\tAnother one.\n'", '("A first sentence.", "A second sentence.")'
    sample = Sample(
        ["A dog sleeps.", "It is awake."],
        [["A", "dog", "sleeps", "."], ["It", "is", "awake", "."]],
        [[1, 2, -1, 2], [2, 2, -1, 2]],
        None,
    )

    def tokens(self, text: Any, tokenizer: Tokenizer) -> list[list[str]]:
        if not _are_sentences(text) or len(text) != 2:
            raise TypeError(f"expected two sentences, each a string or a list of words, got {text!r:.40}")
        return tokenizer.split(list(text))

    def is_whole(self, sentences: Any) -> Any:
        return sentences == 2

    def lengths(
        self, encoded: "Encoded", rows: Int[np.ndarray, "rows"]
    ) -> tuple[Int[np.ndarray, "rows"], Int[np.ndarray, "rows"]]:
        # All pairs have two sentences, so padding depends on the number of words of each.
        first = np.array([int(encoded.lengths(row)[0]) for row in rows.tolist()], dtype=np.int64)
        return first, encoded.sizes[rows] - first

    def from_line(self, line: str, where: str) -> Any:
        sides = line.split("\t") if line.strip() else ["", ""]
        if len(sides) != 2:
            raise BadInput(f"{where}: {counted(len(sides), 'field')}; expected two sentences with a tab in between")
        return sides

    def from_sentences(self, documents: Sequence[list[list[str]]]) -> list[list[list[str]]]:
        sentences = [sentence for document in documents for sentence in document]
        pairs = zip_longest(sentences[::2], sentences[1::2], fillvalue=sentences[-1] if sentences else [])
        return [list(pair) for pair in pairs]

    def json_type(self, text: Any) -> Any:
        return Annotated[list[text], Field(min_length=2, max_length=2), FailFast()]


DOCUMENTS: Task = _Documents()
"""A text is a document: words make sentences, sentences make the document."""
PAIRS: Task = _Pairs()
"""A text is a pair of sentences."""
TASKS: dict[str, Task] = {task.name: task for task in (DOCUMENTS, PAIRS)}


def _are_sentences(text: Any) -> bool:
    """Whether a value is a list of sentences, each a string or a list of words."""
    return isinstance(text, list | tuple) and all(
        isinstance(side, str) or (isinstance(side, list) and all(isinstance(word, str) for word in side))
        for side in text
    )
