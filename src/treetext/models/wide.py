"""The wide part of a model: a logistic regression on n-grams that adds its logits (Cheng et al. 2016, wide and deep).

The two parts are trained apart, and their weights in the sum are chosen on dev data. Trained together on few texts, the
trees would learn only what the n-grams leave, and that is mostly noise.
"""

import re
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from treetext.data import Corpus, Progress, Settings
from treetext.data.batches import Batch, Texts
from treetext.data.ngrams import KINDS, Ngrams
from treetext.models.logistic import STRENGTHS, best_temperature, fit_logistic, smoothed_loss

SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9, 0.01, 0.99)
"""The weights of the trees to choose from; the n-grams have the rest. None is 0, so that each part can be judged alone.
The first of several with the same loss is chosen."""


MOST_WEIGHTS = 20_000_000
"""The most weights of a part: with many classes, only the n-grams that most texts have get weights."""


class WideSettings(Settings):
    """The settings of a `Wide` part."""

    min_count: int = Field(2, ge=1, description="least number of training texts that have an n-gram")
    characters: bool | None = Field(
        None, description="n-grams of characters too (documents only); unset: if they lower the loss on held-out texts"
    )
    strength: float | None = Field(
        None, gt=0, description="inverse weight of the L2 penalty; unset: that with the least loss on held-out texts"
    )


class Evidence(NamedTuple):
    """An n-gram that speaks for a label, or against it."""

    ngram: str
    kind: str
    weight: float
    """What it adds to the logit of the label, compared with its mean over all labels."""


class Wide(nn.Module):
    """A linear classifier of n-grams. `scales` are the weights of its logits and of the trees' in the sum."""

    weight: Tensor
    bias: Tensor
    scales: Tensor

    def __init__(self, ngrams: Ngrams, classes: int) -> None:
        super().__init__()
        self.ngrams = ngrams
        self.register_buffer("weight", torch.zeros(len(ngrams), classes))
        self.register_buffer("bias", torch.zeros(classes))
        self.register_buffer("scales", torch.ones(2))

    def forward(self, batch: Batch) -> Float[Tensor, "b classes"]:
        """The logits of each text."""
        assert batch.ngrams is not None
        columns, weights, starts = batch.ngrams
        summed = embedding_bag(columns, self.weight, starts, mode="sum", per_sample_weights=weights.to(self.weight))
        return summed + self.bias

    @classmethod
    def fitted(
        cls,
        settings: WideSettings,
        corpus: Corpus,
        labels: list[str],
        progress: Progress | None = None,
        class_weights: Float[Tensor, "classes"] | None = None,
    ) -> tuple["Wide", str]:
        """A part with the n-grams of the training texts, fitted to them, and a remark on what was chosen."""
        texts, targets = Texts.from_corpus(corpus), corpus.targets(labels)
        train, dev = corpus.whole("train"), corpus.whole("dev")
        pair = len(corpus.task.columns) == 2
        # What has characters may lose them; so they are counted unless they are not wanted.
        ngrams = Ngrams.of(
            map(texts.sentences_of, train.tolist()), settings.min_count, settings.characters is not False, pair
        )
        if len(ngrams) * len(labels) > MOST_WEIGHTS:
            ngrams = ngrams.only(np.sort(np.argsort(ngrams.idf, kind="stable")[: MOST_WEIGHTS // len(labels)]))
        vectors = []
        for rows in (train, dev):
            vectors.append(ngrams.vectors(map(texts.sentences_of, rows.tolist())))
            if progress:
                progress("n-grams: texts", len(rows))
        strengths = STRENGTHS if settings.strength is None else (settings.strength,)
        choices = [np.arange(len(ngrams))]
        if ngrams.characters and settings.characters is None:
            choices.append(ngrams.words)
        best = None
        for columns in choices:
            x, dev_x = (each[:, columns] for each in vectors)
            fit = fit_logistic(x, targets[train], len(labels), dev_x, targets[dev], strengths, class_weights)
            if best is None or fit.loss < best[0].loss:
                best = fit, columns
        assert best is not None
        fit, columns = best
        wide = cls(ngrams.only(columns), len(labels))
        wide.weight.copy_(fit.weight)
        wide.bias.copy_(fit.bias)
        kinds = "words and characters" if wide.ngrams.characters else "words"
        return wide, f"n-grams: {len(columns):,} of {kinds}, strength {fit.strength:g}"

    @torch.no_grad()
    def balance(
        self,
        wide: Float[Tensor, "b classes"],
        trees: Float[Tensor, "b classes"],
        labels: Int[Tensor, "b"],
        class_weights: Float[Tensor, "classes"] | None = None,
    ) -> float:
        """Choose the weights of the two parts with the least log loss on dev data. Returns the share of the trees."""
        heats = [best_temperature(logits, labels, class_weights) for logits in (wide, trees)]
        losses = {}
        for share in SHARES:
            mixed = (1 - share) * wide / heats[0] + share * trees / heats[1]
            heat = best_temperature(mixed, labels, class_weights)
            losses[share] = smoothed_loss(mixed / heat, labels, class_weights)
        best = min(losses, key=losses.__getitem__)
        self.scales.copy_(torch.tensor([(1 - best) / heats[0], best / heats[1]]))
        return best

    def evidence(self, sentences: list[list[str]], label: int, most: int = 5) -> list[Evidence]:
        """The n-grams of a text that speak most for a label, and those that speak most against it: `most` of each."""
        columns, weights = self.ngrams.bag(sentences)
        known = self.weight[torch.from_numpy(columns).to(self.weight.device)]
        values = (known[:, label] - known.mean(1)).cpu().numpy() * weights * float(self.scales[0])
        order = np.argsort(-np.abs(values), kind="stable")
        sides = np.concatenate([np.flatnonzero(sign * values[order] > 0)[:most] for sign in (1, -1)])
        return [self._evidence(int(columns[i]), float(values[i])) for i in order[np.sort(sides)]]

    def _evidence(self, column: int, weight: float) -> Evidence:
        name = self.ngrams.names[column]
        # The names of counts have the plural of words, also in the files of models.
        return Evidence(re.sub("^(-?1) words ", r"\1 word ", name[2:]), KINDS[name[0]].about, weight)
