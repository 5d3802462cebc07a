"""Optimisers: steps by hand, for dense and for sparse gradients."""

import copy

import pytest
import torch
from torch import nn

from treetext.training import Training
from treetext.training.optimizers import Together, clip, make_optimizer


class Small(nn.Module):
    """A word vector table, a matrix, a bias and a root vector, named as in the models."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(5, 3, sparse=True)
        self.layer = nn.Linear(3, 2)
        self.root_vector = nn.Parameter(torch.randn(3))

    def forward(self, words):
        return (self.layer(self.embedding(words)) ** 2).sum() + (self.embedding(words) * self.root_vector).sum()


WORDS = [torch.tensor([1, 2, 2]), torch.tensor([4, 1]), torch.tensor([3])]


def steps(model, optimizer, batches=WORDS, most=None):
    for words in batches:
        optimizer.zero_grad()
        model(words).backward()
        if most is not None:
            clip(model.parameters(), most)
        optimizer.step()


def dense(gradient):
    return gradient.to_dense() if gradient.is_sparse else gradient


def test_adagrad_as_tensorflow_s():
    model, mine = Small(), Small()
    steps(model, make_optimizer(model, Training(optimizer="adagrad", learning_rate=0.05, l2=0.1)))
    squares = {name: torch.full_like(p, 0.1) for name, p in mine.named_parameters()}
    for words in WORDS:
        mine.zero_grad()
        mine(words).backward()
        for name, p in mine.named_parameters():
            gradient = dense(p.grad) + (0.1 * p.detach() if name == "layer.weight" else 0)
            squares[name] += gradient**2
            p.data -= 0.05 * gradient / squares[name].sqrt()
    for (name, p), q in zip(model.named_parameters(), mine.parameters(), strict=True):
        torch.testing.assert_close(p, q, msg=name)
    assert torch.equal(model.embedding.weight[0], Small().embedding.weight[0]), "no step without a gradient"


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_l2_is_on_weights_alone(optimizer):
    free, held = Small(), Small()
    for model, l2 in ((free, 0.0), (held, 100.0)):
        steps(model, make_optimizer(model, Training(optimizer=optimizer, learning_rate=0.1, l2=l2)), WORDS[:1])
    for (name, p), q in zip(free.named_parameters(), held.parameters(), strict=True):
        assert torch.equal(p, q) == (name != "layer.weight"), name


def test_together_is_each_alone():
    model, mine = Small(), Small()
    together = make_optimizer(model, Training(optimizer="adamw", learning_rate=0.01, l2=0.1))
    assert isinstance(together, Together)
    steps(model, together)
    others = [{"params": [mine.layer.weight], "weight_decay": 0.1}, {"params": [mine.layer.bias, mine.root_vector]}]
    alone = [
        torch.optim.AdamW(others, lr=0.01, weight_decay=0.0),
        torch.optim.SparseAdam([mine.embedding.weight], lr=0.01),
    ]
    for words in WORDS:
        mine.zero_grad()
        mine(words).backward()
        for optimizer in alone:
            optimizer.step()
    for (name, p), q in zip(model.named_parameters(), mine.parameters(), strict=True):
        assert torch.equal(p, q), name


OPTIMIZERS = ["adagrad", "adam", "adamw", "sgd"]


def after_steps(batches=WORDS, **settings):
    model = Small()
    steps(model, make_optimizer(model, Training(**settings)), batches)
    return model


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_frozen_word_vectors(optimizer):
    """Bit for bit as they were. All others are those of a table that is no parameter."""
    frozen, fixed = Small(), Small()
    settings = Training(optimizer=optimizer, learning_rate=0.1, vectors_rate=0)
    steps(frozen, make_optimizer(frozen, settings))
    fixed.embedding.weight.requires_grad_(False)
    steps(fixed, make_optimizer(fixed, Training(optimizer=optimizer, learning_rate=0.1)))
    assert torch.equal(frozen.embedding.weight, Small().embedding.weight)
    for name in ("layer.weight", "layer.bias", "root_vector"):
        assert torch.equal(frozen.state_dict()[name], fixed.state_dict()[name]), name
        assert not torch.equal(frozen.state_dict()[name], Small().state_dict()[name]), name


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("share", [0.1, 3.0])
def test_the_rate_of_word_vectors(optimizer, share):
    """The first step of the table is that many times as large; that of all others is the same."""
    start, settings = Small(), {"optimizer": optimizer, "learning_rate": 0.01}
    same, scaled = (after_steps(WORDS[:1], **settings, vectors_rate=rate) for rate in (1.0, share))
    moved, expected = (model.embedding.weight - start.embedding.weight for model in (scaled, same))
    assert expected.any()
    torch.testing.assert_close(moved, share * expected, rtol=1e-3, atol=1e-7)
    for name in ("layer.weight", "layer.bias", "root_vector"):
        assert torch.equal(scaled.state_dict()[name], same.state_dict()[name]), name


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("share", [0, 0.1])
def test_a_schedule_keeps_the_shares(optimizer, share):
    """It multiplies the rate of each group, as `LambdaLR` does in training."""
    model = Small()
    together = make_optimizer(model, Training(optimizer=optimizer, learning_rate=0.2, vectors_rate=share))
    scheduled = torch.optim.lr_scheduler.LambdaLR(together, lambda step: 0.5**step)
    steps(model, together, WORDS[:1])
    scheduled.step()
    rates = {id(p): group["lr"] for group in together.param_groups for p in group["params"]}
    assert rates[id(model.layer.weight)] == pytest.approx(0.1)
    assert rates.get(id(model.embedding.weight)) == (pytest.approx(0.01) if share else None)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("vectors_rate", [1.0, 0.1, 0.0])
def test_state_round_trip(optimizer, vectors_rate, tmp_path):
    settings = Training(optimizer=optimizer, learning_rate=0.02, vectors_rate=vectors_rate)
    whole, first = Small(), Small()
    steps(whole, make_optimizer(whole, settings), WORDS * 2)
    one = make_optimizer(first, settings)
    steps(first, one)
    torch.save({"weights": first.state_dict(), "optimizer": one.state_dict()}, tmp_path / "state")
    kept = torch.load(tmp_path / "state", weights_only=True)
    second = Small()
    second.load_state_dict(kept["weights"])
    two = make_optimizer(second, settings)
    two.load_state_dict(kept["optimizer"])
    steps(second, two)
    for (name, p), q in zip(whole.named_parameters(), second.parameters(), strict=True):
        assert torch.equal(p, q), name


def test_a_change_of_the_learning_rate_reaches_all():
    model = Small()
    together = make_optimizer(model, Training(optimizer="adamw", learning_rate=0.1, l2=0.0))
    for group in together.param_groups:
        group["lr"] = 0.0
    steps(model, together)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), Small().parameters(), strict=True))


def test_step_with_a_closure():
    model = Small()
    together = make_optimizer(model, Training(optimizer="adam", learning_rate=0.1))

    def closure():
        together.zero_grad()
        loss = model(WORDS[0])
        loss.backward()
        return loss

    first = together.step(closure)
    assert together.step(closure).item() < first.item()


@pytest.mark.parametrize("most", [0.01, 1.0, 1e6])
def test_clipping_with_sparse_gradients_is_dense_clipping(most):
    sparse = Small()
    full = copy.deepcopy(sparse)
    full.embedding.sparse = False
    for model in (sparse, full):
        model(torch.tensor([1, 2, 2, 1, 4])).backward()
    clip(sparse.parameters(), most)
    nn.utils.clip_grad_norm_(full.parameters(), most)
    assert sparse.embedding.weight.grad.is_sparse
    for (name, p), q in zip(sparse.named_parameters(), full.parameters(), strict=True):
        torch.testing.assert_close(dense(p.grad), q.grad, rtol=1e-4, atol=0, msg=name)


def test_clipping_without_gradients_of_some():
    model = Small()
    model.root_vector.sum().mul(100).backward()
    clip(model.parameters(), 1.0)
    assert model.root_vector.grad.norm() == pytest.approx(1)
    assert model.layer.weight.grad is None
