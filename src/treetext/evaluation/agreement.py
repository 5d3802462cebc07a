"""Agreement of a model's trees with the trees of a treebank."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from treetext.data import Progress, Treebank
from treetext.data.readers.annotated import AnnotatedDocument, AnnotatedSentence
from treetext.evaluation.figures import LevelAnalysis, judge, plain
from treetext.evaluation.induced import Induced, induce_from_words
from treetext.evaluation.shapes import Forest
from treetext.evaluation.sources import MODEL, check_levels, checked_levels, sources
from treetext.models import Model
from treetext.trees import ROOT


class Compared(NamedTuple):
    """A tree of a model and the treebank's tree over the same nodes."""

    level: str
    document: str
    name: str
    nodes: list[str]
    """The words or, for a tree over sentences, the names of the sentences."""
    reference: tuple[int, ...]
    """The heads in the treebank."""
    heads: tuple[int, ...]
    counted: list[bool]
    """Whether each node counts. All do, unless punctuation is left out."""

    def record(self) -> dict[str, Any]:
        """All fields for JSON, with the number of correct heads and arcs, and whether the root is correct."""
        heads = self.heads
        counted = [(j, head) for j, head in enumerate(self.reference) if self.counted[j]]
        return {
            **self._asdict(),
            "reference": list(self.reference),
            "heads": list(heads),
            "counted": len(counted),
            "same_heads": sum(heads[j] == head for j, head in counted),
            "same_arcs": sum(head != ROOT and (heads[j] == head or heads[head] == j) for j, head in counted),
            "same_root": heads[self.reference.index(ROOT)] == ROOT,
        }


class TreebankAgreement(NamedTuple):
    """The result of `agreement`."""

    treebank: str
    format: str
    levels: dict[str, LevelAnalysis]
    """The figures for words and sentences, if both the model and the treebank have such trees. The treebank's trees
    are called gold."""
    trees: list[Compared]
    """All trees of the model, in the order of the treebank."""
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The figures, without the trees, as plain lists and dictionaries for JSON."""
        values: dict[str, Any] = plain(self._replace(trees=[])._asdict())
        del values["trees"]
        return values


def agreement(
    model: Model,
    treebank: Treebank,
    *,
    punctuation: bool = True,
    others: Mapping[str, Model] | None = None,
    untrained: Model | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> TreebankAgreement:
    """The shares of a treebank's heads, arcs and roots that a model's trees have, on the treebank's tokens.

    The same is computed for the `untrained` model, for `others`, and for random trees, chains and stars: see
    `analyse`. With ``punctuation=False``, heads of punctuation are not counted. `progress` is a callback that gets the
    number of texts done since its last call.
    """
    levels, notes = _levels(model, treebank)
    if not punctuation:
        notes.append(f"{treebank.name}: heads of punctuation are not counted")
    models = sources(model, others, untrained)
    check_levels(models, levels)
    induced = {name: _induced(one, treebank.documents, levels, progress) for name, one in models.items()}
    results, trees = {}, list[Compared]()
    for level in levels:
        of_level = {name: each[level] for name, each in induced.items()}
        compared = list(_compared(level, treebank.documents, of_level[MODEL].forest.heads.tolist(), punctuation))
        results[level] = judge(
            of_level,
            model.trees[level],
            np.array([head for tree in compared for head in tree.reference]),
            len(treebank.documents),
            counted=np.array([counts for tree in compared for counts in tree.counted]),
            resamples=resamples,
            seed=seed,
        )
        trees += compared
    return TreebankAgreement(treebank.name, treebank.format, results, trees, [*treebank.notes, *notes])


def _levels(model: Model, treebank: Treebank) -> tuple[list[str], list[str]]:
    """The levels that have trees in both the model and the treebank, and remarks on the treebank's other levels."""
    there = ["words", "sentences"] if treebank.has_documents else ["words"]
    levels = checked_levels(model, there)
    without = [level for level in there if level not in levels]
    return levels, [f"{treebank.name}: the model has no trees of {level} to compare" for level in without]


def _induced(
    model: Model, documents: Sequence[AnnotatedDocument], levels: list[str], progress: Progress | None
) -> dict[str, Induced]:
    """The model's trees over the treebank's words."""
    texts = [[list(sentence.words) for sentence in document.sentences] for document in documents]
    induced = induce_from_words(model, model.task.from_sentences(texts), levels, progress)
    if "words" in induced:
        # Word trees do not depend on other sentences, so the grouping of sentences does not matter.
        lengths = [len(sentence) for sentences in texts for sentence in sentences]
        owners = np.repeat(np.arange(len(texts)), [len(sentences) for sentences in texts])
        words, trees = induced["words"], len(lengths)
        forest = Forest(words.forest.heads[: sum(lengths)], words.forest.lengths[:trees], owners)
        induced["words"] = Induced(forest, words.entropies[:trees], words.margins[:trees])
    return induced


def _compared(
    level: str, documents: Sequence[AnnotatedDocument], heads: Sequence[int], punctuation: bool
) -> Iterator[Compared]:
    """Each tree of the treebank with the model's heads of its nodes. `heads` has those of all trees, concatenated."""
    remaining = iter(heads)
    for document in documents:
        trees: Sequence[AnnotatedSentence | AnnotatedDocument] = document.sentences if level == "words" else [document]
        for each in trees:
            assert each.tree is not None  # a level with trees
            if isinstance(each, AnnotatedSentence):
                nodes, counted = each.words, [punctuation or not mark for mark in each.punctuation]
            else:
                nodes, counted = [sentence.name for sentence in each.sentences], [True] * len(each.sentences)
            own = tuple(islice(remaining, len(nodes)))
            yield Compared(level, document.name, each.name, nodes, each.tree.heads, own, counted)
