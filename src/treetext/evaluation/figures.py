"""All figures of the trees of a level, beside those of trees that know nothing."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from treetext.evaluation.bootstrap import Interval, intervals
from treetext.evaluation.induced import Induced
from treetext.evaluation.references import REFERENCES, reference_heads
from treetext.evaluation.shapes import COMPARED, SHAPES, compare, count_shapes
from treetext.evaluation.sources import GOLD, MODEL, UNTRAINED
from treetext.models import TreeKind

FIGURES = (*SHAPES, "entropy", "margin", *(f"gold_{name}" for name in COMPARED))
"""The names of all figures; `Statistics` says what they are. The entropy is a share of the most that there can be, the
margin how much more (in nats) the log probability of the best tree is than that of the second best: both are means over
the trees of two nodes or more. Those of gold are the shares of the heads, arcs (in either direction) and roots of the
gold trees, or of a treebank's."""


class Agreement(NamedTuple):
    """How many heads, arcs (in either direction) and roots the trees of one source have that those of another have."""

    first: str
    second: str
    heads: Interval
    arcs: Interval
    roots: Interval


class LevelAnalysis(NamedTuple):
    """The trees over words, or over sentences."""

    trees: int
    nodes: int
    single: int
    """Trees of a single node."""
    figures: dict[str, dict[str, Interval]]
    """For each source of trees (the model, the untrained model, random ones, …), each of `FIGURES`."""
    agreement: list[Agreement]


def judge(
    induced: Mapping[str, Induced],
    kind: TreeKind,
    gold: Int[np.ndarray, "nodes"] | None,
    documents: int,
    *,
    counted: Bool[np.ndarray, "nodes"] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> LevelAnalysis:
    """All figures of the trees that models induce, of trees that know nothing, and of the gold trees if there are any.

    Trees that know nothing are of the model's `kind`. `counted` says which nodes count where heads and arcs are
    compared (default: all).
    """
    own = induced[MODEL].forest
    heads = {name: each.forest.heads for name, each in induced.items()}
    heads |= {name: reference_heads(name, own.lengths, seed=seed, **kind._asdict()) for name in REFERENCES}
    if gold is not None:
        heads[GOLD] = gold

    def same(first: str, second: str) -> Float[np.ndarray, "documents 3 2"]:
        return compare(own._replace(heads=heads[first]), heads[second], documents, counted)

    counts = []
    for name, each in heads.items():
        counts.append(count_shapes(own._replace(heads=each), documents))
        counts.append(_sureness(name, induced, documents))
        counts.append(np.zeros((documents, len(COMPARED), 2)) if gold is None else same(GOLD, name))
    models = set(induced) - {UNTRAINED}
    pairs = [pair for pair in combinations(heads, 2) if MODEL in pair or models.issuperset(pair)]
    counts += [same(*pair) for pair in pairs]
    found = iter(intervals(np.concatenate(counts, axis=1), resamples, seed))
    figures = {name: {figure: next(found) for figure in FIGURES} for name in heads}
    agreement = [Agreement(*pair, next(found), next(found), next(found)) for pair in pairs]
    single = int(np.count_nonzero(own.lengths == 1))
    return LevelAnalysis(len(own.lengths), len(own.heads), single, figures, agreement)


def plain(value: Any) -> Any:
    """Named tuples as dictionaries, for JSON."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def _sureness(name: str, induced: Mapping[str, Induced], documents: int) -> Float[np.ndarray, "documents 2 2"]:
    """The sums behind the means of entropies and margins; random trees are all equally likely."""
    counts = np.zeros((documents, 2, 2))
    forest = induced[MODEL].forest
    choice = forest.lengths > 1
    if name in induced:
        values = [induced[name].entropies, induced[name].margins]
    elif name == "random":
        values = [np.ones(len(choice)), np.zeros(len(choice))]
    else:
        return counts
    for figure, each in enumerate(values):
        np.add.at(counts[:, figure, 0], forest.documents[choice], each[choice])
        np.add.at(counts[:, figure, 1], forest.documents[choice], 1)
    return counts
