"""Loaders: the order of the batches, and how devices share them; the schedule of the learning rate."""

import pickle

import lightning.pytorch as pl
import pytest
import torch

from treetext.data import open_corpus
from treetext.data.batches import LengthBatches
from treetext.training import new_model
from treetext.training.module import Loaders, Module, Share


def rows(loader, epoch):
    loader.batch_sampler.set_epoch(epoch)
    return [batch.rows.tolist() for batch in loader]


def test_the_order_changes_with_the_epoch_and_the_seed_alone(small):
    def loader(**more):
        recipe = small(**more)
        corpus = open_corpus(recipe.data)
        return Loaders(corpus, new_model(recipe, corpus), recipe)

    one, same, other = (loader(seed=seed).train_dataloader() for seed in (1, 1, 2))
    assert rows(one, 0) == rows(same, 0)
    assert rows(one, 1) == rows(same, 1)
    assert rows(one, 0) == rows(same, 0), "also after others"
    assert rows(one, 0) != rows(one, 1)
    assert rows(one, 0) != rows(other, 0)
    assert sorted(row for batch in rows(one, 3) for row in batch) == list(range(60))
    dev = loader().val_dataloader()
    assert rows(dev, 0) == rows(dev, 1)
    assert sorted(row for batch in rows(dev, 0) for row in batch) == list(range(60, 90))


class Rows(pl.Callback):
    """Notes which rows are in the batches of each epoch."""

    def __init__(self):
        self.epochs = {}

    def on_train_batch_start(self, trainer, module, batch, batch_idx):  # noqa: ARG002
        self.epochs.setdefault(trainer.current_epoch, []).append(batch.rows.tolist())


@pytest.mark.filterwarnings("ignore")
def test_the_order_changes_in_training(small):
    recipe, seen = small(), Rows()
    corpus = open_corpus(recipe.data)
    model = new_model(recipe, corpus)
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=3, callbacks=seen, num_sanity_val_steps=0, use_distributed_sampler=False, **off
    )  # fmt: skip
    loaders = Loaders(corpus, model, recipe)
    trainer.fit(Module(model, recipe, 1, 0, 0), loaders)
    assert list(seen.epochs) == [0, 1, 2]
    for epoch, batches in seen.epochs.items():
        assert batches == rows(loaders.train_dataloader(), epoch), "those that the seed and the epoch say"
    assert seen.epochs[0] != seen.epochs[1] != seen.epochs[2]


def test_loaders_leave_the_random_numbers_alone(small):
    recipe = small()
    corpus = open_corpus(recipe.data)
    loaders = Loaders(corpus, new_model(recipe, corpus), recipe)
    state = torch.get_rng_state()
    for loader in (loaders.train_dataloader(), loaders.val_dataloader()):
        list(loader)
    assert torch.equal(torch.get_rng_state(), state)


def test_loaders_can_be_sent_to_other_processes(small):
    """As Lightning does where there are several devices."""
    recipe = small()
    corpus = open_corpus(recipe.data)
    loaders = Loaders(corpus, new_model(recipe, corpus), recipe)
    sent = pickle.loads(pickle.dumps(loaders))
    assert rows(sent.train_dataloader(), 1) == rows(loaders.train_dataloader(), 1)


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("number", [1, 4, 6, 7])
def test_devices_share_all_batches(world, number):
    batches = LengthBatches([1] * number, [1] * number, batch_size=1)
    for even in (False, True):
        shares = [Share(batches, rank, world, even) for rank in range(world)]
        found = [list(share) for share in shares]
        assert [len(share) for share in shares] == [len(share) for share in found]
        flat = [row for share in found for [row] in share]
        assert set(flat) == set(range(number))
        if even:
            assert len({len(share) for share in found}) == 1
        else:
            assert len(flat) == number


class Rates(pl.Callback):
    """Notes the learning rates of the first group in all steps."""

    def __init__(self):
        self.rates = []

    def on_before_optimizer_step(self, trainer, module, optimizer):  # noqa: ARG002
        self.rates.append([group["lr"] for group in optimizer.param_groups])


def rates(small, batch_size, epochs, **settings):
    recipe = small(training__batch_size=batch_size, training__epochs=epochs, training__learning_rate=0.01, **settings)
    corpus, noted = open_corpus(recipe.data), Rates()
    model = new_model(recipe, corpus)
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=epochs, callbacks=noted, num_sanity_val_steps=0, use_distributed_sampler=False,
        **off,
    )  # fmt: skip
    trainer.fit(Module(model, recipe, 60, 0, 0), Loaders(corpus, model, recipe))
    return [100 * step[0] for step in noted.rates], noted.rates


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        ("constant", 0, [1] * 10),
        ("constant", 0.4, [0, 0.25, 0.5, 0.75, *[1] * 6]),
        ("linear", 0, [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
        ("linear", 0.2, [0, 0.5, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]),
    ],
)
def test_the_schedule_of_the_rate(small, schedule, warmup, expected):
    """Five steps in each of two epochs."""
    found, _ = rates(small, 12, 2, training__schedule=schedule, training__warmup=warmup)
    assert found == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore")
def test_word_vectors_follow_the_schedule_at_their_own_rate(small):
    _, steps = rates(small, 12, 2, training__schedule="linear", training__warmup=0.2, training__vectors_rate=0.1)
    assert len(steps) == 10
    for *others, table in steps:
        assert others == [others[0]] * len(others)
        assert table == pytest.approx(0.1 * others[0])
