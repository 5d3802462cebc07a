"""The base of structured models of documents and pairs: levels with trees (Liu and Lapata 2018)."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from treetext.data.batches import Batch
from treetext.models.base import TreeKind
from treetext.models.settings import LevelSettings, Size
from treetext.models.words import WordModel, WordSettings
from treetext.nn import TREES, Level, LevelOutput, Replacement


class StructuredSettings(WordSettings):
    """The sizes of a structured model, and its level of words."""

    semantic: Size = Field(75, description="size of semantic vectors, per direction")
    structure: Annotated[int, Field(ge=0, le=100_000)] = Field(
        25, description="size of structure vectors, per direction"
    )
    words: LevelSettings = LevelSettings()
    hidden: Size = Field(150, description="size of hidden layers")

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


class StructuredModel(WordModel):
    """A model with a `Level` of words and, for documents, a `Level` of sentences."""

    settings: StructuredSettings
    words: Level

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

    def facts(self) -> dict[str, str]:
        """Adds the attention of each level."""
        kinds = {f"Attention over {name}": level.attention.kind for name, level in self.levels.items()}
        return {**super().facts(), **kinds}


def new_level(settings: StructuredSettings, name: str, inputs: int) -> Level:
    """A new level (words or sentences) with its settings."""
    options = getattr(settings, name).model_dump()
    return Level(inputs, settings.semantic, settings.structure, **options)
