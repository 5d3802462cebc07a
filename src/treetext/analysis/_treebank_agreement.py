"""How far a model's trees agree with those of a treebank."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from treetext.analysis._annotated import AnnotatedDocument
from treetext.analysis._sameness import Scores, sameness
from treetext.analysis._shapes import Statistics, tree_statistics
from treetext.analysis._table import Table
from treetext.analysis._tree_table import scores_table, shape_table
from treetext.analysis._treebanks import Treebank
from treetext.models import Classifier
from treetext.models._classifier import Progress
from treetext.text import BadInput
from treetext.trees import ROOT, Tree

T = TypeVar("T")
MODEL = "model"
AT_ONCE = 512  # texts that are parsed together, which bounds the memory


class Compared(NamedTuple):
    """A tree beside that of the reference."""

    document: str
    name: str
    nodes: list[str]
    reference: Tree
    found: Tree
    counted: list[bool]
    """Which nodes count: all, unless punctuation is left out."""

    def record(self) -> dict[str, Any]:
        """All of it for JSON, with how many of its heads and arcs are the same."""
        heads = self.found.heads
        counted = [(j, head) for j, head in enumerate(self.reference.heads) if self.counted[j]]
        return {
            "document": self.document,
            "name": self.name,
            "nodes": self.nodes,
            "reference": list(self.reference.heads),
            "heads": list(heads),
            "counted": len(counted),
            "directed": sum(heads[j] == head for j, head in counted),
            "undirected": sum(head != ROOT and (heads[j] == head or heads[head] == j) for j, head in counted),
            "root": heads[self.reference.root] == ROOT,
        }


class LevelAgreement(NamedTuple):
    """Agreement over the words of sentences, or over the sentences of documents."""

    scores: dict[str, Scores]
    """By whose trees they are: the model's first, those that know nothing last."""
    trees: list[Compared]
    """The model's, in the order of the treebank."""

    @property
    def single(self) -> int:
        """How many trees have one node only: these cannot but agree, and count for nothing in the scores."""
        return sum(len(tree.reference) == 1 for tree in self.trees)

    @property
    def shapes(self) -> dict[str, Statistics]:
        """What the treebank's trees are like, and what the model's."""
        return {
            "treebank": tree_statistics([tree.reference for tree in self.trees]),
            MODEL: tree_statistics([tree.found for tree in self.trees]),
        }


class TreebankAgreement(NamedTuple):
    """What `agreement` finds."""

    treebank: str
    format: str
    levels: dict[str, LevelAgreement]
    """Words and sentences: each where both the model and the treebank have trees of them."""
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The figures, without the trees, as plain lists and dictionaries for JSON."""
        levels = {
            name: {
                "trees": len(level.trees),
                "single": level.single,
                "scores": {who: scores.to_dict() for who, scores in level.scores.items()},
                "shapes": {who: shape._asdict() for who, shape in level.shapes.items()},
            }
            for name, level in self.levels.items()
        }
        return {"treebank": self.treebank, "format": self.format, "notes": self.notes, "levels": levels}

    def tables(self) -> list[Table]:
        """For each level, the agreement and the shapes of the trees; for SNLI, the latter is the paper's table."""
        found = []
        for name, level in self.levels.items():
            single = f" Trees of one node ({level.single:,}) count for nothing." if level.single else ""
            title = f"Trees of {name}: agreement with {self.treebank}, {len(level.trees):,} trees"
            same = level.scores[MODEL].directed.value
            found += [
                scores_table(title, level.scores, single),
                shape_table(f"Trees of {name}: their shapes", level.shapes, same, self.format == "snli"),
            ]
        return found

    def records(self) -> Iterator[dict[str, Any]]:
        """Each tree beside its reference, for JSON."""
        for name, level in self.levels.items():
            for tree in level.trees:
                yield {"level": name, **tree.record()}


def agreement(
    model: Classifier,
    treebank: Treebank,
    *,
    punctuation: bool = True,
    others: Mapping[str, Classifier] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> TreebankAgreement:
    """How many heads, arcs and roots of a treebank's trees a model's trees have, on the treebank's own words.

    The same is said of trees that know nothing and of `others`: models by their names, such as one that was never
    trained. ``punctuation=False`` counts no heads of punctuation. Intervals are by `resamples` of documents.
    """
    levels, notes = _levels(model, treebank)
    models = {MODEL: model, **(others or {})}
    for name, other in models.items():
        if missing := set(levels) - set(_levels(other, treebank)[0]):
            raise BadInput(f"{name}: no trees of {' or '.join(missing)}; expected trees as those of the model")
    parsed = {name: list(_parsed(one, treebank.documents, progress)) for name, one in models.items()}
    results = {}
    for level in levels:
        references = [_references(document, level, punctuation) for document in treebank.documents]
        documents = np.repeat(np.arange(len(references)), [len(trees) for trees in references])
        found = {name: [tree for trees in all_ for tree in trees[level]] for name, all_ in parsed.items()}
        compared = [
            reference._replace(found=tree)
            for reference, tree in zip(chain.from_iterable(references), found[MODEL], strict=True)
        ]
        scores = sameness(
            [tree.reference.heads for tree in compared],
            {name: [tree.heads for tree in trees] for name, trees in found.items()},
            [tree.counted for tree in compared],
            documents, resamples, seed,
        )  # fmt: skip
        results[level] = LevelAgreement(scores, compared)
    return TreebankAgreement(treebank.name, treebank.format, results, [*treebank.notes, *notes])


def _levels(model: Classifier, treebank: Treebank) -> tuple[list[str], list[str]]:
    """The levels to compare, and remarks on those that only the treebank has."""
    if treebank.has_documents and model.settings.task == "pairs":
        raise BadInput(
            f"{treebank.name}: trees over the sentences of documents, but the model is one of pairs, which has none;"
            " expected a model of documents"
        )
    there = ["words", "sentences"] if treebank.has_documents else ["words"]
    kinds = {level: getattr(model.settings, level).attention for level in there}
    levels = [level for level, kind in kinds.items() if kind in ("projective", "nonprojective")]
    without = [f"the model's attention over {level} is {kinds[level]}" for level in there if level not in levels]
    if not levels:
        problem = f"no trees of {' or '.join(there)} in the model: {', and '.join(without)}"
        raise BadInput(f"{treebank.name}: {problem}; expected attention projective or nonprojective")
    return levels, [f"{reason}: it has no such trees to compare" for reason in without]


def _references(document: AnnotatedDocument, level: str, punctuation: bool) -> list[Compared]:
    """The trees of a document on a level, each for the time being beside itself."""
    if level == "words":
        return [
            Compared(
                document.name, sentence.name, sentence.words, sentence.tree, sentence.tree,
                [punctuation or not mark for mark in sentence.punctuation],
            )
            for sentence in document.sentences
        ]  # fmt: skip
    if document.tree is None:
        return []
    names = [sentence.name for sentence in document.sentences]
    return [Compared(document.name, document.name, names, document.tree, document.tree, [True] * len(names))]


def _parsed(
    model: Classifier, documents: Sequence[AnnotatedDocument], progress: Progress | None
) -> Iterator[dict[str, list[Tree]]]:
    """The model's trees of words and of sentences, for each document."""
    if model.settings.task == "documents":
        for some in _parts(documents):
            texts = [[_words(sentence.words) for sentence in document.sentences] for document in some]
            for document, parsed in zip(some, model.parse(texts, progress=progress), strict=True):
                yield {
                    "words": [sentence.tree for sentence in parsed.sentences if sentence.tree],
                    "sentences": [parsed.tree] if parsed.tree and document.tree else [],
                }
        return
    # The trees of a pair do not depend on each other, so that any two sentences make one.
    flat = [_words(sentence.words) for document in documents for sentence in document.sentences]
    flat += flat[-1:] if len(flat) % 2 else []
    pairs = [flat[i : i + 2] for i in range(0, len(flat), 2)]
    trees = (
        sentence.tree
        for some in _parts(pairs)
        for parsed in model.parse(some, progress=progress)
        for sentence in parsed.sentences
    )
    for document in documents:
        yield {"words": [tree for _, tree in zip(document.sentences, trees, strict=False) if tree], "sentences": []}


def _parts(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    return (whole[start : start + AT_ONCE] for start in range(0, len(whole), AT_ONCE))


def _words(words: list[str]) -> list[str]:
    """As the treebank has them; to a model, white space is no word, so that something else has to stand for it."""
    return ["_" if word.isspace() else word for word in words]
