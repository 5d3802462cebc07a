"""What the trees of a model are like, beside trees that know nothing; if they are the same twice; if they matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from treetext.analysis._ablation import Ablated, ablate
from treetext.analysis._bootstrap import Interval, intervals
from treetext.analysis._induced import Induced, gold_heads, induce, tree_levels
from treetext.analysis._reference_trees import REFERENCES, reference_heads
from treetext.analysis._shapes import COMPARED, SHAPES, Forest, compare, count_shapes
from treetext.analysis._table import Table
from treetext.analysis._tables import tables
from treetext.models import Classifier
from treetext.text import BadInput
from treetext.training import Corpus
from treetext.training._corpus import Progress

FIGURES = (*SHAPES, "entropy", "margin", *(f"gold_{name}" for name in COMPARED))
"""The names of all figures; `Statistics` says what they are. The entropy is a share of the most that there can be, the
margin how much more (in nats) the log probability of the best tree is than that of the second best: both are means over
the trees of two nodes or more. Those of gold are the shares of known heads, arcs (in either direction) and roots."""


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


@dataclass(frozen=True)
class Analysis:
    """All that `analyse` finds."""

    data: str
    fingerprint: str
    split: str
    documents: int
    without_trees: int
    """Texts without words."""
    accuracy: Interval | None
    """None where the texts have no labels."""
    words: LevelAnalysis | None
    sentences: LevelAnalysis | None
    ablation: list[Ablated]

    @property
    def levels(self) -> dict[str, LevelAnalysis]:
        """Those that have trees."""
        return {name: level for name in ("words", "sentences") if (level := getattr(self, name)) is not None}

    def tables(self) -> list[Table]:
        """The figures as tables, for human eyes."""
        return tables(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists and dictionaries, for JSON."""
        return {name: _plain(value) for name, value in vars(self).items()}


def analyse(
    model: Classifier,
    corpus: Corpus,
    split: str = "test",
    *,
    others: Mapping[str, Classifier] | None = None,
    untrained: Classifier | None = None,
    ablation: bool = True,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Analysis:
    """Statistics of the trees that a model induces on the texts of a split, with 95% confidence intervals.

    Beside them stand those of the same model `untrained` (the same settings and seed with fresh weights and random word
    vectors, unless given), of random trees, chains and stars and, where known, of the gold trees. `others`, such as
    models of other seeds, are compared with the model and with each other. `ablation` labels the texts again and again
    with other marginals. `seed` is that of random trees, shuffling and the bootstrap, which draws documents.
    """
    if taken := {"model", "untrained", "gold", *REFERENCES} & set(others or {}):
        raise ValueError(f"others: {taken.pop()!r} is the name of something else; expected another name")
    models = {"model": model, "untrained": untrained or untrained_model(model), **(others or {})}
    _check(models, corpus, split)
    rows = corpus.rows[split]
    targets, is_labelled = corpus.targets(model.labels)[rows], bool((corpus.encoded.labels[rows] >= 0).any())
    if is_labelled:
        corpus.check_labels(model.labels, (split,))
    induced, right = dict[str, dict[str, Induced]](), None
    for name, each in models.items():
        induced[name], classes = induce(each, corpus, split, progress)
        if name == "model" and is_labelled:
            right = np.stack([classes == targets, np.ones(len(classes))], -1)[:, None].astype(float)
    levels = {level: _level(level, model, corpus, split, induced, resamples, seed) for level in tree_levels(model)}
    return Analysis(
        data=corpus.name,
        fingerprint=corpus.fingerprint,
        split=split,
        documents=len(rows),
        without_trees=int(np.count_nonzero(~model.is_whole(corpus.encoded.sentence_counts[rows]))),
        accuracy=None if right is None else intervals(right, resamples, seed)[0],
        words=levels.get("words"),
        sentences=levels.get("sentences"),
        ablation=ablate(model, corpus, split, seed=seed, resamples=resamples, progress=progress) if ablation else [],
    )


def untrained_model(model: Classifier) -> Classifier:
    """The same model before any training: with the weights that its seed gives, and with random word vectors."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(model.about.get("seed", 0)))
        made = type(model)(model.settings, model.vocabulary, model.labels, model.tokenizer, prior=model.prior)
    return made.to(model.embedding.weight).eval()


def _level(
    level: str,
    model: Classifier,
    corpus: Corpus,
    split: str,
    induced: dict[str, dict[str, Induced]],
    resamples: int,
    seed: int,
) -> LevelAnalysis:
    documents, own = len(corpus.rows[split]), induced["model"][level].forest
    settings = getattr(model.settings, level)
    kind = {"projective": settings.attention == "projective", "single_root": settings.single_root, "seed": seed}
    heads = {name: found[level].forest.heads for name, found in induced.items() if level in found}
    heads |= {name: reference_heads(name, own.lengths, **kind) for name in REFERENCES}
    gold = gold_heads(corpus, split, level, np.unique(own.documents))
    if gold is not None:
        heads["gold"] = gold
    counts = {}
    for name, each in heads.items():
        forest = own._replace(heads=each)
        counts[name] = np.concatenate(
            [
                count_shapes(forest, documents),
                _sureness(name, induced.get(name, {}).get(level), own, documents),
                np.zeros((documents, 3, 2)) if gold is None else compare(own._replace(heads=gold), each, documents),
            ],
            axis=1,
        )
    found = iter(intervals(np.concatenate(list(counts.values()), axis=1), resamples, seed))
    figures = {name: {figure: next(found) for figure in FIGURES} for name in counts}
    pairs = [pair for pair in combinations(heads, 2) if "model" in pair or set(pair) <= set(induced) - {"untrained"}]
    agreement = [
        Agreement(
            *pair, *intervals(compare(own._replace(heads=heads[pair[0]]), heads[pair[1]], documents), resamples, seed)
        )
        for pair in pairs
    ]
    single = int(np.count_nonzero(own.lengths == 1))
    return LevelAnalysis(len(own.lengths), len(own.heads), single, figures, agreement)


def _sureness(name: str, found: Induced | None, forest: Forest, documents: int) -> Float[np.ndarray, "documents 2 2"]:
    """The sums behind the means of entropies and margins."""
    counts = np.zeros((documents, 2, 2))
    if found is None and name != "random":
        return counts
    choice = forest.lengths > 1
    # Random trees are equally likely, all of them.
    values = [np.ones(len(choice)), np.zeros(len(choice))] if found is None else [found.entropies, found.margins]
    for figure, each in enumerate(values):
        np.add.at(counts[:, figure, 0], forest.documents[choice], each[choice])
        np.add.at(counts[:, figure, 1], forest.documents[choice], 1)
    return counts


def _check(models: Mapping[str, Classifier], corpus: Corpus, split: str) -> None:
    if split not in corpus.rows or not len(corpus.rows[split]):
        there = ", ".join(name for name, rows in corpus.rows.items() if len(rows)) or "none"
        raise BadInput(f"{corpus.name}: no {split} data; expected one of the splits that there are: {there}")
    for name, model in models.items():
        task, expected = model.settings.task, "pairs" if corpus.data.pairs else "documents"
        if task != expected:
            raise BadInput(
                f"{name}: a model of {task}, but {corpus.name} has {expected}; expected a model of {expected}"
            )
        try:
            tree_levels(model)
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None
        mine, first = (
            (m.tokenizer.language, m.tokenizer.lowercase, m.tokenizer.tokenized) for m in (model, models["model"])
        )
        if mine != first:
            raise BadInput(f"{name}: cuts texts into words otherwise than the first model; expected the same tokenizer")


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
