"""How many arcs of the gold trees a model's trees have, where the gold trees are known."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treetext.models import Classifier, Parsed
from treetext.text import BadInput
from treetext.training import Corpus
from treetext.trees import ROOT


class Recovery(NamedTuple):
    """Shares of what is known, from 0 to 1: of the trees of a model, or as expected of random trees."""

    directed: float
    """Of the nodes, roots included: how many have the right head."""
    undirected: float
    """Of the arcs: how many are there, in either direction."""
    roots: float
    """Of the trees: how many have the right root."""


class Pair(NamedTuple):
    """Heads in the gold tree and in another, of the same nodes."""

    gold: Sequence[int]
    found: Sequence[int]


def gold_recovery(model: Classifier, corpus: Corpus, split: str = "test") -> dict[str, dict[str, Recovery]]:
    """For words and for sentences, how many gold arcs the model's trees have, and how many random trees would.

    Random trees are all equally likely: over n nodes, each head is right with probability 1/n, and each arc is there
    in either direction with probability 2/n. Trees of a single node count for nothing.
    """
    rows = corpus.rows[split].tolist()
    if any(corpus.encoded.sentence_heads(row) is None for row in rows):
        raise BadInput(f"{corpus.name}: the {split} data have no gold trees; expected a corpus such as hidden-trees")
    parsed = model.parse([corpus.encoded.document(row) for row in rows])
    return {level: shares(pairs) for level, pairs in _pairs(corpus, rows, parsed).items() if pairs}


def shares(pairs: Sequence[Pair]) -> dict[str, Recovery]:
    """Of what is `found`, and of what is to be expected by `chance`."""
    pairs = [pair for pair in pairs if len(pair.gold) > 1]
    found = [
        (gold == head, gold != ROOT and (gold == head or found[gold] == j), gold == ROOT)
        for golds, found in pairs
        for j, (gold, head) in enumerate(zip(golds, found, strict=True))
    ]
    right, joined, is_root = np.array(found).T
    sizes = np.array([len(pair.gold) for pair in pairs])
    chances = len(pairs) / sizes.sum(), (2 * (sizes - 1) / sizes).sum() / (~is_root).sum(), (1 / sizes).mean()
    return {
        "found": Recovery(float(right.mean()), float(joined[~is_root].mean()), float(right[is_root].mean())),
        "chance": Recovery(*map(float, chances)),
    }


def _pairs(corpus: Corpus, rows: Iterable[int], parsed: Iterable[Parsed]) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {"words": [], "sentences": []}
    for row, document in zip(rows, parsed, strict=True):
        heads, sentence_heads = corpus.encoded.heads(row), corpus.encoded.sentence_heads(row)
        if document.tree and sentence_heads is not None:
            found["sentences"].append(Pair(sentence_heads.tolist(), document.tree.heads))
        ends = np.cumsum([0, *corpus.encoded.lengths(row)]).tolist()
        for (start, end), sentence in zip(pairwise(ends), document.sentences, strict=True):
            if sentence.tree and heads is not None:
                found["words"].append(Pair(heads[start:end].tolist(), sentence.tree.heads))
    return found
