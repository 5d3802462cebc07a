"""The one loop that runs a model over a corpus. Everything else in this package uses it."""

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Int

from treetext.data import BadInput, Corpus, Progress
from treetext.data.batches import Texts
from treetext.models import Model, Ran
from treetext.nn import Replacement


def run(
    model: Model,
    corpus: Corpus,
    split: str = "test",
    batch_size: int = 32,
    *,
    most_words: int | None = None,
    marginals: Mapping[str, Replacement] | None = None,
    progress: Progress | None = None,
    doing: str = "scoring texts",
) -> Iterator[Ran]:
    """Run a model on all texts of a split that have words. `Ran.texts` are indices into the rows of the split."""
    check_task(model, corpus)
    texts = Texts.from_corpus(corpus, corpus.rows[split], model.labels)
    return model.run(texts, batch_size, most_words=most_words, marginals=marginals, progress=progress, doing=doing)


def prior_classes(model: Model, corpus: Corpus, split: str) -> Int[np.ndarray, "_"]:
    """For each text of a split, the prior's most probable class: the prediction for texts without words."""
    return np.full(len(corpus.rows[split]), int(np.argmax(model.prior)))


def check_task(model: Model, corpus: Corpus, name: str = "model") -> None:
    """Raise `BadInput` if the model and the corpus have different tasks."""
    if model.task is not corpus.task:
        expected = f"expected a model of {corpus.task}"
        raise BadInput(f"{name}: a model of {model.task}, but {corpus.name} has {corpus.task}; {expected}")
