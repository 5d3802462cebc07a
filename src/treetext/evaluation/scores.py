"""Accuracy and confusion matrix of a model on a split."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from treetext.data import Corpus, Progress, Reader, open_corpus
from treetext.evaluation.run import check_task, prior_classes, run
from treetext.models import Model


class Evaluation(NamedTuple):
    """The scores of a model on a split."""

    split: str
    documents: int
    empty: int
    """The number of texts without words, for which the most frequent class is predicted."""
    accuracy: float
    labels: list[str]
    confusion: list[list[int]]
    """At [i][j], the number of texts with label i for which label j was predicted."""


def evaluate(model: Model, data: Corpus | Reader, split: str = "test", progress: Progress | None = None) -> Evaluation:
    """The accuracy on all texts of a split, including those without words."""
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
    """The class of each text of a split, as an index into the labels. Texts without words get the prior's class."""
    classes = prior_classes(model, corpus, split)
    for texts, _, output in run(model, corpus, split, progress=progress):
        classes[texts] = output.logits.argmax(-1).cpu().numpy()
    return classes
