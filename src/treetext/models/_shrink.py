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
    vocabulary = Vocabulary(model.vocabulary.words[:words])
    small = type(model)(
        model.settings, vocabulary, model.labels, model.tokenizer, prior=model.prior, about=dict(model.about)
    )
    sizes = {name: len(parameter) for name, parameter in small.named_parameters()}
    # Tables with a row for each word, or for each ending, have the rows of the words that are left first.
    cut = {name: values[: sizes[name]] for name, values in weights.items()}
    small.to(model.embedding.weight).load_state_dict(cut)
    return small.eval()
