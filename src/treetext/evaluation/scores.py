"""Accuracy and confusions of a model on a split."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from treetext.data import Corpus, Progress, Reader, open_corpus
from treetext.evaluation.run import check_task, prior_classes, run
from treetext.models import Model


class Evaluation(NamedTuple):
    """How well a model does on a split."""

    split: str
    documents: int
    empty: int
    """Texts without words, for which the most frequent class is predicted."""
    accuracy: float
    labels: list[str]
    confusion: list[list[int]]
    """At [i][j], how many texts of label i were given label j."""


def evaluate(model: Model, data: Corpus | Reader, split: str = "test", progress: Progress | None = None) -> Evaluation:
    """The accuracy on all texts of a split: none is left out."""
    corpus = data if isinstance(data, Corpus) else open_corpus(data, progress)
    check_task(model, corpus)
    corpus.check_split(split)
    corpus.check_labels(model.labels, (split,))
    predicted = predictions(model, corpus, split, progress)
    rows = corpus.rows[split]
    targets = corpus.targets(model.labels)[rows]
    confusion = np.zeros((len(model.labels), len(model.labels)), int)
    np.add.at(confusion, (targets, predicted), 1)
    empty = len(rows) - len(corpus.whole(split))
    accuracy = float(np.mean(predicted == targets))
    return Evaluation(split, len(rows), empty, accuracy, model.labels, confusion.tolist())


def predictions(model: Model, corpus: Corpus, split: str, progress: Progress | None = None) -> Int[np.ndarray, "_"]:
    """The class of each text of a split, as an index into the labels; the prior's, where there are no words."""
    classes = prior_classes(model, corpus, split)
    for texts, _, output in run(model, corpus, split, progress=progress):
        classes[texts] = output.logits.argmax(-1).cpu().numpy()
    return classes
