"""Treebanks: documents with trees by annotators or parsers. A format is a class in any module of this package."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from treetext.data.document import BadInput
from treetext.data.readers.annotated import AnnotatedDocument, AnnotatedSentence
from treetext.data.readers.conllu import read_conllu
from treetext.data.readers.files import ARCHIVES, existing, opened, reading, split_files
from treetext.data.readers.head_rules import PUNCTUATION, dependencies
from treetext.data.readers.published import read_snli
from treetext.data.readers.tables import Columns
from treetext.data.registry import subclasses


class Treebank(NamedTuple):
    """Documents with reference trees."""

    name: str
    """The names of its files, such as ``en_ewt-ud-test.conllu``."""
    format: str
    documents: list[AnnotatedDocument]
    notes: list[str]
    """Remarks on data that were left out."""

    @property
    def has_documents(self) -> bool:
        """Whether all documents have trees over sentences."""
        return all(document.tree for document in self.documents)


class TreebankReader(ABC):
    """A format of treebanks."""

    format: ClassVar[str]
    about: ClassVar[str]
    """The files that the format expects, in one line."""
    archived: ClassVar[bool] = False
    """Whether it can be read from an archive."""

    @abstractmethod
    def matches(self, files: list[str]) -> bool:
        """Whether files with these paths, relative to the treebank's directory, look like this format."""

    @abstractmethod
    def read(self, place: Path, split: str) -> Treebank:
        """Read a treebank."""


def read_treebank(path: str | Path, format: str | None = None, split: str = "test") -> Treebank:  # noqa: A002
    """Read a treebank, gzipped or not (default format: detected from its files).

    If a directory has files for train, dev and test, only those of one `split` are read. GUM is read whole.
    """
    formats = treebank_formats()
    if format not in (None, *formats):
        raise BadInput(f"format: expected {', '.join(formats)}, got {format!r}")
    place = existing(str(path))
    return (formats[format] if format else _matching(place)).read(place, split)


@cache
def treebank_formats() -> dict[str, TreebankReader]:
    """The formats of treebanks by name."""
    classes = [cls for cls in subclasses(TreebankReader, "treetext.data.readers") if hasattr(cls, "format")]
    return {cls.format: cls() for cls in sorted(classes, key=lambda cls: cls.format)}


class SplitTreebank(TreebankReader):
    """A format of one or more files for each split."""

    ending: ClassVar[str]

    @abstractmethod
    def read_file(self, file: Path, notes: list[str]) -> list[AnnotatedDocument]:
        """The documents of a file."""

    def matches(self, files: list[str]) -> bool:
        """Whether a file directly in the directory has the ending."""
        return any("/" not in file and file.removesuffix(".gz").endswith(self.ending) for file in files)

    def read(self, place: Path, split: str) -> Treebank:
        """All files of the split."""
        notes = list[str]()
        files = split_files(str(place), self.ending, notes)
        wanted = [file for part, file in files if part in (split, "all")]
        if not wanted:
            there = ", ".join(dict.fromkeys(part for part, _ in files))
            raise BadInput(f"{place}: no {split} files; expected one of these splits: {there}")
        documents = [document for file in wanted for document in self.read_file(file, notes)]
        return Treebank(", ".join(file.name.removesuffix(".gz") for file in wanted), self.format, documents, notes)


class Conllu(SplitTreebank):
    """Word trees, from the columns ID, FORM and HEAD."""

    format, ending = "conllu", ".conllu"
    about = "Universal Dependencies: a file, or a directory of train, dev and test files, *.conllu; trees of words"

    def read_file(self, file: Path, notes: list[str]) -> list[AnnotatedDocument]:  # noqa: ARG002 (nothing is left out)
        """The sentences of a file."""
        with opened(file) as stream:
            return read_conllu(stream, str(file))


class SnliTreebank(SplitTreebank):
    """Word trees, converted from the constituency parses that come with the pairs.

    The head of each constituent is one of its children, by the rules of Collins (1999, *Head-Driven Statistical Models
    for Natural Language Parsing*, appendix A), after Magerman (1995); all other children depend on it. So an auxiliary
    is the head of its verb, a preposition the head of its noun, and the first conjunct the head of the second.
    Punctuation is a head only if there is nothing else. Pairs without a gold label are left out, as in the paper.
    """

    format, ending = "snli", ".jsonl"
    about = "the parses in the files of SNLI, made dependencies by head rules; trees of words"

    def read_file(self, file: Path, notes: list[str]) -> list[AnnotatedDocument]:
        """The pairs that have a gold label. All pairs of one premise, which has one tree, are a document."""
        documents = dict[str, AnnotatedDocument]()
        for example in read_snli(file, Columns("sentence1_parse", "sentence2_parse", "gold_label"), notes):
            name = example.where.rpartition(" ")[2]
            document = documents.setdefault(str(example.text[0]), AnnotatedDocument(name, []))
            document.sentences.extend(_sentences(example.text, name, example.where))
        if not documents:
            raise BadInput(f"{file}: no pairs; expected SNLI, a JSON object a line")
        return list(documents.values())


def _matching(place: Path) -> TreebankReader:
    """The format of a file, or of a directory by its files."""
    if place.is_dir():
        with reading(place):
            paths = [path for pattern in ("*", "*/*", "*/*/*") for path in place.glob(pattern)]
        files = [path.relative_to(place).as_posix() for path in paths]
    else:
        files = [place.name]
    formats = sorted(treebank_formats().values(), key=lambda each: isinstance(each, SplitTreebank))
    for each in formats:
        if each.matches(files):
            return each
    for each in formats:
        if each.archived and any("/" not in file and file.endswith(ARCHIVES) for file in files):
            return each
    names = ", ".join(treebank_formats())
    raise BadInput(f"{place}: neither *.conllu nor *.jsonl nor GUM; expected one, or format: {names}")


def _sentences(parses: str | list[str] | list[list[str]], name: str, where: str) -> Iterator[AnnotatedSentence]:
    for side, parse in enumerate(parses, start=1):
        try:
            words, tags, tree = _dependencies(str(parse))
        except ValueError as error:
            raise BadInput(f"{where}, sentence{side}_parse: {error}") from None
        yield AnnotatedSentence(f"{name}-{side}", list(words), tree, [tag in PUNCTUATION for tag in tags])


_dependencies = lru_cache(maxsize=100)(dependencies)  # each premise occurs three times, in nearby pairs
