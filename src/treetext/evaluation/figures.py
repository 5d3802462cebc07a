"""All figures of the trees of a level, of reference trees and of gold trees."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from treetext.evaluation.bootstrap import Interval, intervals
from treetext.evaluation.induced import Induced
from treetext.evaluation.references import REFERENCES, reference_heads
from treetext.evaluation.shapes import COMPARED, SHAPES, SMALL, Forest, compare, count_shapes
from treetext.evaluation.sources import GOLD, MODEL, UNTRAINED
from treetext.models import TreeKind

FIGURES = (*SHAPES, "entropy", "margin", *(f"gold_{name}" for name in COMPARED))
"""The names of all figures. `Statistics` explains the shapes. The entropy is a share of its maximum. The margin is the
log probability of the best tree minus that of the second best, in nats. Both are means over trees of two or more nodes.
Figures of gold are the shares of the heads, arcs (in either direction) and roots of the gold trees that are present."""


class Agreement(NamedTuple):
    """The shares of heads, arcs (in either direction) and roots of one source's trees that another's have."""

    first: str
    second: str
    heads: Interval
    arcs: Interval
    roots: Interval


class NearRoot(NamedTuple):
    """The share of nodes that are a root or hang from one, in trees of 4 nodes or more."""

    model: Interval
    random: Interval
    more: Interval
    """The share of the model minus that of random trees over the same nodes."""


class LevelAnalysis(NamedTuple):
    """The figures of the trees over words, or over sentences."""

    trees: int
    nodes: int
    single: int
    """The number of trees of a single node."""
    figures: dict[str, dict[str, Interval]]
    """For each source of trees (the model, the untrained model, random trees, …), each of `FIGURES`."""
    agreement: list[Agreement]
    near_root: NearRoot | None = None


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
    """All figures of the trees that models induce, of reference trees, and of the gold trees if they are known.

    Random trees are of the model's `kind`. `counted` has the nodes that count when heads and arcs are compared
    (default: all).
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
    values = iter(intervals(np.concatenate(counts, axis=1), resamples, seed))
    figures = {name: {figure: next(values) for figure in FIGURES} for name in heads}
    agreement = [Agreement(*pair, next(values), next(values), next(values)) for pair in pairs]
    single = int(np.count_nonzero(own.lengths == 1))
    near = _near_root(own, heads["random"], documents, resamples, seed)
    return LevelAnalysis(len(own.lengths), len(own.heads), single, figures, agreement, near)


def _near_root(own: Forest, random: Int[np.ndarray, "nodes"], documents: int, resamples: int, seed: int) -> NearRoot:
    large = own.lengths > SMALL
    nodes = np.repeat(large, own.lengths)
    forests = [Forest(heads[nodes], own.lengths[large], own.documents[large]) for heads in (own.heads, random)]
    depths = [SHAPES.index("depth_1"), SHAPES.index("depth_2")]
    mine, theirs = (count_shapes(forest, documents)[:, depths] for forest in forests)
    total = mine[:, 0, 1]
    counts = [np.stack([near, total], -1) for near in (mine[..., 0].sum(1), theirs[..., 0].sum(1))]
    counts.append(np.stack([counts[0][:, 0] - counts[1][:, 0], total], -1))
    return NearRoot(*intervals(np.stack(counts, 1), resamples, seed))


def plain(value: Any) -> Any:
    """Named tuples as dictionaries, for JSON."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def _sureness(name: str, induced: Mapping[str, Induced], documents: int) -> Float[np.ndarray, "documents 2 2"]:
    """The sums behind the mean entropy and margin. Random trees are uniform: entropy share 1, margin 0."""
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
