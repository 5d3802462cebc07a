"""Discourse dependencies of GUM: trees over discourse units, converted to trees over sentences.

A sentence often consists of several units. Its top unit is the one nearest to the root of the document (the first of
them, if several are equally near). The head of the top unit lies in another sentence, which is the head of the
sentence. This always gives a tree: the distance to the root shrinks from a sentence to its head, and only the sentence
that has the root unit has no head.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from treetext.data.document import BadInput, counted
from treetext.data.readers.annotated import AnnotatedDocument, AnnotatedSentence, Place, annotated_tree, whole_number
from treetext.data.readers.conllu import read_conllu
from treetext.data.readers.files import corpus_files, lines, members
from treetext.data.readers.treebanks import Treebank, TreebankReader
from treetext.trees.tree import ROOT, Tree

FILES = re.compile(r"(?:^|(?<!_build/src)/)(?:dep|rst/dependencies)/([^/]+)\.(conllu|rsd)(?:\.gz)?$")
EXPECTED = "the files dep/*.conllu and rst/dependencies/*.rsd"


class Gum(TreebankReader):
    """Word trees and, from discourse dependencies, sentence trees.

    The head of a sentence is the sentence that its top discourse unit depends on: the unit nearest to the root.
    """

    format, archived = "gum", True
    about = "GUM: its directory or archive, with dep/*.conllu and rst/dependencies/*.rsd; trees of words and sentences"

    def matches(self, files: list[str]) -> bool:
        """Whether there are files in its folders."""
        return any(FILES.search(file) for file in files)

    def read(self, place: Path, split: str) -> Treebank:  # noqa: ARG002 (it is read whole)
        """All documents."""
        notes = list[str]()
        return Treebank(place.name, self.format, read_gum(str(place), notes), notes)


class Units:
    """The discourse units of a document: their tree, and the sentence (from 1) of each."""

    def __init__(self, stream: Iterable[bytes], file: str) -> None:
        numbers, heads, self.sentences = list[int](), list[int](), list[int]()
        for line, text in lines(stream, file):
            if not text.strip() or text.startswith("#"):
                continue
            where, fields = f"{file}, line {line}", text.rstrip("\r\n").split("\t")
            if len(fields) < 8:
                raise BadInput(f"{where}: {counted(len(fields), 'column')}; expected 8 or more, with tabs in between")
            numbers.append(line)
            if fields[0] != str(len(numbers)):
                raise BadInput(f"{where}: unit {fields[0]!r}; expected {len(numbers)}, the next one")
            heads.append(whole_number(fields[6], "head", where))
            sid = re.search(r"(?:^|\|)sid=([^|]*)", fields[5])
            if not sid:
                raise BadInput(f"{where}: no sid= in column 6; expected the number of the unit's sentence")
            self.sentences.append(whole_number(sid[1], "sid", where))
        if not heads:
            raise BadInput(f"{file}: no discourse units; expected one a line")
        self.place = Place(file, numbers, "the discourse tree", "unit")
        self.tree = annotated_tree(heads, self.place)

    def sentence_tree(self, count: int) -> Tree:
        """The tree over the sentences, given their number."""
        for unit, sentence in enumerate(self.sentences, start=1):
            if not 1 <= sentence <= count:
                raise BadInput(f"{self.place.at(unit)}: sid is {sentence}; expected 1 to {count}, a sentence of dep")
        if missing := set(range(1, count + 1)) - set(self.sentences):
            raise BadInput(f"{self.place.file}: sentence {min(missing)} has no unit; expected one or more for each")
        return joined(self.tree, [sentence - 1 for sentence in self.sentences])


def joined(units: Tree, sentences: Sequence[int]) -> Tree:
    """The tree over sentences that follows from a tree over units. `sentences` has the sentence of each unit.

    >>> joined(Tree.from_heads([1, -1, 1, 0]), [0, 0, 1, 2]).heads
    (-1, 0, 0)
    """
    tops: dict[int, int] = {}
    for unit, sentence in enumerate(sentences):
        if sentence not in tops or units.depths[unit] < units.depths[tops[sentence]]:
            tops[sentence] = unit
    heads = (units.heads[tops[sentence]] for sentence in range(len(tops)))
    return Tree.from_heads(ROOT if head == ROOT else sentences[head] for head in heads)


def read_gum(path: str, notes: list[str]) -> list[AnnotatedDocument]:
    """The documents of GUM, in a directory or an archive, with trees over words and over sentences."""
    words: dict[str, list[AnnotatedSentence]] = {}
    units: dict[str, Units] = {}
    for match, file, stream in members(corpus_files(path, FILES, EXPECTED), FILES):
        name, kind = match.groups()
        if name in (words if kind == "conllu" else units):
            raise BadInput(f"{file}: a second file for {name}; expected one")
        if kind == "conllu":
            words[name] = [sentence for document in read_conllu(stream, file) for sentence in document.sentences]
        else:
            units[name] = Units(stream, file)
    if not words and not units:
        raise BadInput(f"{path}: not GUM; expected {EXPECTED}")
    for name in sorted(words.keys() ^ units.keys()):
        raise BadInput(f"{path}: no {'rst/dependencies' if name in words else 'dep'} file for {name}; expected both")
    documents = [
        AnnotatedDocument(name, sentences, units[name].sentence_tree(len(sentences)))
        for name, sentences in sorted(words.items())
    ]
    with_text = [each for each in documents if any(set(sentence.words) != {"_"} for sentence in each.sentences)]
    if len(with_text) < len(documents):
        hidden = f"{len(documents) - len(with_text)} of {len(documents)} documents without their text (_ for each word)"
        notes.append(f"{path}: {hidden} left out; GUM's get_text.py fetches it")
    if not with_text:
        raise BadInput(f"{path}: no document has its text; expected words in dep/*.conllu")
    return with_text
