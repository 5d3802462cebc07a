"""Small models with weights large enough that attention is far from even."""

from typing import Any, TypeVar

import numpy as np
import torch

from treetext.data import Tokenizer, Vocabulary
from treetext.data.batches import Batch, Texts
from treetext.data.ngrams import Ngrams
from treetext.models import (
    LevelSettings,
    Model,
    Output,
    StructuredDocuments,
    StructuredDocumentsSettings,
    StructuredPairs,
    StructuredPairsSettings,
)
from treetext.models.wide import WideSettings

M = TypeVar("M", bound=Model)
WORDS = [
    *("the", "a", "dog", "cat", "film", "plot", "was", "is", "good", "bad", "very", "not"),
    *(".", ",", "and", "it", "i", "saw", "slept"),
]
SIZES: dict[str, int] = {"embedding": 6, "semantic": 4, "structure": 3, "hidden": 5}


def vocabulary() -> Vocabulary:
    return Vocabulary(["<pad>", "<unk>", *WORDS])


def documents(
    words: dict[str, Any] | None = None, sentences: dict[str, Any] | None = None, grow: bool = True, **settings: Any
) -> StructuredDocuments:
    levels = {"words": LevelSettings(**words or {}), "sentences": LevelSettings(**sentences or {})}
    chosen = StructuredDocumentsSettings(**{**SIZES, **levels, **settings})
    torch.manual_seed(0)
    labels, prior = ["bad", "good", "so-so"], [0.2, 0.5, 0.3]
    model = StructuredDocuments(chosen, labels, vocabulary=vocabulary(), prior=prior)
    return grown(model) if grow else model.eval()


def pairs(attention: str = "nonprojective", grow: bool = True, **settings: Any) -> StructuredPairs:
    chosen = StructuredPairsSettings(**{**SIZES, "words": LevelSettings(attention=attention), **settings})
    torch.manual_seed(0)
    model = StructuredPairs(chosen, ["no", "yes"], Tokenizer("en"), vocabulary=vocabulary(), prior=[0.6, 0.4])
    return grown(model) if grow else model.eval()


def documents_with_ngrams() -> StructuredDocuments:
    """A model with a wide part."""
    torch.manual_seed(0)
    ngrams = Ngrams.of(TEXTS, min_count=1)
    settings = StructuredDocumentsSettings(**SIZES, wide=WideSettings())
    model = grown(StructuredDocuments(settings, ["bad", "good", "so-so"], vocabulary=vocabulary(), ngrams=ngrams))
    assert model.wide is not None
    with torch.no_grad():
        model.wide.weight.copy_(torch.randn(model.wide.weight.shape, generator=torch.Generator().manual_seed(1)))
    return model


def grown(model: M, scale: float = 0.8) -> M:
    """The same model with random weights; the vector of the padding stays 0."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
        for part in model.modules():
            if isinstance(part, torch.nn.Embedding) and part.padding_idx is not None:
                part.weight[part.padding_idx] = 0
    return model.eval()


TEXTS = [
    [["the", "dog", "slept", "."], ["it", "was", "good"], ["very"]],
    [["a", "film"]],
    [["i", "saw", "the", "unknown", "cat", "and", "it", "slept", "."], ["not", "bad"]],
]
PAIRS = [text[:2] for text in TEXTS if len(text) > 1]


def random_words(n: int, seed: int = 0) -> list[str]:
    return np.random.default_rng(seed).choice(WORDS[:12], n).tolist()


def scored(model: Model, texts: list[list[list[str]]]) -> Output:
    """The output for tokenised texts in one batch, with gradients."""
    return model(batch_of(model, texts))


def batch_of(model: Model, texts: list[list[list[str]]]) -> Batch:
    return model.batches(Texts.from_words(texts))(range(len(texts)))
