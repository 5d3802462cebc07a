"""The base of structured models of documents and pairs: levels with trees (Liu and Lapata 2018)."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor

from treetext.data import Corpus, Progress
from treetext.data.batches import Batch, Texts
from treetext.data.ngrams import Ngrams
from treetext.models.base import Say
from treetext.models.ngram_model import NgramModel
from treetext.models.output import Output, TreeKind
from treetext.models.settings import LevelSettings, Size
from treetext.models.wide import Wide, WideSettings
from treetext.models.words import WordModel, WordSettings
from treetext.nn import TREES, Level, LevelOutput, Replacement


class StructuredSettings(WordSettings):
    """The sizes of a structured model, and its level of words."""

    semantic: Size = Field(75, description="size of semantic vectors, per direction")
    structure: Annotated[int, Field(ge=0, le=100_000)] = Field(
        25, description="size of structure vectors, per direction"
    )
    words: LevelSettings = Field(LevelSettings(), description="from words to sentences")
    hidden: Size = Field(150, description="size of hidden layers")
    wide: WideSettings | None = Field(None, description="a linear model of n-grams beside the trees")

    @model_validator(mode="after")
    def _check_words(self) -> Self:
        return self.check_structure("words")

    @property
    def has_trees(self) -> bool:
        """Whether the attention of a level is over trees."""
        levels = [value for _, value in self if isinstance(value, LevelSettings)]
        return any(level.attention in TREES for level in levels)

    def check_structure(self, level: str) -> Self:
        """Raise an error for attention without structure vectors."""
        attention = getattr(self, level).attention
        if attention != "none" and not self.structure:
            raise ValueError(f"structure: attention {attention} of {level} needs structure vectors; expected 1 or more")
        return self


class StructuredModel(NgramModel, WordModel):
    """A model with a `Level` of words and, for documents, a `Level` of sentences."""

    settings: StructuredSettings
    words: Level

    def __init__(self, settings: Any, *args: Any, ngrams: Ngrams | None = None, **options: Any) -> None:
        super().__init__(settings, *args, **options)
        self.wide = None if ngrams is None else Wide(ngrams, len(self.labels))

    def finish(
        self,
        corpus: Corpus,
        progress: Progress | None = None,
        say: Say | None = None,
        class_weights: Float[Tensor, "classes"] | None = None,
    ) -> None:
        """Fit the wide part, if the settings have one, and choose the weights of the two parts on dev data."""
        if self.settings.wide is not None:
            self.temperature = 1.0
            wide, remark = Wide.fitted(self.settings.wide, corpus, self.labels, progress, class_weights)
            self.wide = wide.to(self.device)
            texts = Texts.from_corpus(corpus, corpus.rows["dev"], self.labels)
            outputs = [(batch.labels, output.parts) for _, batch, output in self.run(texts)]
            labels = torch.cat([some for some, _ in outputs])
            ngrams, trees = (torch.cat([parts[name] for _, parts in outputs]) for name in ("n-grams", "trees"))
            share = self.wide.balance(ngrams, trees, labels, class_weights)
            if say:
                say(f"{remark}; weights in the sum: n-grams {1 - share:g}, trees {share:g}")
        super().finish(corpus, progress, say, class_weights)

    def output(
        self, batch: Batch, logits: Float[Tensor, "b classes"], texts: Tensor, levels: Mapping[str, list[LevelOutput]]
    ) -> Output:
        """The output for a batch: the logits of the trees and, if there is one, of the wide part."""
        if self.wide is None:
            return Output(logits, texts, levels)
        parts = {"n-grams": self.wide.scales[0] * self.wide(batch), "trees": self.wide.scales[1] * logits}
        return Output(parts["n-grams"] + parts["trees"], texts, levels, parts)

    def words_in_context(self, batch: Batch, marginals: Mapping[str, Replacement]) -> list[LevelOutput]:
        """The outputs of the level of words for each bucket of sentences."""
        return self.words.compose(*self.embedded(batch), marginals.get("words"))

    @property
    def levels(self) -> dict[str, Level]:
        """The levels by name."""
        return {name: part for name, part in self.named_children() if isinstance(part, Level)}

    @property
    def trees(self) -> dict[str, TreeKind]:
        """The levels whose attention is over trees."""
        return {
            name: TreeKind(level.attention.kind == "projective", level.attention.single_root)
            for name, level in self.levels.items()
            if level.has_trees
        }

    @property
    def sampled(self) -> list[str]:
        """The levels whose trees are sampled in training."""
        return [name for name in self.trees if self.levels[name].attention.estimator == "sampled"]

    def anneal(self, progress: float) -> None:
        """Set the noise of training to what the schedules of the levels say."""
        for level in self.levels.values():
            level.attention.progress = progress

    def facts(self) -> dict[str, str]:
        """Adds the attention of each level."""
        kinds = {f"Attention over {name}": level.attention.kind for name, level in self.levels.items()}
        return {**super().facts(), **kinds}


def new_level(settings: StructuredSettings, name: str, inputs: int) -> Level:
    """A new level (words or sentences) with its settings."""
    options = getattr(settings, name).model_dump()
    return Level(inputs, settings.semantic, settings.structure, **options)
