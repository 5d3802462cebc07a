"""Smaller models: the same weights, for fewer words."""

from typing import TypeVar

from treetext.models._classifier import Classifier
from treetext.text import Vocabulary

M = TypeVar("M", bound=Classifier)


def shrink(model: M, words: int) -> M:
    """A copy that knows the first `words` of the vocabulary alone, which of a trained model are the most frequent.

    The two for padding and for unknown words count, too; all other words become unknown.
    """
    most = len(model.vocabulary)
    if not 2 < words <= most:
        raise ValueError(f"words: expected 3 to {most}, as many as the vocabulary has, got {words}")
    weights = model.state_dict()
    weights["embedding.weight"] = weights["embedding.weight"][:words]
    vocabulary = Vocabulary(model.vocabulary.words[:words])
    small = type(model)(
        model.settings, vocabulary, model.labels, model.tokenizer, prior=model.prior, about=dict(model.about)
    )
    small.to(model.embedding.weight).load_state_dict(weights)
    return small.eval()
