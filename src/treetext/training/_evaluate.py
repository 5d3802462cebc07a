"""How well a model does."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int

from treetext.corpora import Data
from treetext.models import Classifier, moved
from treetext.text import LengthBatches
from treetext.training._corpus import Batches, Corpus, Progress, open_corpus


class Evaluation(NamedTuple):
    """How well a model does on a split."""

    split: str
    documents: int
    empty: int
    """Texts without words, predicted to be of the most frequent class."""
    accuracy: float
    labels: list[str]
    confusion: list[list[int]]
    """At [i][j], how many texts of label i were taken for label j."""


@torch.inference_mode()
def evaluate(
    model: Classifier, data: Corpus | Data, split: str = "test", progress: Progress | None = None
) -> Evaluation:
    """The accuracy on all texts of a split: none is left out."""
    corpus = data if isinstance(data, Corpus) else open_corpus(data, progress)
    corpus.check_split(split)
    corpus.check_labels(model.labels, (split,))
    predicted = predictions(model, corpus, split, progress)
    rows = corpus.rows[split]
    targets = corpus.targets(model.labels)[rows]
    confusion = np.zeros((len(model.labels), len(model.labels)), int)
    np.add.at(confusion, (targets, predicted), 1)
    empty = int(np.count_nonzero(~model.is_whole(corpus.encoded.sentence_counts[rows])))
    accuracy = float(np.mean(predicted == targets))
    return Evaluation(split, len(rows), empty, accuracy, model.labels, confusion.tolist())


@torch.inference_mode()
def predictions(
    model: Classifier, corpus: Corpus, split: str, progress: Progress | None = None
) -> Int[np.ndarray, "_"]:
    """The class of each text of a split, as an index into the labels; the prior's, where there are no words."""
    rows = corpus.rows[split]
    found = np.full(len(rows), int(np.argmax(model.prior)))
    place = {row: i for i, row in enumerate(rows.tolist())}
    whole = rows[model.is_whole(corpus.encoded.sentence_counts[rows])]
    encoded, collate = corpus.encoded, Batches(corpus, model.vocabulary, model.labels, model.batch)
    model.eval()
    for some in LengthBatches(encoded.sentence_counts[whole], encoded.sizes[whole], rows=whole, shuffle=False):
        classes = model(moved(collate(some), model.embedding.weight.device)).argmax(-1)
        found[[place[row] for row in some]] = classes.tolist()
        if progress:
            progress("scoring texts", len(some))
    return found
