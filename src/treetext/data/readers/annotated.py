"""Annotated documents: sentences with trees, which are checked."""

from collections.abc import Sequence
from typing import NamedTuple

from treetext.data.document import BadInput
from treetext.trees.tree import ROOT, Tree


class AnnotatedSentence(NamedTuple):
    """A sentence with its tree, tokenised as in its treebank."""

    name: str
    words: list[str]
    tree: Tree
    punctuation: list[bool]
    """Whether each word is punctuation, by its tag."""


class AnnotatedDocument(NamedTuple):
    """Sentences that belong together."""

    name: str
    sentences: list[AnnotatedSentence]
    tree: Tree | None = None
    """The tree over the sentences, if known."""


class Place(NamedTuple):
    """The source of some heads, for messages: a file, the line of each node, and the name of the tree."""

    file: str
    lines: Sequence[int]
    whole: str
    """The name of the tree, such as ``sentence 7``."""
    noun: str = "word"

    def at(self, node: int) -> str:
        """The place of a node, counted from 1."""
        return f"{self.file}, line {self.lines[node - 1]}, {self.whole}"


def whole_number(text: str, column: str, where: str) -> int:
    """The number in a field. Raises `BadInput` if it is not a whole number."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadInput(f"{where}: {column} is {text!r}; expected a whole number")
    return int(text)


def annotated_tree(heads: Sequence[int], place: Place) -> Tree:
    """The tree with these heads, counted from 1, with 0 for the root. An error names the line of the bad head."""
    count, noun = len(heads), place.noun
    for node, head in enumerate(heads, start=1):
        if head > count:
            expected = f"expected a {noun} from 1 to {count}, or 0 for the root"
            raise BadInput(f"{place.at(node)}: the head of {noun} {node} is {head}; {expected}")
        if head == node:
            raise BadInput(f"{place.at(node)}: {noun} {node} is its own head; expected another, or 0 for the root")
    roots = [node for node, head in enumerate(heads, start=1) if head == 0]
    if len(roots) != 1:
        problem = f"{noun}s {roots[0]} and {roots[1]} are both roots" if roots else "no root"
        raise BadInput(f"{place.at(roots[1] if roots else 1)}: {problem}; expected one {noun} with head 0")
    if cycle := _cycle(heads):
        listed = ", ".join(map(str, cycle[:10])) + ", …" * (len(cycle) > 10)
        raise BadInput(f"{place.at(cycle[0])}: the heads of {noun}s {listed} form a cycle; expected a tree")
    return Tree(tuple(head - 1 if head else ROOT for head in heads))


def _cycle(heads: Sequence[int]) -> list[int]:
    """The nodes of the first cycle, from 1, in ascending order; empty for a tree."""
    seen_from = [0] * (len(heads) + 1)  # the node from which each was first reached
    seen_from[0] = -1
    for start in range(1, len(heads) + 1):
        node = start
        while not seen_from[node]:
            seen_from[node] = start
            node = heads[node - 1]
        if seen_from[node] == start:
            cycle = [node]
            while heads[cycle[-1] - 1] != node:
                cycle.append(heads[cycle[-1] - 1])
            return sorted(cycle)
    return []
