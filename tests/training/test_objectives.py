"""What is made small, how fast, and how that changes on the way."""

import sys

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from treetext.analysis._induced import induce
from treetext.text import BadInput
from treetext.training._module import Loaders, Module, flatness
from treetext.training._optimizers import Together

from tests.training.small import Tripwire, weights
from treetext.nn import Composed
from treetext.training import Interrupted, new_model, open_corpus, train
from treetext.trees import NonProjectiveTrees


def test_a_rate_that_falls_to_nothing(tmp_path, monkeypatch, small):
    def falling(epochs):
        return small(training__schedule="linear", training__entropy=0.5, training__epochs=epochs)

    rates, step = [], Together.step

    def noted(self, closure=None):
        rates.append([group["lr"] for group in self.param_groups])
        return step(self, closure)

    monkeypatch.setattr(Together, "step", noted)
    whole = train(falling(3), tmp_path / "whole")
    steps = len(rates)
    assert steps == 3 * 8, "60 texts in batches of 8"
    for done, found in enumerate(rates):
        assert found == pytest.approx([0.03 * (1 - done / steps)] * 3), "word vectors included"
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   2:"))
    with pytest.raises(Interrupted):
        train(falling(3), tmp_path / "resumed")
    monkeypatch.setattr(sys, "stderr", Tripwire("never"))
    assert weights(train(falling(3), tmp_path / "resumed", resume=True)) == weights(whole)


def test_flatness():
    def level(scale, lengths):
        lengths = torch.tensor(lengths)
        arcs = scale * torch.randn(len(lengths), 5, 5, generator=torch.Generator().manual_seed(0))
        trees = NonProjectiveTrees(arcs, scale * arcs[:, 0], lengths)
        return Composed(torch.zeros(len(lengths), 1), torch.zeros(len(lengths), 5, 1), trees.marginals, trees)

    assert flatness([level(0, [5, 3, 1]), level(0, [2, 2])]) == pytest.approx(1), "all trees are equally likely"
    assert flatness([level(1e6, [5, 3, 1])]) == pytest.approx(0, abs=1e-6)
    five, three = (flatness([level(1, lengths)]) for lengths in ([5], [3]))
    assert 0 < five < 1
    assert flatness([level(1, [5]), level(1, [3]), level(1, [1, 1])]) == pytest.approx((five + three) / 2)
    none = Composed(torch.zeros(1, 1), torch.zeros(1, 5, 1), None, None)
    assert flatness([none]) == flatness([level(1, [1])]) == flatness([]) == 0


@pytest.mark.filterwarnings("ignore")
def test_trees_are_flat_at_first_and_sharp_at_last(small):
    class Watch(pl.Callback):
        def __init__(self):
            self.epochs = []

        def on_train_epoch_end(self, _, module):
            found = induce(module.model, corpus, "dev")[0].values()
            self.epochs.append(np.mean([level.entropies.mean() for level in found]))
            module.train()

    flat = {}
    for weight in (0.0, 1.0):
        recipe, watch = small(training__entropy=weight, training__epochs=8), Watch()
        corpus = open_corpus(recipe.data)
        model = new_model(recipe, corpus)
        off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
        trainer = pl.Trainer(accelerator="cpu", max_epochs=8, callbacks=watch, num_sanity_val_steps=0, **off)
        trainer.fit(Module(model, recipe, 60, 0, 0), Loaders(corpus, model, recipe))
        flat[weight] = watch.epochs
    assert max(flat[1.0][:4]) > max(flat[0.0][:4])
    assert flat[1.0][-1] < flat[0.0][-1] / 2


def test_no_trees_no_entropy(small):
    none = {"model__words__attention": "none", "model__sentences__attention": "simple"}
    with pytest.raises(
        BadInput, match=r"training\.entropy: the model has no trees; expected 0, or attention over trees"
    ):
        small(training__entropy=0.1, **none)
    assert small(training__entropy=0.1, model__words__attention="none").training.entropy == 0.1
