"""The majority class: the baseline that every model must beat."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch

from treetext.data import DOCUMENTS, PAIRS, Corpus, Progress, Task
from treetext.data.batches import Batch
from treetext.models.base import Model
from treetext.models.output import Output
from treetext.models.settings import ModelSettings
from treetext.nn import Replacement


class MajoritySettings(ModelSettings):
    """The settings of `Majority`: none."""

    kind: Literal["majority"] = "majority"


class MajorityPairsSettings(ModelSettings):
    """The settings of `MajorityPairs`: none."""

    kind: Literal["majority-pairs"] = "majority-pairs"


class Majority(Model):
    """Predicts the most frequent class of the training data for every document."""

    Settings: ClassVar[type[ModelSettings]] = MajoritySettings
    task: ClassVar[Task] = DOCUMENTS
    by_gradients = False

    def forward(
        self,
        batch: Batch,
        marginals: Mapping[str, Replacement] | None = None,  # noqa: ARG002
        reuse: Output | None = None,  # noqa: ARG002
    ) -> Output:
        """The logarithm of the prior, for each text."""
        prior = torch.tensor(self.prior, dtype=torch.float64, device=batch.labels.device).log()
        return Output(prior.expand(len(batch.labels), -1))

    def fit(self, corpus: Corpus, progress: Progress | None = None) -> None:
        """Do nothing: the prior is known already."""


class MajorityPairs(Majority):
    """Predicts the most frequent class of the training data for every pair."""

    Settings = MajorityPairsSettings
    task = PAIRS
