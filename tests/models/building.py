"""Small models with weights large enough that attention is far from even."""

from typing import Any

import torch
from treetext.text import Tokenizer, Vocabulary

from treetext.models import DocumentClassifier, DocumentSettings, LevelSettings, PairClassifier, PairSettings

WORDS = [
    "the",
    "a",
    "dog",
    "cat",
    "film",
    "plot",
    "was",
    "is",
    "good",
    "bad",
    "very",
    "not",
    ".",
    ",",
    "and",
    "it",
    "i",
]
WORDS += ["saw", "slept"]
SIZES: dict[str, int] = {"embedding": 6, "semantic": 4, "structure": 3, "hidden": 5}


def vocabulary() -> Vocabulary:
    return Vocabulary(["<pad>", "<unk>", *WORDS])


def documents(
    words: dict[str, Any] | None = None, sentences: dict[str, Any] | None = None, grow: bool = True, **settings: Any
) -> DocumentClassifier:
    levels = {"words": LevelSettings(**words or {}), "sentences": LevelSettings(**sentences or {})}
    chosen = DocumentSettings(task="documents", **{**SIZES, **levels, **settings})
    torch.manual_seed(0)
    model = DocumentClassifier(chosen, vocabulary(), ["bad", "good", "so-so"], prior=[0.2, 0.5, 0.3])
    return grown(model) if grow else model.eval()


def pairs(attention: str = "nonprojective", grow: bool = True, **settings: Any) -> PairClassifier:
    chosen = PairSettings(task="pairs", **{**SIZES, "words": LevelSettings(attention=attention), **settings})
    torch.manual_seed(0)
    model = PairClassifier(chosen, vocabulary(), ["no", "yes"], Tokenizer("en"), prior=[0.6, 0.4])
    return grown(model) if grow else model.eval()


def grown(model: Any) -> Any:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.8 * torch.randn(parameter.shape, generator=generator))
        model.embedding.weight[0] = 0
    return model.eval()
