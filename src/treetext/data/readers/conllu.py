"""Treebanks in CoNLL-U, the format of Universal Dependencies."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treetext.data.document import BadInput, counted
from treetext.data.readers.annotated import AnnotatedDocument, AnnotatedSentence, Place, annotated_tree, whole_number
from treetext.data.readers.files import lines

NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
"""The ID of a multiword token (3-4), whose words follow, or of an empty node (5.1)."""


def read_conllu(stream: Iterable[bytes], file: str) -> list[AnnotatedDocument]:
    """The documents of a file, as marked by ``# newdoc``. Without such marks, each sentence is a document.

    Words, heads and the tag PUNCT are read. Multiword tokens and empty nodes are skipped.
    """
    documents: list[AnnotatedDocument] = []
    marked = False
    for block in _blocks(stream, file):
        sentence = _sentence(block, file)
        if block.document is not None or not marked:
            marked = marked or block.document is not None
            documents.append(AnnotatedDocument(block.document or sentence.name, []))
        documents[-1].sentences.append(sentence)
    if not documents:
        raise BadInput(f"{file}: no sentences; expected CoNLL-U, ten columns with tabs in between")
    return documents


class _Block(NamedTuple):
    """The lines of a sentence."""

    number: int
    """The number of the sentence in its file, from 1."""
    name: str | None
    document: str | None
    """The name of the document that starts here, if one does."""
    rows: list[tuple[int, list[str]]]
    """The line number and the fields of each word."""


def _blocks(stream: Iterable[bytes], file: str) -> Iterator[_Block]:
    number, rows = 0, list[tuple[int, list[str]]]()
    name = document = None
    for line, text in lines(stream, file):
        text = text.removesuffix("\n").removesuffix("\r")
        if not text.strip():
            if rows:
                number += 1
                yield _Block(number, name, document, rows)
                rows, name, document = [], None, None
        elif text.startswith("#"):
            key, _, value = text[1:].partition("=")
            if key.strip() == "sent_id":
                name = value.strip()
            elif key.split() and key.split()[0] == "newdoc":
                document = value.strip() or f"the document at line {line}"
        else:
            fields = text.split("\t")
            if len(fields) != 10:
                expected = "expected the 10 of CoNLL-U, with tabs in between"
                raise BadInput(f"{file}, line {line}: {counted(len(fields), 'column')}; {expected}")
            if not NO_WORD.fullmatch(fields[0]):
                rows.append((line, fields))
    if rows:
        yield _Block(number + 1, name, document, rows)


def _sentence(block: _Block, file: str) -> AnnotatedSentence:
    name = block.name or str(block.number)
    place = Place(file, [line for line, _ in block.rows], f"sentence {name}")
    heads = []
    for node, (_, fields) in enumerate(block.rows, start=1):
        if fields[0] != str(node):
            raise BadInput(f"{place.at(node)}: ID is {fields[0]!r}; expected {node}, the next word")
        if not fields[1]:
            raise BadInput(f"{place.at(node)}: FORM is empty; expected a word")
        heads.append(whole_number(fields[6], "HEAD", place.at(node)))
    tree = annotated_tree(heads, place)
    tags = [fields[3] for _, fields in block.rows]
    return AnnotatedSentence(name, [fields[1] for _, fields in block.rows], tree, [tag == "PUNCT" for tag in tags])
