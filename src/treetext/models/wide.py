"""The wide part of a model: a logistic regression on n-grams, whose logits are added (Cheng et al. 2016, wide and deep).

Its weights are fitted before the rest of the model is trained. In training, the logits of a text come from a regression
that has not seen the text: with those of the final regression, which has, the rest of the model would learn from texts
that seem to be solved.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding_bag

from treetext.data import Corpus, Progress, Settings
from treetext.data.batches import Batch, Texts
from treetext.data.ngrams import KINDS, Ngrams
from treetext.models.logistic import fit_logistic

SCALES = ((1.0, 0.0), (1.0, 0.3), (1.0, 0.6), (1.0, 1.0), (0.6, 1.0), (0.3, 1.0), (0.0, 1.0))
"""The weights of the wide part and of the rest to choose from, on dev data."""
TEMPERATURES = 2.0 ** np.arange(-2, 3.01, 0.25)


class WideSettings(Settings):
    """The settings of a `Wide` part."""

    min_count: int = Field(2, ge=1, description="least number of training texts that have an n-gram")
    characters: bool = Field(True, description="n-grams of characters too (documents only)")


class Evidence(NamedTuple):
    """An n-gram that speaks for a label, or against it."""

    ngram: str
    kind: str
    weight: float
    """What it adds to the logit of the label, compared with its mean over all labels."""


class Wide(nn.Module):
    """A linear classifier of n-grams."""

    weight: Tensor
    bias: Tensor
    scales: Tensor

    def __init__(self, ngrams: Ngrams, classes: int) -> None:
        super().__init__()
        self.ngrams = ngrams
        self.register_buffer("weight", torch.zeros(len(ngrams), classes))
        self.register_buffer("bias", torch.zeros(classes))
        self.register_buffer("scales", torch.ones(2))
        self.known: Tensor | None = None
        """While the rest is trained: the logits of each row of the corpus, held out for training texts."""

    def forward(self, batch: Batch) -> Float[Tensor, "b classes"]:
        """The logits of each text."""
        if self.known is not None:
            return self.known.to(self.weight)[batch.rows]
        assert batch.ngrams is not None
        columns, weights, starts = batch.ngrams
        summed = embedding_bag(columns, self.weight, starts, mode="sum", per_sample_weights=weights.to(self.weight))
        return summed + self.bias

    def fit(self, corpus: Corpus, labels: list[str], progress: Progress | None = None) -> float:
        """Fit the weights to a corpus, and return the strength of the regularisation."""
        texts, targets = Texts.from_corpus(corpus), corpus.targets(labels)
        train, dev = corpus.whole("train"), corpus.whole("dev")
        vectors = []
        for rows in (train, dev):
            vectors.append(self.ngrams.vectors(map(texts.sentences_of, rows.tolist())))
            if progress:
                progress("n-grams: texts", len(rows))
        fitted = fit_logistic(vectors[0], targets[train], len(labels), vectors[1], targets[dev])
        with torch.no_grad():
            self.weight.copy_(fitted.weight)
            self.bias.copy_(fitted.bias)
        self.known = torch.zeros(len(corpus.encoded), len(labels))
        self.known[train], self.known[dev] = fitted.held_out, fitted.dev
        return fitted.strength

    def balance(
        self, wide: Float[Tensor, "b classes"], rest: Float[Tensor, "b classes"], labels: Tensor
    ) -> tuple[float, float]:
        """Choose the weights of the two parts with the least log loss on dev data, each at its best temperature."""
        losses = {
            scales: min(
                float(cross_entropy((scales[0] * wide + scales[1] * rest) / heat, labels)) for heat in TEMPERATURES
            )
            for scales in SCALES
        }
        best = min(losses, key=losses.__getitem__)
        self.scales.copy_(torch.tensor(best))
        return best

    @cached_property
    def _mean(self) -> Float[Tensor, "ngrams"]:
        return self.weight.mean(1)

    def evidence(self, sentences: list[list[str]], label: int, most: int = 10) -> list[Evidence]:
        """The n-grams of a text that speak most for a label, and those that speak most against it."""
        columns, weights = self.ngrams.bag(sentences)
        values = (self.weight[columns, label] - self._mean[columns]).cpu().numpy() * weights * float(self.scales[0])
        order = np.argsort(-np.abs(values), kind="stable")[:most]
        return [self._evidence(int(columns[i]), float(values[i])) for i in order if values[i]]

    def _evidence(self, column: int, weight: float) -> Evidence:
        name = self.ngrams.names[column]
        return Evidence(name[2:], KINDS[name[0]].about, weight)


def new_wide(settings: WideSettings, corpus: Corpus, labels: Sequence[str]) -> Wide:
    """A wide part with the n-grams of the training texts, not fitted yet."""
    texts, rows = Texts.from_corpus(corpus), corpus.whole("train").tolist()
    pair = len(corpus.task.columns) == 2
    ngrams = Ngrams.of(map(texts.sentences_of, rows), settings.min_count, settings.characters, pair)
    return Wide(ngrams, len(labels))
