"""Corpora made ready: the cache, classes, batches."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from treetext.corpora import Data
from treetext.text import BadInput, LengthBatches, batch
from treetext.training._corpus import Batches
from treetext.training._module import Loaders, Module, Share

import treetext
from tests.training.small import reviews, tiny, write_table
from treetext.models import DocumentClassifier
from treetext.training import evaluate, new_model, open_corpus


@pytest.fixture
def cached(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("TREETEXT_CACHE", str(path))
    return path


class Reading:
    """Counts the texts that are read."""

    def __init__(self):
        self.texts = 0

    def __call__(self, what, more):
        if what == "reading texts":
            self.texts += more


def opened(data):
    """The documents of a corpus, and how many of them were read for that."""
    reading = Reading()
    corpus = open_corpus(data, reading)
    return [corpus.encoded.document(row) for row in range(len(corpus.encoded))], reading.texts


def test_the_cache_is_used(cached, tmp_path):
    data = Data(**reviews(tmp_path))
    first, read = opened(data)
    assert (len(first), read) == (24, 24)
    assert opened(data) == (first, 0)
    write_table(tmp_path / "dev.csv", [("other words", "good")])
    assert opened(data)[1] == 17, "files that have changed are read again"
    assert opened(data.model_copy(update={"lowercase": False}))[1] == 17
    assert opened(data.model_copy(update={"seed": 5}))[1] == 0, "another split of the same texts"
    assert len(list(cached.glob("*.arrow"))) == 3


def test_the_cache_of_other_code_is_not_used(cached, tmp_path):
    """Generated texts are those of the generator at hand."""
    shutil.copytree(Path(treetext.__file__).parent, tmp_path / "treetext", ignore=shutil.ignore_patterns("shipped"))
    program = (
        "from treetext.corpora import Data; from treetext.training import open_corpus\n"
        "open_corpus(Data(format='hidden-trees', hidden_trees={'train': 9, 'dev': 9, 'test': 9}))"
    )
    command, environment = [sys.executable, "-c", program], {**os.environ, "PYTHONPATH": str(tmp_path)}
    for files in (1, 1, 2):
        if files == 2:
            with (tmp_path / "treetext" / "corpora" / "hidden_trees.py").open("a") as generator:
                generator.write("# another version\n")
        subprocess.run(command, env=environment, check=True)
        assert len(list(cached.glob("*.arrow"))) == files


@pytest.mark.parametrize("damage", [lambda b: b[:-100], lambda b: b[: len(b) // 2], lambda _: b"", lambda _: b"x" * 99])
def test_a_damaged_cache_is_made_again(cached, tmp_path, damage):
    data = Data(**reviews(tmp_path))
    first, _ = opened(data)
    [file] = cached.glob("*.arrow")
    file.write_bytes(damage(file.read_bytes()))
    assert opened(data) == (first, 24)
    assert opened(data) == (first, 0)


def test_an_interrupted_encoding_leaves_nothing_to_be_taken_for_whole(cached, tmp_path):
    data = Data(**reviews(tmp_path, test=[("good", "good"), ("no label", "")]))
    with pytest.raises(BadInput):
        open_corpus(data)
    assert not list(cached.glob("*.arrow"))
    write_table(tmp_path / "test.csv", [("good", "good")])
    assert opened(data)[1] == 17


def test_notes_are_kept_with_the_cache(cached, tmp_path):  # noqa: ARG001
    path = tmp_path / "reviews.tsv"
    path.write_text("text\tlabel\n\ngood\tgood\n\nbad\tbad\n")
    notes = open_corpus(Data(format="tsv", path=str(path))).notes
    assert open_corpus(Data(format="tsv", path=str(path))).notes == notes


def test_classes_are_in_order(tmp_path):
    rows = [(f"text {label}", label) for label in ("10", "2", "-1", "b", "a", "2.5")]
    corpus = open_corpus(Data(**reviews(tmp_path, train=rows)))
    assert corpus.classes == ["-1", "2", "2.5", "10", "a", "b"]
    targets = corpus.targets(corpus.classes)[corpus.rows["train"]]
    assert targets.tolist() == [3, 1, 0, 5, 4, 2]


def test_unlabelled_texts(tmp_path):
    data = {**reviews(tmp_path), "label": "nothing"}
    with pytest.raises(BadInput, match="nothing"):
        open_corpus(Data(**data))
    corpus = open_corpus(Data(**data), labels=False)
    assert len(corpus.encoded) == 24
    assert corpus.encoded.label(0) is None
    recipe = tiny(reviews(tmp_path))
    model = new_model(recipe, open_corpus(recipe.data))
    with pytest.raises(BadInput, match=r"test\.csv.*: no label; expected one of bad, good"):
        evaluate(model, corpus, "test")


def test_batches_have_the_words_of_the_vocabulary(tmp_path):
    recipe = tiny(reviews(tmp_path, dev=[("good unseen . bad", "bad")]))
    corpus = open_corpus(recipe.data)
    model = new_model(recipe, corpus)
    collate = Batches(corpus, model.vocabulary, model.labels, DocumentClassifier.batch)
    [row] = corpus.rows["dev"].tolist()
    tensors = collate([row])
    words = [[model.vocabulary.words[i] for i in ids] for chunk in tensors.sentences.words for ids in chunk.tolist()]
    assert words == [["good", "<unk>", "."], ["bad"]]
    assert tensors.sentences.labels.tolist() == [0]


def rows(loader, epoch):
    loader.batch_sampler.set_epoch(epoch)
    return [batch.sentences.rows.tolist() for batch in loader]


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
        self.epochs.setdefault(trainer.current_epoch, []).append(batch.sentences.rows.tolist())


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


def test_little_is_padded():
    """Under a tenth of the positions that are computed, at both levels, on lengths like those of reviews."""
    random = np.random.default_rng(0)
    counts = random.poisson(8.9, 256).clip(1)
    documents = []
    for n in counts.tolist():
        lengths = random.gamma(3, 17 / 3, n).round().astype(int).clip(1)
        documents.append((np.ones(lengths.sum(), int), lengths))
    sizes = [int(lengths.sum()) for _, lengths in documents]
    for chosen in LengthBatches(counts, sizes, 32):
        tensors = DocumentClassifier.batch(batch([documents[i] for i in chosen], [0] * len(chosen), chosen))
        words = sum(chunk.numel() for chunk in tensors.sentences.words)
        sentences = sum(group.numel() for group in tensors.groups)
        assert 1 - sum(sizes[i] for i in chosen) / words < 0.1
        assert 1 - counts[chosen].sum() / sentences < 0.1
