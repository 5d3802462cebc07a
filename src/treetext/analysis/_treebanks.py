"""Treebanks: Universal Dependencies, the parses that come with SNLI, and the discourse trees of GUM."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from treetext.analysis._annotated import AnnotatedDocument, AnnotatedSentence
from treetext.analysis._conllu import read_conllu
from treetext.analysis._discourse import FILES as GUM_FILES
from treetext.analysis._discourse import read_gum
from treetext.analysis._head_rules import PUNCTUATION, dependencies
from treetext.corpora._files import ARCHIVES, existing, opened, reading, split_files
from treetext.corpora._tables import Columns, read_jsonl
from treetext.text import BadInput

Format = Literal["conllu", "snli", "gum"]
FORMATS: tuple[Format, ...] = get_args(Format)


class Treebank(NamedTuple):
    """Documents with trees to compare with."""

    name: str
    """As in ``en_ewt-ud-test.conllu``."""
    format: Format
    documents: list[AnnotatedDocument]
    notes: list[str]
    """What was left out of it, and why."""

    @property
    def has_documents(self) -> bool:
        """Whether there are trees over sentences."""
        return all(document.tree for document in self.documents)


def read_treebank(path: str | Path, format: Format | None = None, split: str = "test") -> Treebank:  # noqa: A002
    """A treebank, gzipped or not; unless told, its format is that of its files.

    Of a directory whose files are called train, dev and test, one `split` is read. GUM is read whole.

    ``conllu``: trees of words, as in the columns ID, FORM and HEAD.

    ``snli``: trees of words, from the parses in brackets that come with the pairs. The head of each constituent is one
    of its children, by the rules of Collins (1999, *Head-Driven Statistical Models for Natural Language Parsing*,
    appendix A), after Magerman (1995); all other children depend on it. So an auxiliary is the head of its verb, a
    preposition that of its noun, and the first of two things that of the second. Punctuation is no head where there is
    anything else. Pairs without a gold label are left out, as in the paper.

    ``gum``: trees of words and, from discourse dependencies, of sentences. The head of a sentence is found through the
    one of its discourse units that is nearest to the root of the document: the sentence that this unit depends on.
    """
    if format not in (None, *FORMATS):
        raise ValueError(f"format: expected {', '.join(FORMATS)}, got {format!r}")
    place, notes = existing(str(path)), list[str]()
    found = format or _format(place)
    if found == "gum":
        documents = read_gum(str(place), notes)
        return Treebank(place.name, found, documents, notes)
    files = _split(place, found, split, notes)
    documents = [document for file in files for document in _READERS[found](file, notes)]
    return Treebank(", ".join(file.name.removesuffix(".gz") for file in files), found, documents, notes)


def _format(place: Path) -> Format:
    """What a file, or a directory by its files, seems to be."""
    if place.is_dir():
        with reading(place):
            files = [file for pattern in ("*", "*/*", "*/*/*") for file in place.glob(pattern)]
        if any(GUM_FILES.search(file.relative_to(place).as_posix()) for file in files):
            return "gum"
        names = [file.name for file in files if file.parent == place]
    else:
        names = [place.name]
    if any(name.removesuffix(".gz").endswith(".conllu") for name in names):
        return "conllu"
    if any(name.removesuffix(".gz").endswith(".jsonl") for name in names):
        return "snli"
    if any(name.endswith(ARCHIVES) for name in names):
        return "gum"
    raise BadInput(f"{place}: neither *.conllu nor *.jsonl nor GUM; expected one, or format: {', '.join(FORMATS)}")


def _split(place: Path, format: Format, split: str, notes: list[str]) -> list[Path]:  # noqa: A002
    files = split_files(str(place), ".conllu" if format == "conllu" else ".jsonl", notes)
    wanted = [file for found, file in files if found in (split, "all")]
    if not wanted:
        there = ", ".join(dict.fromkeys(found for found, _ in files))
        raise BadInput(f"{place}: no {split} files; expected one of the splits that there are: {there}")
    return wanted


def _read_conllu(file: Path, _: list[str]) -> list[AnnotatedDocument]:
    with opened(file) as stream:
        return read_conllu(stream, str(file))


def _read_snli(file: Path, notes: list[str]) -> list[AnnotatedDocument]:
    """The pairs that have a gold label, as in the paper, with the Stanford parser's trees.

    Those of one premise, which has the same tree in all of them, are a document.
    """
    found, undecided = dict[str, AnnotatedDocument](), 0
    columns = Columns("sentence1_parse", "sentence2_parse", "gold_label")
    for example in read_jsonl(file, columns, notes):
        if example.label == "-":
            undecided += 1
            continue
        name = example.where.rpartition(" ")[2]
        document = found.setdefault(str(example.text[0]), AnnotatedDocument(name, []))
        document.sentences.extend(_sentences(example.text, name, example.where))
    if undecided:
        notes.append(f"{file}: {undecided} pairs without a gold label ('-') left out")
    if not found:
        raise BadInput(f"{file}: no pairs; expected SNLI, a JSON object a line")
    return list(found.values())


def _sentences(parses: str | list[str] | list[list[str]], name: str, where: str) -> Iterator[AnnotatedSentence]:
    for side, parse in enumerate(parses, start=1):
        try:
            words, tags, tree = _dependencies(str(parse))
        except ValueError as error:
            raise BadInput(f"{where}, sentence{side}_parse: {error}") from None
        yield AnnotatedSentence(f"{name}-{side}", list(words), tree, [tag in PUNCTUATION for tag in tags])


_dependencies = lru_cache(maxsize=100)(dependencies)  # each premise comes three times, soon after each other
_READERS = {"conllu": _read_conllu, "snli": _read_snli}
