"""Analysis of a model's trees: their shapes, their agreement with other trees, and whether they matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treetext.data import BadInput, Corpus, Progress
from treetext.evaluation.ablation import Ablated, ablate
from treetext.evaluation.bootstrap import Interval, intervals
from treetext.evaluation.figures import LevelAnalysis, judge, plain
from treetext.evaluation.induced import Induced, induce
from treetext.evaluation.run import check_task
from treetext.evaluation.sources import LEVELS, MODEL, check_levels, checked_levels, checked_targets, sources
from treetext.evaluation.verdict import verdict
from treetext.models import Model


@dataclass(frozen=True)
class Analysis:
    """The result of `analyse`."""

    data: str
    fingerprint: str
    split: str
    """train, dev, test, or all if the corpus has no other texts."""
    documents: int
    without_trees: int
    """The number of texts without words."""
    accuracy: Interval | None
    """None if the texts have no labels."""
    words: LevelAnalysis | None
    sentences: LevelAnalysis | None
    ablation: list[Ablated]

    @property
    def levels(self) -> dict[str, LevelAnalysis]:
        """The levels that have trees."""
        return {name: level for name in LEVELS if (level := getattr(self, name)) is not None}

    @property
    def verdict(self) -> list[str]:
        """Three sentences: do the trees matter for the label, are they flat, and are they vacuous?"""
        return verdict(self.levels, self.ablation)

    def to_dict(self) -> dict[str, Any]:
        """The analysis as plain lists and dictionaries, for JSON."""
        return {**{name: plain(value) for name, value in vars(self).items()}, "verdict": self.verdict}


def analyse(
    model: Model,
    corpus: Corpus,
    split: str = "test",
    *,
    others: Mapping[str, Model] | None = None,
    untrained: Model | None = None,
    ablation: bool = True,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Analysis:
    """Statistics of the trees that a model induces on the texts of a split, with 95% confidence intervals.

    The same statistics are computed for the `untrained` model (default: the same settings and seed, with fresh weights
    and random word vectors), for random trees, chains and stars and, if known, for the gold trees. `others`, such as
    models of other seeds, are compared with the model and with each other. `ablation` labels the texts with other
    marginals too. `seed` is the seed of random trees, of shuffling and of the bootstrap over documents.
    """
    models = sources(model, others, untrained)
    _check(models, corpus)
    check_levels(models, checked_levels(model))
    targets, rows = checked_targets(model, corpus, split), corpus.rows[split]
    induced, right = dict[str, dict[str, Induced]](), None
    for name, each in models.items():
        induced[name], classes = induce(each, corpus, split, progress)
        if name == MODEL and targets is not None:
            right = np.stack([classes == targets, np.ones(len(classes))], -1)[:, None].astype(float)
    levels = {}
    for level in checked_levels(model):
        of_level = {name: trees[level] for name, trees in induced.items()}
        gold = corpus.gold_heads(level, rows[np.unique(of_level[MODEL].forest.documents)])
        levels[level] = judge(of_level, model.trees[level], gold, len(rows), resamples=resamples, seed=seed)
    return Analysis(
        data=corpus.name,
        fingerprint=corpus.fingerprint,
        split=corpus.part(split),
        documents=len(rows),
        without_trees=len(rows) - len(corpus.whole(split)),
        accuracy=None if right is None else intervals(right, resamples, seed)[0],
        words=levels.get("words"),
        sentences=levels.get("sentences"),
        ablation=ablate(model, corpus, split, seed=seed, resamples=resamples, progress=progress) if ablation else [],
    )


def _check(models: Mapping[str, Model], corpus: Corpus) -> None:
    for name, model in models.items():
        check_task(model, corpus, name)
        try:
            checked_levels(model)
        except BadInput as error:
            raise BadInput(error if name == MODEL else f"{name}: {error}") from None
        mine, first = (
            (m.tokenizer.language, m.tokenizer.lowercase, m.tokenizer.tokenized, m.tokenizer.limits)
            for m in (model, models[MODEL])
        )
        if mine != first:
            raise BadInput(f"{name}: tokenises texts differently from the first model; expected the same tokenizer")
