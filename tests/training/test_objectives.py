"""What is made small, how fast, and how that changes on the way."""

import sys
from types import SimpleNamespace

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from tests.evaluation.brute import all_trees
from tests.training.small import Tripwire, reviews, tiny, weights
from treetext.data import BadInput, open_corpus
from treetext.data.batches import DocumentIds, collate
from treetext.evaluation import run
from treetext.evaluation.induced import induce
from treetext.models import Output
from treetext.nn import LevelOutput
from treetext.training import OBJECTIVES, Interrupted, new_model, train
from treetext.training.module import Loaders, Module
from treetext.training.objectives import balanced_weights, cross_entropy, entropy_schedule, tree_entropy
from treetext.training.optimizers import Together
from treetext.trees import NonProjectiveTrees, ProjectiveTrees


def test_a_rate_that_falls_to_nothing(tmp_path, monkeypatch, small):
    def falling(epochs):
        return small(training__schedule="linear", training__objectives={"entropy": 0.5}, training__epochs=epochs)

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
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    assert weights(train(falling(3), tmp_path / "resumed", resume=True)) == weights(whole)


def level(scale, *lengths, kind=NonProjectiveTrees, single_root=True):
    """A bucket of trees of so many nodes each."""
    arcs = scale * torch.randn(len(lengths), 5, 5, generator=torch.Generator().manual_seed(0))
    trees = kind(arcs, scale * arcs[:, 0], torch.tensor(lengths), single_root)
    return LevelOutput(torch.zeros(len(lengths), 1), torch.zeros(len(lengths), 5, 1), trees.marginals, trees)


def batch(*labels):
    """One-word documents of some classes."""
    word = DocumentIds(np.array([1]), np.array([1]))
    return collate([word] * len(labels), np.array(labels), np.arange(len(labels)))


def output(**levels):
    return Output(torch.zeros(1, 2), None, levels)


def entropy(*buckets):
    return float(tree_entropy(output(words=list(buckets)), "words").detach())


KINDS = [(kind, single_root) for kind in (NonProjectiveTrees, ProjectiveTrees) for single_root in (True, False)]
every_kind = pytest.mark.parametrize(("kind", "single_root"), KINDS)


@every_kind
@pytest.mark.parametrize("n", [2, 5, 10])
def test_uniform_trees_have_all_the_entropy(kind, single_root, n):
    """A share of the most that there can be, for each kind: 0.65 for projective trees would be one of all trees."""
    trees = kind(torch.zeros(1, n, n), torch.zeros(1, n), single_root=single_root)
    bucket = LevelOutput(torch.zeros(1, 1), torch.zeros(1, n, 1), trees.marginals, trees)
    assert entropy(bucket) == pytest.approx(1, abs=1e-6)


@every_kind
def test_entropy_by_enumeration(kind, single_root):
    bucket = level(1, 4, 3, kind=kind, single_root=single_root)
    assert entropy(bucket) == pytest.approx(np.mean(slow_shares(bucket, kind, single_root)), abs=1e-5)


def slow_shares(bucket, kind, single_root):
    """For each tree of a bucket, its entropy as a share of the maximum, from the probabilities of all trees."""
    shares = []
    for arcs, roots, n in zip(
        bucket.trees.arcs.tolist(), bucket.trees.roots.tolist(), bucket.trees.lengths.tolist(), strict=True
    ):
        trees = [tree for tree in all_trees(n, single_root) if tree.projective or kind is NonProjectiveTrees]
        scores = np.array(
            [sum(roots[r] for r in tree.roots) + sum(arcs[head][node] for head, node in tree.arcs) for tree in trees]
        )
        p = np.exp(scores) / np.exp(scores).sum()
        if n > 1:
            shares.append(-(p * np.log(p)).sum() / np.log(len(trees)))
    return shares


def test_tree_entropy():
    assert entropy(level(0, 5, 3, 1), level(0, 2, 2)) == pytest.approx(1), "all trees are equally likely"
    assert entropy(level(1e6, 5, 3, 1)) == pytest.approx(0, abs=1e-6)
    five, three = entropy(level(1, 5)), entropy(level(1, 3))
    assert 0 < five < 1
    assert entropy(level(1, 5), level(1, 3), level(1, 1, 1)) == pytest.approx((five + three) / 2)
    none = LevelOutput(torch.zeros(1, 1), torch.zeros(1, 5, 1), None, None)
    assert entropy(none) == entropy(level(1, 1)) == entropy() == 0


@pytest.mark.parametrize(("progress", "factor"), [(0.0, -1), (0.25, -0.5), (0.5, 0), (1.0, 1)])
def test_the_schedule_of_the_entropy(progress, factor):
    """A bonus, which makes a loss smaller, becomes a penalty halfway; all levels with trees add up."""
    words = [level(1, 4, 3, 1), level(2, 2)]
    sentences = [level(0.5, 5, kind=ProjectiveTrees)]
    shares = [slow_shares(bucket, NonProjectiveTrees, True) for bucket in words]
    words_share = np.mean(np.concatenate(shares))
    expected = factor * (words_share + np.mean(slow_shares(sentences[0], ProjectiveTrees, True)))
    found = entropy_schedule(batch(0), output(words=words, sentences=sentences), progress)
    assert float(found) == pytest.approx(expected, abs=1e-5)
    none = [LevelOutput(torch.zeros(1, 1), torch.zeros(1, 5, 1), None, None)]
    alone = entropy_schedule(batch(0), output(words=words, sentences=none), progress)
    assert float(alone) == pytest.approx(factor * words_share, abs=1e-5), "levels without trees add nothing"


@every_kind
def test_gradient_of_the_schedule(kind, single_root):
    random = torch.Generator().manual_seed(1)
    arcs, roots = (torch.randn(3, 4, *n, dtype=torch.float64, generator=random) for n in ([4], []))
    lengths = torch.tensor([4, 1, 3])

    def value(arcs, roots):
        trees = kind(arcs, roots, lengths, single_root)
        bucket = LevelOutput(torch.zeros(3, 1), torch.zeros(3, 4, 1), trees.marginals, trees)
        return entropy_schedule(batch(0), output(words=[bucket], sentences=[bucket]), 0.2)

    assert torch.autograd.gradcheck(value, (arcs.requires_grad_(), roots.requires_grad_()))


def test_a_step_against_the_gradient_makes_trees_flat_at_first_and_sharp_at_last():
    for progress, flatter in ((0.0, True), (1.0, False)):
        arcs, roots = torch.randn(1, 5, 5, generator=torch.Generator().manual_seed(2)), torch.zeros(1, 5)
        arcs.requires_grad_()
        shares = []
        for _ in range(2):
            trees = ProjectiveTrees(arcs, roots)
            bucket = LevelOutput(torch.zeros(1, 1), torch.zeros(1, 5, 1), trees.marginals, trees)
            shares.append(entropy(bucket))
            (gradient,) = torch.autograd.grad(entropy_schedule(batch(0), output(words=[bucket]), progress), arcs)
            arcs = (arcs - gradient).detach().requires_grad_()
        assert (shares[1] > shares[0]) == flatter


def test_cross_entropy():
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 3, generator=random, dtype=torch.float64, requires_grad=True)
    labels = [0, 2, 1, 1, 0]
    expected = -np.mean([logits.softmax(-1)[i, label].log().item() for i, label in enumerate(labels)])
    for progress in (0.0, 1.0):
        value = OBJECTIVES["cross_entropy"].value
        assert float(value(batch(*labels), Output(logits), progress).detach()) == pytest.approx(expected)
        assert torch.autograd.gradcheck(lambda x, value=value: value(batch(*labels), Output(x), 0.3), logits)


def test_cross_entropy_with_weights_and_smoothing():
    logits = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    labels, class_weights, smoothing = [0, 2, 1, 1, 0], torch.tensor([0.5, 3.0, 2.0]), 0.3
    logs = logits.detach().log_softmax(-1).numpy()
    targets = np.full((5, 3), smoothing / 3)
    targets[range(5), labels] += 1 - smoothing
    plain = -(targets * logs).sum(1)

    def value(x, **more):
        return cross_entropy(batch(*labels), Output(x), 0.0, **more)

    assert float(value(logits, smoothing=smoothing).detach()) == pytest.approx(plain.mean())
    weighed = value(logits, weights=class_weights, smoothing=smoothing)
    assert float(weighed.detach()) == pytest.approx((plain * class_weights.numpy()[labels]).mean())
    assert torch.autograd.gradcheck(lambda x: value(x, weights=class_weights, smoothing=smoothing), logits)
    halves = [cross_entropy(batch(*labels[part]), Output(logits[part]), 0.0, class_weights) * len(labels[part])
              for part in (slice(2), slice(2, 5))]  # fmt: skip
    whole = value(logits, weights=class_weights)
    assert float(sum(halves).detach()) == pytest.approx(5 * float(whole.detach())), "whatever batch a text is in"


@pytest.mark.parametrize("labels", [[0, 0, 0, 1, 2, 2], [0, 1], [1, 1, 1, 2]])
def test_balanced_weights(labels):
    found = balanced_weights(np.array(labels), 3).numpy()
    present = np.unique(labels)
    assert found[present] == pytest.approx(compute_class_weight("balanced", classes=present, y=labels))
    assert found[labels].mean() == pytest.approx(1)
    assert np.isfinite(found).all(), "also of a class without texts"


def test_a_step_with_class_weights_and_smoothing(tmp_path):
    rare = [("a good film .", "good")] * 6 + [("a bad film .", "bad")] * 2
    recipe = tiny(
        reviews(tmp_path, train=rare), training__class_weights="balanced", training__label_smoothing=0.2,
        training__epochs=1, training__optimizer="sgd", training__learning_rate=1e-12, model__dropout=0.0,
    )  # fmt: skip
    model = train(recipe, tmp_path / "model")
    corpus = open_corpus(recipe.data)
    everything = next(iter(Loaders(corpus, model, recipe).train_dataloader()))
    expected = cross_entropy(everything, model(everything), 0.0, torch.tensor([2.0, 2 / 3]), 0.2)
    assert model.about["curve"][0]["loss"] == pytest.approx(float(expected.detach()), rel=1e-5)


def test_balanced_ngrams_find_more_of_a_rare_class(tmp_path):
    """One text in twelve is rare, and each of its words may be of the other class."""
    random = np.random.default_rng(0)

    def drawn(texts):
        labels = ["rare" if i % 12 == 0 else "usual" for i in range(texts)]
        return [(" ".join(f"w{random.binomial(9, 0.5 if each == 'rare' else 0.4)}" for _ in range(8)), each)
                for each in labels]  # fmt: skip

    data = reviews(tmp_path, train=drawn(360), dev=drawn(120), test=drawn(240))
    recall = {}
    for kind in (None, "balanced"):
        recipe = tiny(data, model__wide={}, training__epochs=1, training__class_weights=kind)
        model = train(recipe, tmp_path / str(kind), say=[].append)
        ran = list(run(model, open_corpus(recipe.data), "test"))
        classes = torch.cat([each.output.parts["n-grams"].argmax(-1) for each in ran])
        labels = torch.cat([each.batch.labels for each in ran])
        recall[kind] = float((classes == labels)[labels == model.labels.index("rare")].float().mean())
    assert recall[None] < 0.4
    assert recall["balanced"] > 0.6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("size", "accumulate"), [(12, 5), (6, 10), (4, 7), (20, 2)])
def test_accumulated_batches_are_one_larger_batch(small, monkeypatch, size, accumulate):
    """Batches of 60 texts in all: one step of an epoch, or two of which the second has fewer batches."""
    steps, step = [], Together.step

    def noted(self, closure=None):
        done = step(self, closure)
        grads = {id(p): p.grad.to_dense().clone() for group in self.param_groups for p in group["params"]}
        steps.append((grads, [group["lr"] for group in self.param_groups]))
        return done

    monkeypatch.setattr(Together, "step", noted)
    recipe = small(
        training__batch_size=size, training__accumulate=accumulate, training__epochs=2, training__clip=None,
        training__learning_rate=1e-9, training__schedule="linear", training__class_weights="balanced",
        model__dropout=0.0,
    )  # fmt: skip
    corpus = open_corpus(recipe.data)
    model, class_weights = new_model(recipe, corpus), torch.tensor([0.5, 2.0])
    loaders, seen = Loaders(corpus, model, recipe), Seen()
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=2, accumulate_grad_batches=accumulate, callbacks=seen, num_sanity_val_steps=0,
        use_distributed_sampler=False, **off,
    )  # fmt: skip
    module = Module(model, recipe, 60, 0, 0, class_weights)
    trainer.fit(module, loaders)
    groups = [epoch[start : start + accumulate] for epoch in seen.epochs for start in range(0, len(epoch), accumulate)]
    assert len(steps) == len(groups) == module.steps, "the schedule counts steps, not batches"
    model.train()
    for done, ((found, rates), rows) in enumerate(zip(steps, groups, strict=True)):
        assert rates == pytest.approx([1e-9 * (1 - done / len(steps))] * 3)
        larger = loaders.collate([row for some in rows for row in some])
        model.zero_grad()
        cross_entropy(larger, model(larger), 0.0, class_weights).backward()
        for name, parameter in model.named_parameters():
            expected = parameter.grad.to_dense()
            assert torch.allclose(found[id(parameter)], expected, rtol=1e-3, atol=1e-6), name


class Seen(pl.Callback):
    """The rows of all batches of each epoch."""

    def __init__(self):
        self.epochs = []

    def on_train_epoch_start(self, *_):
        self.epochs.append([])

    def on_train_batch_start(self, trainer, module, batch, batch_idx):  # noqa: ARG002
        self.epochs[-1].append(batch.rows.tolist())


def test_which_objectives_need_trees():
    assert {name: objective.needs_trees for name, objective in OBJECTIVES.items()} == {
        "cross_entropy": False,
        "entropy": True,
    }


@pytest.mark.parametrize(
    "weights",
    [
        {"cross_entropy": 1.0},
        {"entropy": 0.5},
        {"cross_entropy": 0.25, "entropy": 2.0},
        {"cross_entropy": 0, "entropy": 1},
    ],
)
def test_a_step_is_the_weighted_sum(small, weights):
    recipe = small(training__objectives=weights, model__dropout=0.0)
    corpus = open_corpus(recipe.data)
    model = new_model(recipe, corpus)
    module = Module(model, recipe, 60, 0, 0)
    logged = {}
    module.log = lambda name, value, **_: logged.setdefault(name, float(value.detach()))
    module.trainer = SimpleNamespace(world_size=1, global_step=6, current_epoch=0, num_training_batches=8)
    some = next(iter(Loaders(corpus, model, recipe).train_dataloader()))
    progress = 6 / (4 * 8)
    made = model(some)
    terms = {name: float(OBJECTIVES[name].value(some, made, progress).detach()) for name in OBJECTIVES}
    expected = {"cross_entropy": 1.0, **weights}
    total = float(module.training_step(some, 0).detach())
    assert total == pytest.approx(sum(weight * terms[name] for name, weight in expected.items()), rel=1e-5)
    shown = terms["cross_entropy"] if expected["cross_entropy"] else total
    assert logged["loss"] == pytest.approx(shown, rel=1e-5)


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
        recipe, watch = small(training__objectives__entropy=weight, training__epochs=8), Watch()
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
        BadInput, match=r"training\.objectives\.entropy: the model has no trees; expected 0, or attention over trees"
    ):
        small(training__objectives__entropy=0.1, **none)
    assert small(training__objectives__entropy=0.1, model__words__attention="none").training.objectives == {
        "cross_entropy": 1.0,
        "entropy": 0.1,
    }
