"""A pause makes no difference, and what is there is not lost."""

import signal
import sys
from pathlib import Path

import pytest
import torch

from tests.training.small import Tripwire, child, reviews, tiny, weights
from treetext.data import BadInput
from treetext.models import load_model
from treetext.training import Interrupted, train


def test_interrupted_and_resumed_gives_the_same_model(directory, tmp_path, monkeypatch, small):
    out, handler = tmp_path / "model", signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   3:"))
    with pytest.raises(Interrupted, match="with --resume continues"):
        train(small(), out)
    assert signal.getsignal(signal.SIGINT) is handler, "Ctrl-C must go on to work"
    assert not (out / "config.json").exists()
    with pytest.raises(BadInput, match="holds an unfinished training; expected --resume"):
        train(small(), out)
    for change, said in (
        ({"training__epochs": 9, "training__patience": 1}, "training.epochs = 4, got 9"),
        ({"training__objectives__entropy": 0.5}, "training.objectives.entropy = unset, got 0.5"),
        ({"training__clip": None}, "training.clip = 5.0, got unset"),
        ({"model__words__attention": "none"}, 'model.words.attention = "nonprojective", got "none"'),
        ({"seed": 2, "training__epochs": 9}, "seed = 1, got 2"),
        ({"data__lowercase": False}, "data.lowercase = true, got false"),
    ):
        with pytest.raises(BadInput) as caught:
            train(small(**change), out, resume=True)
        expected = f"{out / 'training'}: was started with {said}; expected the same values to resume, or --replace"
        assert str(caught.value) == expected
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    checkpoint = torch.load(out / "training" / "last.ckpt", weights_only=True)
    checkpoint["callbacks"]["Curve"]["epochs"][0]["seconds"] = 5000.0
    torch.save(checkpoint, out / "training" / "last.ckpt")
    model = train(small(), out, resume=True)
    assert 5000 < model.about["seconds"] < 5060, "the time before the pause counts too, the pause does not"
    assert "\n60 train, 30 dev, 20 test texts; 2 classes" in sys.stderr.lines
    assert "epoch   3:" in sys.stderr.lines, "the epoch that was not finished is done again"
    assert "epoch   2:" not in sys.stderr.lines, "what was done is not done again"
    whole = load_model(directory)
    assert weights(model) == weights(whole)
    timeless = [
        [{**epoch, "seconds": None} for epoch in found.about["curve"]] for found in (model, whole)
    ]  # fmt: skip
    assert timeless[0] == timeless[1]
    assert model.about["scores"] == whole.about["scores"]
    assert not list((out / "training").glob("*.ckpt"))
    assert (out / "training" / "log-2" / "metrics.csv").exists()


def test_data_that_changed_since(tmp_path, monkeypatch):
    data, out = reviews(tmp_path), tmp_path / "model"
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   2:"))
    with pytest.raises(Interrupted):
        train(tiny(data), out)
    table = Path(data["train"])
    before = table.read_bytes()
    table.write_bytes(before + b"a new film .,good\r\n")
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    with pytest.raises(BadInput) as caught:
        train(tiny(data), out, resume=True)
    changed = f"{table} has changed since the training was started"
    assert str(caught.value) == f"{out / 'training'}: {changed}; expected the same data to resume, or --replace"
    table.write_bytes(before)
    assert train(tiny(data), out, resume=True).about["curve"][-1]["epoch"] == 4


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_an_epoch(directory, tmp_path, small):
    process = child(small(), tmp_path / "model")
    for line in process.stderr:
        if line.startswith("epoch   2:"):
            process.send_signal(signal.SIGINT)
            break
    _, errors = process.communicate(timeout=120)
    if process.returncode == 0:
        pytest.skip("the training was over before it could be interrupted")
    assert errors.splitlines()[-1].startswith("Interrupted: stopped")
    assert weights(train(small(), tmp_path / "model", resume=True)) == weights(load_model(directory))


def test_interrupted_in_the_first_epoch(tmp_path, monkeypatch, small):
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   1:"))
    with pytest.raises(Interrupted, match="stopped in the first epoch: nothing to resume from"):
        train(small(), tmp_path / "model")
    with pytest.raises(BadInput, match="no checkpoint to resume from"):
        train(small(), tmp_path / "model", resume=True)


class Payload:
    """Would write a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_damaged_checkpoints_are_refused_and_never_run(tmp_path, monkeypatch, small):
    out = tmp_path / "model"
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   2:"))
    with pytest.raises(Interrupted):
        train(small(), out)
    checkpoint = out / "training" / "last.ckpt"
    content = checkpoint.read_bytes()
    torch.save({"state_dict": Payload(tmp_path / "run")}, tmp_path / "bad.ckpt")
    for damaged in (content[:-1000], b"", b"x" * 50, (tmp_path / "bad.ckpt").read_bytes()):
        checkpoint.write_bytes(damaged)
        with pytest.raises(BadInput, match=r"last\.ckpt: damaged; expected a whole checkpoint, or --replace"):
            train(small(), out, resume=True)
    assert not (tmp_path / "run").exists()
    assert train(small(training__epochs=1), out, replace=True).about["epoch"] == 1


def test_a_training_that_could_not_be_saved_is_not_lost(directory, tmp_path, monkeypatch, small):
    out = tmp_path / "model"
    (out / "README.md").mkdir(parents=True)  # in the way of the model card
    with pytest.raises(OSError, match="not saved"):
        train(small(), out)
    (out / "README.md").rmdir()
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    assert weights(train(small(), out, resume=True)) == weights(load_model(directory))
    assert "epoch" not in sys.stderr.lines, "nothing is left to train"


def test_early_stopping(tmp_path, monkeypatch, small):
    still = small(training__optimizer="sgd", training__learning_rate=1e-12, training__epochs=9, training__patience=2)
    out = tmp_path / "model"
    (out / "README.md").mkdir(parents=True)
    with pytest.raises(OSError, match="not saved"):
        train(still, out)
    (out / "README.md").rmdir()
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    model = train(still, out, resume=True)
    assert "epoch" not in sys.stderr.lines, "what has stopped early has also stopped when it is resumed"
    assert [epoch["epoch"] for epoch in model.about["curve"]] == [1, 2, 3]
    assert model.about["epoch"] == 1, "of equally good epochs, the first"


def test_refuses_a_directory_with_a_model(directory, tmp_path, small):
    before = (directory / "model.safetensors").read_bytes()
    with pytest.raises(BadInput, match="already holds a model"):
        train(small(), directory)
    assert (directory / "model.safetensors").read_bytes() == before
    out = tmp_path / "model"
    train(small(training__epochs=1), out)
    model = train(small(training__epochs=1, seed=5), out, replace=True)
    assert load_model(out).about["seed"] == model.about["seed"] == 5
