"""What share of the heads, arcs and roots of some trees is in others over the same nodes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from treetext.analysis._bootstrap import Interval, intervals
from treetext.analysis._reference_trees import REFERENCES, reference_heads
from treetext.trees import ROOT


class Scores(NamedTuple):
    """How much of the annotated trees some trees have: shares from 0 to 1, with 95% intervals."""

    directed: Interval
    """Of the nodes, the root included: how many have the same head (of words, the unlabelled attachment score)."""
    undirected: Interval
    """Of the arcs: how many are there, in either direction."""
    roots: Interval
    """Of the trees: how many have the same root."""

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """All of it, for JSON."""
        return {name: interval._asdict() for name, interval in self._asdict().items()}


def sameness(
    gold: Sequence[Sequence[int]],
    found: Mapping[str, Sequence[Sequence[int]]],
    counted: Sequence[Sequence[bool]],
    documents: Int[np.ndarray, "trees"],
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Scores]:
    """The scores of each of several sets of trees, given by their heads, then those of trees that know nothing.

    Of random trees, these are exact expectations. `counted` says which nodes count, and `documents` of which document
    each tree is. Trees of one node cannot but agree, and count for nothing.
    """
    many = [tree for tree, heads in enumerate(gold) if len(heads) > 1]
    sizes = np.array([len(gold[tree]) for tree in many], int)
    size, start = np.repeat(sizes, sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    node = np.arange(len(size)) - start
    _, document = np.unique(np.repeat(documents[many], sizes), return_inverse=True)

    def flat(rows: Sequence[Sequence[int]]) -> Int[np.ndarray, "nodes"]:
        return np.fromiter((value for tree in many for value in rows[tree]), int, len(node))

    heads, counts = flat(gold), flat(counted)
    is_root = heads == ROOT
    of = np.stack([counts, counts * ~is_root, is_root], axis=1).astype(float)

    def scores(same: np.ndarray, linked: np.ndarray) -> Scores:
        pairs = np.stack([of * np.stack([same, linked, same], axis=1), of], axis=2)
        return Scores(*intervals(_summed(pairs, document), resamples, seed))

    def compared(others: Int[np.ndarray, "nodes"]) -> Scores:
        same = others == heads
        head_of_head = others[np.where(is_root, 0, heads + start)] if len(others) else others
        return scores(same, same | (head_of_head == node))

    # Of the n^(n-1) trees over n nodes, n^(n-2) have any given root, and as many any given arc.
    nothing = {"random": scores(1 / size, 2 / size)}
    nothing |= {name: compared(reference_heads(name, sizes)) for name in REFERENCES if name != "random"}
    return {name: compared(flat(trees)) for name, trees in found.items()} | nothing


def _summed(pairs: Float[np.ndarray, "nodes 3 2"], document: Int[np.ndarray, "nodes"]) -> np.ndarray:
    """The sums over the nodes of each document."""
    columns = pairs.reshape(-1, 6).T
    sums = [np.bincount(document, column) for column in columns]
    return np.stack(sums, axis=1, dtype=float).reshape(-1, 3, 2)
