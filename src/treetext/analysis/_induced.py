"""The trees that a model induces on all texts of a split, as arrays: no tree becomes an object of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from treetext.analysis._shapes import Forest
from treetext.analysis._sources import tree_levels
from treetext.models import Classifier, Scored, moved
from treetext.nn import Composed
from treetext.text import LengthBatches
from treetext.training import Corpus
from treetext.training._corpus import Batches, Progress
from treetext.trees import PAD, TreeDistribution

BATCH = 32  # texts


@dataclass(frozen=True)
class Induced:
    """The trees of a level, by document and in the order of the text, and how sure the model is of them."""

    forest: Forest
    entropies: Float[np.ndarray, "trees"]
    """Of the distribution of each tree, as a share of the most that there can be; 0 for a single node."""
    margins: Float[np.ndarray, "trees"]
    """The log probability of the best tree less that of the second best; inf for a single node."""


class Texts:
    """The texts of a split that a model can score, in batches of similar length: shortest first."""

    def __init__(self, model: Classifier, corpus: Corpus, split: str, batch_size: int = BATCH) -> None:
        self.rows, counts = corpus.rows[split], corpus.encoded.sentence_counts
        whole = model.is_whole(counts[self.rows])
        self.documents = whole.nonzero()[0]
        """Which texts of the split these are."""
        self._place = dict(zip(self.rows[whole].tolist(), range(len(self.documents)), strict=True))
        self._batches = LengthBatches(
            counts[self.rows[whole]], corpus.encoded.sizes[self.rows[whole]], batch_size,
            rows=self.rows[whole], shuffle=False,
        )  # fmt: skip
        self._collate = Batches(corpus, model.vocabulary, model.labels, model.batch)
        self._device = model.embedding.weight.device

    def __iter__(self) -> Iterator[tuple[Int[np.ndarray, "b"], Any]]:
        """Which of `documents` are in a batch, and its tensors."""
        for rows in self._batches:
            yield np.array([self._place[row] for row in rows]), moved(self._collate(rows), self._device)


@torch.inference_mode()
def induce(
    model: Classifier, corpus: Corpus, split: str = "test", progress: Progress | None = None
) -> tuple[dict[str, Induced], Int[np.ndarray, "documents"]]:
    """The trees of each level that has some, and the class of each text: the prior's, where there are no words."""
    texts = Texts(model, corpus, split)
    lengths = [corpus.encoded.lengths(row) for row in texts.rows[texts.documents].tolist()]
    gathered = Gathered(tree_levels(model), lengths, texts.documents)
    classes = np.full(len(texts.rows), int(np.argmax(model.prior)))
    model.eval()
    for documents, batch in texts:
        scored = model.score(batch)
        classes[texts.documents[documents]] = scored.logits.argmax(-1).cpu().numpy()
        gathered.add(documents, batch, scored)
        if progress:
            progress("inducing trees", len(documents))
    return gathered.levels, classes


@torch.inference_mode()
def induce_from_words(
    model: Classifier, texts: list[list[list[str]]], levels: list[str], progress: Callable[[int], object] | None = None
) -> dict[str, Induced]:
    """The trees of some levels over texts that are words already, each text a document or a pair."""
    lengths = [np.array([len(words) for words in sentences], np.int64) for sentences in texts]
    gathered = Gathered(levels, lengths, np.arange(len(texts)))
    for rows, batch, scored in model._scored(texts, BATCH, progress):
        gathered.add(np.array(rows), batch, scored)
    return gathered.levels


class Gathered:
    """The trees of some documents, whose sentences have so many words, as they come in batches."""

    def __init__(self, levels: list[str], lengths: list[Int[np.ndarray, "_"]], documents: Int[np.ndarray, "_"]) -> None:
        self.counts = np.array([len(each) for each in lengths], np.int64)
        self.starts = np.cumsum(self.counts) - self.counts  # the first sentence of each document
        words = np.concatenate([np.zeros(0, np.int64), *lengths]), np.repeat(documents, self.counts)
        fillings = {"words": _Filling(*words), "sentences": _Filling(self.counts, documents)}
        self.fillings = {level: fillings[level] for level in levels}

    @property
    def levels(self) -> dict[str, Induced]:
        """All that came."""
        return {level: filling.induced for level, filling in self.fillings.items()}

    def add(self, documents: Int[np.ndarray, "b"], batch: Any, scored: Scored) -> None:
        """Decode the trees of a batch of documents, and put them where they belong."""
        if "words" in self.fillings:
            own = self.counts[documents]
            within = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
            places = np.empty(own.sum(), np.int64)
            places[batch.sentences.order.cpu().numpy()] = np.repeat(self.starts[documents], own) + within
            self.fillings["words"].add(scored.words, places)
        if "sentences" in self.fillings:
            places = np.empty(len(documents), np.int64)
            places[batch.order.cpu().numpy()] = documents
            self.fillings["sentences"].add(scored.sentences, places)


class _Filling:
    """Trees of known sizes, which come in any order."""

    def __init__(self, lengths: Int[np.ndarray, "trees"], documents: Int[np.ndarray, "trees"]) -> None:
        self.induced = Induced(
            Forest(np.empty(lengths.sum(), np.int32), lengths.astype(np.int64), documents),
            np.zeros(len(lengths)),
            np.zeros(len(lengths)),
        )
        self.starts = np.cumsum(lengths) - lengths

    def add(self, chunks: list[Composed], places: Int[np.ndarray, "_"]) -> None:
        """The trees of all chunks, and which trees these are."""
        done = 0
        for chunk in chunks:
            trees = chunk.trees
            assert trees is not None  # a level with trees
            heads = trees.mbr().cpu().numpy()
            some = places[done : done + len(heads)]
            done += len(heads)
            real = heads != PAD
            self.induced.forest.heads[(self.starts[some, None] + np.arange(heads.shape[1]))[real]] = heads[real]
            self.induced.entropies[some] = _relative_entropy(trees).cpu().numpy()
            self.induced.margins[some] = trees.margin().cpu().numpy()


def _relative_entropy(trees: TreeDistribution) -> Float[Tensor, "b"]:
    lengths = trees.lengths.tolist()
    most = trees.entropy.new_tensor([most_entropy(type(trees), n, trees.single_root) for n in lengths])
    return torch.where(most > 0, trees.entropy / most, 0)


@lru_cache(maxsize=4096)
def most_entropy(kind: type[TreeDistribution], n: int, single_root: bool) -> float:
    """The logarithm of the number of trees over n nodes: the entropy where all are equally likely."""
    return float(kind(torch.zeros(n, n).double(), torch.zeros(n).double(), single_root=single_root).log_partition)


def gold_heads(corpus: Corpus, split: str, level: str, documents: Int[np.ndarray, "_"]) -> Int[np.ndarray, "_"] | None:
    """The gold heads of some texts of a split, one text after the other; None unless all are known."""
    known = corpus.encoded.heads if level == "words" else corpus.encoded.sentence_heads
    found = []
    for row in corpus.rows[split][documents].tolist():
        heads = known(row)
        if heads is None:
            return None
        found.append(heads)
    return np.concatenate([np.zeros(0, np.int32), *found])
