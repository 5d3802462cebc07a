"""How many arcs of the gold trees a model's trees have, where the gold trees are known."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from treetext.data import BadInput, Corpus
from treetext.evaluation.induced import induce
from treetext.evaluation.shapes import compare
from treetext.models import Model


class Recovery(NamedTuple):
    """Shares of what is known, from 0 to 1: of the trees of a model, or as expected of random trees."""

    heads: float
    """Of the nodes, roots included: how many have the right head."""
    arcs: float
    """Of the arcs: how many are there, in either direction."""
    roots: float
    """Of the trees: how many have the right root."""


def gold_recovery(model: Model, corpus: Corpus, split: str = "test") -> dict[str, dict[str, Recovery]]:
    """For words and for sentences, how many gold arcs the model's trees have (`found`), and random trees (`chance`).

    Random trees are all equally likely: over n nodes, each head is right with probability 1/n, and each arc is there
    in either direction with probability 2/n. Trees of a single node count
    for nothing; a level that has no others is left out.
    """
    results = {}
    for level, found in induce(model, corpus, split)[0].items():
        forest = found.forest
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
    """What is expected of random trees of these sizes, each with a single root."""
    n = lengths[lengths > 1]
    return Recovery(len(n) / n.sum(), (2 * (n - 1) / n).sum() / (n - 1).sum(), (1 / n).mean())
