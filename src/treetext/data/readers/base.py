"""The base classes of readers: the ``[data]`` section of a recipe. A format is a subclass with its own options."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from treetext.data.document import BadInput, Example, Settings
from treetext.data.readers.files import existing, reading, split_files
from treetext.data.tasks import DOCUMENTS, Task
from treetext.data.tokens import Limits, Tokenizer

Name = Annotated[str, Field(min_length=1)]
Split = tuple[str, Example]
"""The name of a split (train, dev, test, or all for unsplit data) and an example."""


class Reader(Settings):
    """The settings of a corpus: where it is, how it is tokenised, how it is split.

    A subclass is a format. Its name is the default of `format`, its help text is `about`, its options are its fields.
    """

    about: ClassVar[str]
    """The files that the format expects, in one line."""
    ending: ClassVar[str | None] = None
    """The ending of its files, if they have a fixed one."""
    generated: ClassVar[bool] = False
    """Whether the texts are generated instead of read."""

    format: str = Field(description="the format of the data; see `treetext data`")
    path: Name | None = Field(None, description="a file, a directory, an archive, or a name on the hub")
    train: Name | None = Field(None, description="the file to train on, instead of path; on the hub, a split of path")
    dev: Name | None = Field(None, description="the same for development")
    test: Name | None = Field(None, description="the same for testing")
    classes: dict[str, str] | None = Field(None, description="new names of all labels; labels may share a name")

    language: str = Field("en", description="code of the language, for rules that split raw text")
    lowercase: bool = Field(True, description="read all words in lower case")
    tokenized: bool = Field(False, description="raw text is tokenised, with one sentence per line")

    max_words: int | None = Field(None, ge=1, description="most words of a text, or of each sentence of a pair")
    max_sentences: int | None = Field(None, ge=1, description="most sentences of a document; the rest is left out")

    split: tuple[float, float, float] = Field((0.8, 0.1, 0.1), description="shares of train, dev and test, if unsplit")
    dev_share: float = Field(0.1, ge=0, lt=1, description="share of train that becomes dev, where none is given")
    stratify: bool = Field(False, description="split each class in these shares, and keep copies of a text together")
    folds: int | None = Field(None, ge=2, description="k for k-fold cross-validation of unsplit data")
    fold: int = Field(0, ge=0, description="which of the folds is the test set, from 0")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of the split, not of training")

    @property
    def task(self) -> Task:
        """The task: documents or pairs."""
        return DOCUMENTS

    def fits(self, task: Task) -> bool:
        """Whether the texts are, or may be, inputs of a task."""
        return self.task is task

    def recognised(
        self,
        say: Callable[[str], object],  # noqa: ARG002
        task: Task | None = None,  # noqa: ARG002
        labels: bool = True,  # noqa: ARG002
    ) -> Self:
        """The same reader with all its columns. Those that are not given are recognised, and `say` gets which."""
        return self

    @property
    def name(self) -> str:
        """The name of the corpus in messages."""
        return next(iter(self.places.values()), self.format)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the text in such a table."""
        return self.task.columns

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts."""
        limits = Limits(words=self.max_words, sentences=self.max_sentences, each=len(self.task.columns) > 1)
        return Tokenizer(self.language, self.lowercase, self.tokenized, limits)

    @property
    def places(self) -> dict[str, str]:
        """The locations of the data: those of path, train, dev and test that are given."""
        given = {"path": self.path, "train": self.train, "dev": self.dev, "test": self.test}
        return {name: place for name, place in given.items() if place is not None}

    def read(self, notes: list[str] | None = None, labels: bool = True) -> Iterator[Split]:
        """Each text with its split.

        Remarks on data that are left out are appended to `notes`. With ``labels=False``, labels are not read.
        """
        for part, example in self.examples(labels, [] if notes is None else notes):
            label = example.label
            if not labels:
                label = None
            elif label is None:
                raise BadInput(f"{example.where}: no label; expected one for each text")
            elif self.classes is not None:
                if label not in self.classes:
                    known = ", ".join(map(repr, self.classes))
                    raise BadInput(
                        f"{example.where}: label {label!r} is not among the classes; expected one of {known}"
                    )
                label = self.classes[label]
            yield part, example._replace(label=label)

    def fingerprint(self) -> str:
        """A hash of the bytes of all files, and of the settings that affect texts and labels.

        It does not depend on the location of the files or on the split. For generated texts, it is a hash of the
        settings only: another version of treetext may generate other texts from them.
        """
        fields = {"format", "classes", "language", "lowercase", "tokenized", "max_words", "max_sentences"}
        fields |= {*self.hashed()}
        given = self.model_dump(mode="json", include=fields).items()
        settings = {**HASHED, **{name: value for name, value in given if (name, value) not in UNHASHED}}
        contents = [(name, _digest(file)) for name, file in self.contents()]
        return hashlib.sha256(json.dumps([settings, contents], sort_keys=True).encode()).hexdigest()

    @classmethod
    def options(cls) -> list[str]:
        """The names of the settings that only this format has."""
        return [name for name in cls.model_fields if name not in Reader.model_fields]

    @classmethod
    def hashed(cls) -> list[str]:
        """The settings of this format that affect texts and labels."""
        return cls.options()

    @abstractmethod
    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:
        """The texts as they are in the files. Without `labels`, the column of labels need not exist."""

    @abstractmethod
    def contents(self) -> Iterator[tuple[str, Path]]:
        """The files that `read` reads, each with its split or, in an archive, with its path there."""

    @field_validator("split", mode="before")
    @classmethod
    def _check_shares(cls, shares: Any) -> Any:
        if not isinstance(shares, list | tuple) or len(shares) != 3:
            raise ValueError(f"expected three shares, of train, dev and test, such as [0.8, 0.1, 0.1]; got {shares!r}")
        return shares

    @model_validator(mode="after")
    def _check_split(self) -> Self:
        if min(self.split) < 0 or abs(sum(self.split) - 1) > 1e-6:
            raise ValueError(f"split: expected shares of train, dev and test that add up to 1, got {list(self.split)}")
        if self.fold >= (self.folds or 1):
            expected = f"expected 0 to {self.folds - 1}" if self.folds else "expected folds to say how many there are"
            raise ValueError(f"fold: {expected}, got {self.fold}")
        return self


HASHED = {"subset": None, "text": "text", "second": None, "label": "label", "delimiter": None, "quoting": True}
"""Part of all fingerprints. All formats used to have these options; this keeps their fingerprints unchanged."""
UNHASHED = (("text", None), ("label", None), ("encoding", "utf-8"), ("max_words", None), ("max_sentences", None))
"""Settings that leave fingerprints as they were: columns that are not known yet, and what was not a setting then."""


class FileReader(Reader):
    """A format of one or more files for each split."""

    ending: ClassVar[str]

    @abstractmethod
    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:
        """The texts of a file."""

    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:
        """The texts of all files."""
        for name, file in self.files(notes):
            yield from filled(name, str(file), self.read_file(file, labels, notes))

    def contents(self) -> Iterator[tuple[str, Path]]:
        """The files, each with its split."""
        yield from self.files([])

    def files(self, notes: list[str]) -> list[tuple[str, Path]]:
        """The files, each with its split. Remarks on files that are left out are appended to `notes`."""
        if self.path is not None:
            return split_files(self.path, self.ending, notes)
        files = [(name, existing(path)) for name, path in self.places.items()]
        for _, file in files:
            if file.is_dir():
                raise BadInput(f"{file}: a directory; expected a file")
        return files

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        given = list(self.places)
        if not given or ("path" in given and given != ["path"]):
            raise ValueError(f"path: expected either it, or files for train, dev and test, got {given or 'none'}")
        return self


def filled(name: str, where: str, examples: Iterator[Example]) -> Iterator[Split]:
    """Pair the examples with the name of their split. Raises `BadInput` if there are none."""
    example = None
    for example in examples:
        yield name, example
    if example is None:
        raise BadInput(f"{where}: empty; expected at least one text")


def _digest(file: Path) -> str:
    with reading(file), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
