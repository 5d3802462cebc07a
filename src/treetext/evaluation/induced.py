"""The trees that a model induces on all texts of a split, as arrays instead of `Tree` objects."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from treetext.data import Corpus, Progress
from treetext.evaluation.run import prior_classes, run
from treetext.evaluation.shapes import Forest
from treetext.models import Model, Ran
from treetext.nn import LevelOutput
from treetext.trees import PAD


@dataclass(frozen=True)
class Induced:
    """The trees of a level, in the order of the documents and of the text, and how certain the model is of them."""

    forest: Forest
    entropies: Float[np.ndarray, "trees"]
    """The entropy of each distribution as a share of its maximum; 0 for a single node."""
    margins: Float[np.ndarray, "trees"]
    """The log probability of the best tree minus that of the second best; inf for a single node."""


def induce(
    model: Model, corpus: Corpus, split: str = "test", progress: Progress | None = None
) -> tuple[dict[str, Induced], Int[np.ndarray, "documents"]]:
    """The trees of each level with trees, and the class of each text. Texts without words get the prior's class."""
    rows = corpus.rows[split]
    whole = np.flatnonzero(corpus.task.is_whole(corpus.encoded.sentence_counts[rows]))
    lengths = [corpus.encoded.lengths(row) for row in rows[whole].tolist()]
    gathered = Gathered(model.levels_with_trees, lengths, whole)
    classes = prior_classes(model, corpus, split)
    for ran in run(model, corpus, split, progress=progress, doing="inducing trees"):
        classes[ran.texts] = ran.output.logits.argmax(-1).cpu().numpy()
        gathered.add(ran)
    return gathered.levels, classes


def induce_from_words(
    model: Model, documents: list[list[list[str]]], levels: list[str], progress: Progress | None = None
) -> dict[str, Induced]:
    """The trees of some levels over tokenised texts, each a document or a pair."""
    lengths = [np.array([len(words) for words in sentences], np.int64) for sentences in documents]
    gathered = Gathered(levels, lengths, np.arange(len(documents)))
    for ran in model.run(model.read(documents), progress=progress, doing="inducing trees"):
        gathered.add(ran)
    return gathered.levels


class Gathered:
    """Collects the trees of batches. `lengths` has the number of words of each sentence, for each document."""

    def __init__(self, levels: list[str], lengths: list[Int[np.ndarray, "_"]], documents: Int[np.ndarray, "_"]) -> None:
        self.documents, self.counts = documents, np.array([len(each) for each in lengths], np.int64)
        self.starts = np.cumsum(self.counts) - self.counts  # the first sentence of each document
        words = np.concatenate([np.zeros(0, np.int64), *lengths]), np.repeat(documents, self.counts)
        fillings = {"words": _Filling(*words), "sentences": _Filling(self.counts, documents)}
        self.fillings = {level: fillings[level] for level in levels}

    @property
    def levels(self) -> dict[str, Induced]:
        """The trees of each level so far."""
        return {level: filling.induced for level, filling in self.fillings.items()}

    def add(self, ran: Ran) -> None:
        """Decode the trees of a batch, and store them in the order of the documents."""
        documents = np.searchsorted(self.documents, ran.texts)
        if "words" in self.fillings:
            own = self.counts[documents]
            within = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
            places = np.empty(own.sum(), np.int64)
            places[ran.batch.order.cpu().numpy()] = np.repeat(self.starts[documents], own) + within
            self.fillings["words"].add(ran.output.levels["words"], places)
        if "sentences" in self.fillings:
            places = np.empty(len(documents), np.int64)
            places[ran.batch.document_order.cpu().numpy()] = documents
            self.fillings["sentences"].add(ran.output.levels["sentences"], places)


class _Filling:
    """Arrays for trees of known sizes, which are added in any order."""

    def __init__(self, lengths: Int[np.ndarray, "trees"], documents: Int[np.ndarray, "trees"]) -> None:
        self.induced = Induced(
            Forest(np.empty(lengths.sum(), np.int32), lengths.astype(np.int64), documents),
            np.zeros(len(lengths)),
            np.zeros(len(lengths)),
        )
        self.starts = np.cumsum(lengths) - lengths

    def add(self, buckets: list[LevelOutput], places: Int[np.ndarray, "_"]) -> None:
        """Decode the trees of all buckets. `places` has the index of each tree."""
        done = 0
        for bucket in buckets:
            trees = bucket.trees
            assert trees is not None  # a level with trees
            heads = trees.mbr().cpu().numpy()
            some = places[done : done + len(heads)]
            done += len(heads)
            real = heads != PAD
            self.induced.forest.heads[(self.starts[some, None] + np.arange(heads.shape[1]))[real]] = heads[real]
            self.induced.entropies[some] = trees.entropy_share.cpu().numpy()
            self.induced.margins[some] = trees.margin().cpu().numpy()
