"""Recovery of gold trees: the shares of gold heads, arcs and roots that a model's trees have."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from treetext.data import BadInput, Corpus
from treetext.evaluation.induced import induce
from treetext.evaluation.shapes import compare
from treetext.models import Model


class Recovery(NamedTuple):
    """Shares of the gold trees, from 0 to 1, in the trees of a model or, as expected values, in random trees."""

    heads: float
    """The share of the nodes, roots included, that have the right head."""
    arcs: float
    """The share of the gold arcs that are present, in either direction."""
    roots: float
    """The share of the trees that have the right root."""


def gold_recovery(model: Model, corpus: Corpus, split: str = "test") -> dict[str, dict[str, Recovery]]:
    """For words and for sentences, the recovery by the model's trees (`found`) and by random trees (`chance`).

    All random trees are equally likely: over n nodes, each head is right with probability 1/n, and each arc is present
    in either direction with probability 2/n. Trees of a single node are ignored. A level without larger trees is left
    out.
    """
    results = {}
    for level, induced in induce(model, corpus, split)[0].items():
        forest = induced.forest
        if not (forest.lengths > 1).any():
            continue
        gold = corpus.gold_heads(level, corpus.rows[split][np.unique(forest.documents)])
        if gold is None:
            problem = f"the {split} data have no gold trees of {level}"
            raise BadInput(f"{corpus.name}: {problem}; expected a corpus such as hidden-trees")
        counts = compare(forest._replace(heads=gold), forest.heads, len(corpus.rows[split])).sum(0)
        results[level] = {"found": Recovery(*(counts[:, 0] / counts[:, 1]).tolist()), "chance": chance(forest.lengths)}
    return results


def chance(lengths: Int[np.ndarray, "trees"]) -> Recovery:
    """The expected recovery by random trees of these sizes, each with a single root."""
    n = lengths[lengths > 1]
    return Recovery(len(n) / n.sum(), (2 * (n - 1) / n).sum() / (n - 1).sum(), (1 / n).mean())
