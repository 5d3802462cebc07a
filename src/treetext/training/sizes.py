"""What the size and shape of the training data choose: the values that a recipe lists in ``auto``."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from treetext.data import BadInput, Corpus
from treetext.data.document import counted
from treetext.training.recipe import Recipe, load_recipe

ENGLISH = {
    "the", "and", "to", "that", "with", "this", "you", "from", "they", "it", "were", "has", "are", "not", "but", "what",
    "your", "be",
}  # fmt: skip
"""Frequent words of English that are rare in other languages."""
LEAST_ENGLISH = 0.05
"""The least share of these words in English texts. It is 11% to 19% in captions, reviews and speeches; 2% in Czech."""
MANY_WORDS = 1_000_000
"""From so many training words on, word2vec learns useful vectors from them."""
FEW_WORDS = 20_000
"""With fewer training words, a vocabulary of pretrained vectors keeps words that occur twice."""
MANY_TEXTS = 20_000
"""From so many training texts on, pretrained vectors are tuned and pairs are read by bi-LSTMs. Fewer texts would be
learnt by heart."""
MANY_DEV = 1_000
"""From so many dev texts on, dev accuracy chooses the epoch. Fewer texts would choose by chance."""
STEPS, LEAST_WORDS, MOST_WORDS = 1_000, 3_000_000, 5_000_000
"""Training takes about so many steps, but at least (if vectors are not tuned) and at most so many words."""
PIECE_SIZE = 256
"""The size of the vectors of wordllama."""
LEAST_EPOCHS, MOST_EPOCHS = 4, 30


class Shape(NamedTuple):
    """The size and shape of training data."""

    texts: int
    words: int
    """The number of words of all texts."""
    dev: int
    """The number of dev texts."""
    english: bool
    """Whether the texts are in English."""


def sized(recipe: Recipe, corpus: Corpus) -> tuple[Recipe, list[str]]:
    """The recipe with the values that the training data choose, and lines that say which, and what would be better."""
    if unknown := [key for key in recipe.auto if key not in CHOICES]:
        raise BadInput(f"auto: {unknown[0]!r}: not chosen by the data; expected some of {', '.join(CHOICES)}")
    train = corpus.whole("train")
    shape = Shape(len(train), int(corpus.encoded.sizes[train].sum()), len(corpus.whole("dev")), _is_english(corpus))
    chosen: dict[str, Any] = {}
    for key, choose in CHOICES.items():  # in this order: a choice may depend on those before
        if key in recipe.auto:
            chosen[key] = choose(shape, recipe)
            recipe = load_recipe(recipe, {key: chosen[key]})
    values = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    words = counted(round(shape.words / shape.texts), "word")
    lines = [f"{counted(shape.texts, 'training text')} of {words}: {values}"]
    if "model.vocabulary.vectors" in chosen and _wants_pretrained(shape, recipe) and not _has_pretrained():
        lines.append("texts in English: pip install 'treetext[english]' gives them pretrained word vectors")
    return recipe, lines


def _vectors(shape: Shape, recipe: Recipe) -> str:
    if _wants_pretrained(shape, recipe) and _has_pretrained():
        return "wordllama"
    return "word2vec" if shape.words >= MANY_WORDS and find_spec("gensim") else "random"


def _min_count(shape: Shape, recipe: Recipe) -> int:
    # If rare words have vectors, pretrained ones too, a model learns the texts that they occur in by heart.
    enough = shape.words >= FEW_WORDS if _pretrained(recipe) else shape.texts >= MANY_TEXTS
    return 5 if enough else 2


def _encoder(shape: Shape, _: Recipe) -> str:
    return "feedforward" if shape.texts < MANY_TEXTS else "bilstm"


def _vectors_rate(shape: Shape, recipe: Recipe) -> float:
    if not _pretrained(recipe):
        return 1.0
    return 0.0 if shape.texts < MANY_TEXTS else 0.1


def _batch_size(shape: Shape, _: Recipe) -> int:
    return 16 if shape.texts < 5_000 else 32 if shape.texts < 50_000 else 64


def _keep(shape: Shape, _: Recipe) -> str:
    return "last" if shape.dev < MANY_DEV else "best"


def _epochs(shape: Shape, recipe: Recipe) -> int:
    steps = -(-shape.texts // (recipe.training.batch_size * recipe.training.accumulate))
    least = LEAST_WORDS / shape.words if recipe.training.vectors_rate == 0 else 0.0  # tuned ones overfit
    epochs = min(max(STEPS / steps, least), MOST_WORDS / shape.words)
    return min(MOST_EPOCHS, max(LEAST_EPOCHS, round(epochs)))


CHOICES: dict[str, Callable[[Shape, Recipe], Any]] = {
    "model.vocabulary.vectors": _vectors,
    "model.vocabulary.min_count": _min_count,
    "model.words.encoder": _encoder,
    "training.vectors_rate": _vectors_rate,
    "training.batch_size": _batch_size,
    "training.epochs": _epochs,
    "training.keep": _keep,
}
"""The keys that may be in ``auto``, and the functions that choose their values."""


def _pretrained(recipe: Recipe) -> bool:
    vectors = recipe.model.model_dump().get("vocabulary", {}).get("vectors")
    return vectors not in ("word2vec", "random")


def _wants_pretrained(shape: Shape, recipe: Recipe) -> bool:
    return shape.english and bool(recipe.model.model_dump()["embedding"] <= PIECE_SIZE)


def _has_pretrained() -> bool:
    return bool(find_spec("wordllama") and find_spec("tokenizers"))


def _is_english(corpus: Corpus) -> bool:
    counts = corpus.encoded.counts(corpus.rows["train"])
    english = np.array([word.lower() in ENGLISH for word in corpus.encoded.lexicon], bool)
    return bool(counts[english].sum() >= LEAST_ENGLISH * counts.sum())
