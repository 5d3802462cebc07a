"""Models that may have a wide part."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treetext.data.batches import Batches, Texts
from treetext.data.ngrams import Ngrams
from treetext.models.base import Model
from treetext.models.wide import Evidence, Wide

NGRAMS = "ngrams.txt"


class NgramModel(Model):
    """A model that may have a wide part: it saves its n-grams, and tells which ones speak for a label."""

    wide: Wide | None

    def batches(self, texts: Texts, gold: bool = False) -> Batches:
        """Adds n-grams, if there is a wide part."""
        collate = super().batches(texts, gold)
        collate.ngrams = self.wide.ngrams if self.wide else None
        return collate

    def evidence(self, sentences: list[list[str]], label: int) -> list[Evidence]:
        """The n-grams that speak for a label."""
        found = self.wide.evidence(sentences, label) if self.wide else []
        return [each._replace(weight=each.weight / self.temperature) for each in found]

    def facts(self) -> dict[str, str]:
        """Adds the number of n-grams."""
        return {**super().facts(), **({"N-grams": f"{len(self.wide.ngrams):,}"} if self.wide else {})}

    def parts(self) -> dict[str, Any]:
        """Adds the n-grams."""
        return {**super().parts(), **({"ngrams": self.wide.ngrams} if self.wide else {})}

    @property
    def saved_files(self) -> Sequence[str]:
        """Adds the n-grams, if there is a wide part."""
        return tuple(dict.fromkeys((*super().saved_files, *([NGRAMS] if self.wide else []))))

    def write_files(self, directory: Path) -> None:
        """Adds the n-grams."""
        super().write_files(directory)
        if self.wide:
            self.wide.ngrams.save(directory / NGRAMS)

    @classmethod
    def read_files(cls, directory: Path) -> dict[str, Any]:
        """Adds the n-grams."""
        read = super().read_files(directory)
        return {**read, "ngrams": Ngrams.load(directory / NGRAMS)} if (directory / NGRAMS).exists() else read
