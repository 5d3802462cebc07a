"""One dependency tree, as a value."""

from __future__ import annotations

import operator
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

ROOT = -1
"""The head of a root node."""

PAD = -2
"""The head of a position past the end of a tree."""

Arc = tuple[int, int]
"""A head and its dependent."""


@runtime_checkable
class Array(Protocol):
    """An array or a tensor of any library. This module imports none of them."""

    def tolist(self) -> Any:
        """The elements as Python numbers."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A dependency tree over the nodes 0 to n - 1, or a forest, if it has several roots.

    ``heads[j]`` is the parent of node j, and ``ROOT`` (-1) if j is a root. The constructor checks that there are no
    cycles and at least one root. Nodes count from 0, also in messages.

    >>> tree = Tree.from_heads([1, -1, 1])
    >>> tree.root, tree.height, tree.projective
    (1, 2, True)
    """

    heads: tuple[int, ...]
    children: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    """The dependents of each node, from left to right."""
    depths: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The depth of each node: 1 for a root, one more than its head's for any other."""

    def __post_init__(self) -> None:
        _check_range(self.heads)
        # A frozen dataclass allows no other assignment.
        object.__setattr__(self, "children", _children(self.heads))
        object.__setattr__(self, "depths", _depths(self.heads, self.children))

    @classmethod
    def from_heads(cls, heads: Iterable[int] | Array, single_root: bool = True) -> Tree:
        """The tree with these heads: a sequence of integers, an array or a tensor.

        Padding at the end is dropped. ``single_root=False`` allows several roots.
        """
        tree = cls(_as_integers(heads))
        if single_root and len(tree.roots) > 1:
            raise ValueError(f"{_several_roots(tree.roots)} (pass single_root=False to allow this)")
        return tree

    @classmethod
    def from_conllu(cls, text: str, single_root: bool = True) -> Tree:
        """The tree of one sentence in CoNLL-U: its ID and HEAD columns.

        Comments, multiword tokens (``3-4``) and empty nodes (``5.1``) are skipped.
        """
        heads = _read_conllu(text)
        try:
            return cls.from_heads(heads, single_root)
        except ValueError as error:
            raise ValueError(f"{error} (words counted from 0)") from None

    def to_conllu(self, words: Sequence[str] | None = None) -> str:
        """The tree as one sentence in CoNLL-U, including the empty line at its end.

        FORM is ``_`` if no words are given. DEPREL is ``root`` for roots and ``dep`` for other nodes.
        """
        words = ["_"] * len(self) if words is None else _checked_words(words, len(self))
        rows = [
            f"{node}\t{word}\t_\t_\t_\t_\t{head + 1}\t{'root' if head == ROOT else 'dep'}\t_\t_\n"
            for node, (word, head) in enumerate(zip(words, self.heads, strict=True), start=1)
        ]
        return "".join(rows) + "\n"

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def root(self) -> int:
        """The root. Raises a ValueError if there are several."""
        roots = self.roots
        if len(roots) > 1:
            raise ValueError(_several_roots(roots))
        return roots[0]

    @property
    def roots(self) -> tuple[int, ...]:
        """The nodes without a parent."""
        return tuple(node for node, head in enumerate(self.heads) if head == ROOT)

    @property
    def leaves(self) -> tuple[int, ...]:
        """The nodes without dependents."""
        return tuple(node for node, dependents in enumerate(self.children) if not dependents)

    @property
    def height(self) -> int:
        """The largest depth: 1 if all nodes are roots."""
        return max(self.depths)

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """(head, dependent) for every node except roots, in the order of the dependents."""
        return tuple((head, node) for node, head in enumerate(self.heads) if head != ROOT)

    @property
    def arc_lengths(self) -> tuple[int, ...]:
        """The distance between head and dependent, for each of ``arcs``."""
        return tuple(abs(head - node) for head, node in self.arcs)

    @property
    def projective(self) -> bool:
        """Whether, for every arc, all nodes between head and dependent descend from the head.

        An arc over a root makes a tree non-projective, with one root or with several. So a tree is projective if and
        only if ``crossing`` is empty.
        """
        # Equivalently, every node and its descendants are contiguous.
        first, last, size = list(range(len(self))), list(range(len(self))), [1] * len(self)
        for node in sorted(range(len(self)), key=self.depths.__getitem__, reverse=True):
            if last[node] - first[node] + 1 != size[node]:
                return False
            head = self.heads[node]
            if head != ROOT:
                first[head] = min(first[head], first[node])
                last[head] = max(last[head], last[node])
                size[head] += size[node]
        return True

    @property
    def crossing(self) -> tuple[tuple[Arc, Arc], ...]:
        """The pairs of arcs that cross. In each pair, the arc that starts further left comes first.

        The artificial root is left of all nodes. Its arcs count too, as (-1, root), and cross the arcs over a root.
        This takes O(n log n + number of crossings) time.
        """
        # ROOT is -1, which is also the position of the artificial root.
        arcs = [(head, node) for node, head in enumerate(self.heads)]
        unopened = deque(sorted(arcs, key=lambda arc: (min(arc), -max(arc))))
        opened: list[Arc] = []
        crossings: list[tuple[Arc, Arc]] = []
        for arc in sorted(arcs, key=lambda arc: (max(arc), -min(arc))):
            while unopened and min(unopened[0]) < max(arc):
                opened.append(unopened.popleft())
            # An arc that opened inside this arc, and is still open at its end, crosses it.
            place = len(opened) - 1
            while opened[place] != arc:
                place -= 1
            crossings += [(arc, other) for other in opened[place + 1 :]]
            del opened[place]
        return tuple(crossings)


def _as_integers(heads: Iterable[int] | Array) -> tuple[int, ...]:
    """The heads as Python integers, without the padding at the end."""
    values = heads.tolist() if isinstance(heads, Array) else heads
    if not isinstance(values, Iterable):
        raise ValueError(f"heads must be a sequence of integers, not {values!r}")
    integers = []
    for node, head in enumerate(values):
        try:
            integers.append(operator.index(head))
        except TypeError:
            raise ValueError(f"head of {node} is {head!r}, which is not an integer") from None
    while integers and integers[-1] == PAD:
        integers.pop()
    return tuple(integers)


def _check_range(heads: tuple[int, ...]) -> None:
    count = len(heads)
    if count == 0:
        raise ValueError("a tree needs at least one node, but there are no heads")
    for node, head in enumerate(heads):
        if head >= count:
            raise ValueError(f"head of {node} is {head}, but there {_only(count, 'node')}")
        if head == node:
            raise ValueError(f"node {node} is its own head")
        if head == PAD:
            raise ValueError(f"head of {node} is {PAD}: padding, which from_heads drops only at the end")
        if head < ROOT:
            raise ValueError(f"head of {node} is {head}, but a head is a node (from 0) or {ROOT} for a root")
    if ROOT not in heads:
        raise ValueError(f"no root: none of the heads is {ROOT}")


def _children(heads: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    children: list[list[int]] = [[] for _ in heads]
    for node, head in enumerate(heads):
        if head != ROOT:
            children[head].append(node)
    return tuple(map(tuple, children))


def _depths(heads: tuple[int, ...], children: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The depths, level by level from the roots. Raises a ValueError if there is a cycle."""
    depths = [0] * len(heads)
    level = [node for node, head in enumerate(heads) if head == ROOT]
    depth = 1
    while level:
        for node in level:
            depths[node] = depth
        level = [child for node in level for child in children[node]]
        depth += 1
    if 0 in depths:
        raise ValueError(f"cycle through {_listed(_cycle_above(depths.index(0), heads))}")
    return tuple(depths)


def _cycle_above(node: int, heads: tuple[int, ...]) -> list[int]:
    """The nodes of the cycle above a node, in ascending order."""
    seen: dict[int, int] = {}  # each node on the path, with its position in it
    while node not in seen:
        seen[node] = len(seen)
        node = heads[node]
    return sorted(list(seen)[seen[node] :])


def _read_conllu(text: str) -> list[int]:
    """The heads in one sentence of CoNLL-U, counted from 0, with ROOT for roots."""
    rows = list(_word_rows(text))
    if not rows:
        raise ValueError("no words in this CoNLL-U text")
    heads = []
    for word, (number, fields) in enumerate(rows, start=1):
        ident, head = fields[0], fields[6]
        if ident != str(word):
            raise ValueError(f"line {number}: ID is {ident!r}, but {word} comes next")
        if not re.fullmatch("[0-9]+", head):
            raise ValueError(f"line {number}: HEAD is {head!r}, which is not a whole number")
        if int(head) > len(rows):
            raise ValueError(f"line {number}: HEAD is {head}, but there {_only(len(rows), 'word')}")
        if int(head) == word:
            raise ValueError(f"line {number}: HEAD is {head}, the word itself")
        heads.append(int(head) - 1)
    return heads


def _word_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """The line number and the ten fields of each word of a sentence in CoNLL-U."""
    ended = started = False
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line.strip():
            ended = started
            continue
        if ended:
            raise ValueError(f"line {number}: a second sentence starts here; expected one sentence")
        started = True
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 10:
            raise ValueError(f"line {number}: expected 10 fields separated by tabs, got {len(fields)}")
        if not re.fullmatch(r"[0-9]+[-.][0-9]+", fields[0]):  # multiword tokens and empty nodes
            yield number, fields


def _checked_words(words: Sequence[str], count: int) -> Sequence[str]:
    if len(words) != count:
        raise ValueError(f"{len(words)} words for {count} nodes: a tree needs one word per node")
    for node, word in enumerate(words):
        if not word or re.search(r"[\t\n\r]", word):
            raise ValueError(f"word {node} is {word!r}, but CoNLL-U allows no empty words, tabs or newlines")
    return words


def _several_roots(roots: tuple[int, ...]) -> str:
    return f"{'two' if len(roots) == 2 else len(roots)} roots: {_listed(roots)}"


def _only(count: int, noun: str) -> str:
    return f"is only 1 {noun}" if count == 1 else f"are only {count} {noun}s"


def _listed(nodes: Sequence[int]) -> str:
    """The first ten nodes, so that a message stays one readable line."""
    return ", ".join(map(str, nodes[:10])) + (", …" if len(nodes) > 10 else "")
