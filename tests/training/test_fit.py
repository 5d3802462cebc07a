"""Whole trainings: what comes out, that it comes out again, and that a pause makes no difference."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.small import Tripwire, reviews, tiny, weights, write_table
from treetext.data import BadInput, open_corpus
from treetext.evaluation import evaluate, predictions
from treetext.models import StructuredDocuments, StructuredPairs, load_model
from treetext.training import Interrupted, load_recipe, new_model, train
from treetext.trees import NonFiniteScores

DIVERGED = r"epoch \d: loss is NaN or infinite; lower training\.learning_rate or set training\.clip"
CHILD = """
import json, sys
from treetext.training import load_recipe, train
try:
    train(load_recipe(sys.argv[1]), sys.argv[2], devices=int(sys.argv[3]))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def child(recipe, out, devices=1, before=""):
    """A training in a process of its own, which may run something else first."""
    path = out.with_name(f"{out.name}.json")
    path.write_text(recipe.model_dump_json())
    script = out.with_name("child.py")
    script.write_text(
        "if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in (before + CHILD).splitlines())
    )
    arguments = [sys.executable, str(script), str(path), str(out), str(devices)]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def directory(tmp_path_factory, cache_path, small):
    """A finished training."""
    out = tmp_path_factory.mktemp("trained") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(cache_path))
        train(small(), out)
    return out


@pytest.fixture
def trained(directory):
    return load_model(directory)


def test_leaves_a_model_logs_and_no_checkpoints(directory):
    names = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    assert {"config.json", "model.safetensors", "vocabulary.txt", "README.md", "training/recipe.json"} <= names
    assert "training/log-1/metrics.csv" in names
    assert any(name.startswith("training/log-1/events.out.tfevents") for name in names)
    assert not any(name.endswith((".ckpt", ".pt", ".pkl")) for name in names)


def test_says_where_the_model_comes_from(trained, small):
    about, recipe = trained.about, small()
    assert (recipe.data.text, recipe.data.label) == (None, None)
    recipe = load_recipe(recipe, {"data.text": "text", "data.label": "label"})
    assert about["recipe"] == recipe.model_dump(mode="json")
    assert load_recipe(about["recipe"]) == recipe
    assert isinstance(trained, StructuredDocuments)
    assert about["seed"] == 1
    assert about["documents"] == {"train": 60, "dev": 30, "test": 20}
    assert [epoch["epoch"] for epoch in about["curve"]] == [1, 2, 3, 4]
    assert all(np.isfinite(epoch["loss"]) for epoch in about["curve"])
    assert about["fingerprint"] == open_corpus(recipe.data).fingerprint
    assert about["machine"]["threads"] == torch.get_num_threads()
    assert "command" not in about, "which was none"


def test_the_best_epoch_is_kept(trained, small):
    about, corpus = trained.about, open_corpus(small().data)
    curve = [epoch["dev_accuracy"] for epoch in about["curve"]]
    assert about["epoch"] == 1 + int(np.argmax(curve))
    assert about["scores"]["dev"] == max(curve) == pytest.approx(evaluate(trained, corpus, "dev").accuracy, abs=1e-7)
    assert about["scores"]["test"] == evaluate(trained, corpus, "test").accuracy
    assert max(curve) > min(curve), "all epochs were equally good: a test that cannot fail"


def test_what_is_returned_is_what_is_saved(tmp_path, small):
    returned = train(small(training__epochs=1), tmp_path / "model", say=lambda _: None)
    assert weights(returned) == weights(load_model(tmp_path / "model"))
    assert not returned.training, "no dropout from now on"


def test_training_learns(tmp_path):
    usual = [("a good film . really good .", "good"), ("a bad film . so bad .", "bad")]
    data = reviews(tmp_path, train=usual * 4, dev=usual, test=usual)
    model = train(tiny(data, training__epochs=12, model__dropout=0.0), tmp_path / "model")
    assert model.about["scores"] == {"dev": 1.0, "test": 1.0}
    assert [found.label for found in model.predict([text for text, _ in usual])] == [label for _, label in usual]


def test_the_same_seed_gives_the_same_model_in_another_process(directory, tmp_path, small):
    process = child(small(), tmp_path / "again")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (directory / "model.safetensors").read_bytes()


def test_another_seed_gives_another_model(tmp_path, small):
    other = train(small(seed=2, training__epochs=1), tmp_path / "model")
    one = train(small(training__epochs=1), tmp_path / "one")
    assert weights(other) != weights(one)


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
    assert sys.stderr.lines.startswith("60 train, 30 dev, 20 test texts; 2 classes")
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


def wild(small, attention, **more):
    """A recipe whose steps are far too large."""
    kinds = {"model__words__attention": attention, "model__sentences__attention": attention}
    return small(training__optimizer="sgd", training__learning_rate=1e30, training__epochs=2, **kinds, **more)


def refused(recipe, out):
    """The only line that a training is refused with."""
    with pytest.raises(BadInput) as caught:
        train(recipe, out)
    assert not (out / "config.json").exists()
    return str(caught.value)


@pytest.mark.parametrize("attention", ["none", "nonprojective", "projective"])
def test_a_loss_that_is_no_number_is_an_error(tmp_path, attention, small):
    assert re.fullmatch(DIVERGED, refused(wild(small, attention), tmp_path / "model"))


@pytest.mark.parametrize("attention", ["none", "nonprojective"])
def test_a_last_step_that_is_too_large_is_an_error(tmp_path, attention, small):
    """The loss of the only batch is still a number; the scores of the dev texts after it are not."""
    one = {"training.epochs": 1, "training.batch_size": 60, "model.layers": 2}
    assert refused(load_recipe(wild(small, attention), one), tmp_path / "model") == (
        "epoch 1: loss is NaN or infinite; lower training.learning_rate or set training.clip"
    )


@pytest.mark.parametrize("steps", [0, 3, 8])
def test_an_error_of_the_model_is_no_loss(tmp_path, monkeypatch, small, steps):
    """Only scores that are no numbers mean a loss that is none: in any step, also in those on dev."""
    forward, calls = StructuredDocuments.forward, []

    def broken(self, *args, **options):
        calls.append(self)
        if len(calls) > steps:
            raise ValueError("a mistake of ours")
        return forward(self, *args, **options)

    monkeypatch.setattr(StructuredDocuments, "forward", broken)
    with pytest.raises(ValueError, match=r"^a mistake of ours$") as caught:
        train(small(), tmp_path / "model")
    assert not isinstance(caught.value, BadInput)
    assert len(calls) == steps + 1


@pytest.mark.parametrize("steps", [0, 8])
def test_scores_that_are_no_numbers_are_a_loss_that_is_none(tmp_path, monkeypatch, small, steps):
    forward, calls = StructuredDocuments.forward, []

    def broken(self, *args, **options):
        calls.append(self)
        if len(calls) > steps:
            raise NonFiniteScores("arcs: batch element (0,) is nan at (0, 1)")
        return forward(self, *args, **options)

    monkeypatch.setattr(StructuredDocuments, "forward", broken)
    assert re.fullmatch(DIVERGED, refused(small(), tmp_path / "model"))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_labels_never_seen_in_training(tmp_path, split):
    data = reviews(tmp_path, **{split: [("good .", "good"), ("hm .", "mixed")]})
    with pytest.raises(BadInput) as caught:
        train(tiny(data), tmp_path / "model")
    message = str(caught.value)
    assert f"{split}.csv, row 2" in message or f"{split}.csv, line 3" in message or f"{split}.csv, row 3" in message
    assert "label 'mixed' is not among those of the training data; expected one of bad, good" in message
    assert not (tmp_path / "model").exists()


def test_one_class_or_no_words(tmp_path):
    with pytest.raises(BadInput, match="the training data have 1 classes; expected two or more"):
        train(tiny(reviews(tmp_path / "a", train=[("good .", "good")] * 3)), tmp_path / "model")
    with pytest.raises(BadInput, match="no text with words in train"):
        train(tiny(reviews(tmp_path / "b", train=[(" ", "good"), (" ", "bad")])), tmp_path / "model")


def test_texts_without_words_count(tmp_path):
    usual = [("a good film .", "good"), ("a bad film .", "bad")] * 3
    empty = [("", "good"), ("  ", "bad"), ("", "good")]
    lines = []
    data = reviews(tmp_path, train=[*usual, ("", "good")], dev=usual + empty, test=usual + empty)
    recipe = tiny(data, training__epochs=1)
    model = train(recipe, tmp_path / "model", say=lines.append)
    assert "1 of train without words (predicted: the prior), 3 of dev" in lines[-1]
    assert model.prior == pytest.approx([3 / 7, 4 / 7])
    corpus = open_corpus(recipe.data)
    found = evaluate(model, corpus)
    assert (found.documents, found.empty) == (9, 3)
    assert predictions(model, corpus, "test")[-3:].tolist() == [1, 1, 1], "good, which was most frequent"
    assert found.accuracy == model.about["scores"]["test"]
    assert model.about["scores"]["dev"] == pytest.approx(evaluate(model, corpus, "dev").accuracy, abs=1e-7)
    assert [p.label for p in model.predict(["", " "])] == ["good", "good"]


def test_test_data_are_scored_once_at_the_end(tmp_path):
    """Nothing of the training depends on the test data: other ones, and the very same weights come out."""
    one, other = (tiny(reviews(tmp_path / name, test=[(word, "good")])) for name, word in (("a", "film"), ("b", "xyz")))
    first, second = train(one, tmp_path / "one"), train(other, tmp_path / "two")
    assert weights(first) == weights(second)
    assert first.vocabulary.words == second.vocabulary.words


def test_without_test_data(tmp_path):
    data = reviews(tmp_path)
    del data["test"]
    assert set(train(tiny(data), tmp_path / "model").about["scores"]) == {"dev"}


def test_pairs(tmp_path):
    rows = [
        row
        for name in "abcd"
        for row in [("a man sleeps", f"{name} rests", "yes"), ("a man sleeps", f"{name} runs", "no"), ("", name, "no")]
    ]
    path = write_table(tmp_path / "pairs.csv", rows, ("premise", "hypothesis", "label"))
    data = {"format": "csv", "path": path, "text": "premise", "second": "hypothesis", "split": (0.5, 0.25, 0.25)}
    recipe = tiny(data, "pairs", training__epochs=1)
    model = train(recipe, tmp_path / "model")
    assert isinstance(model, StructuredPairs)
    corpus = open_corpus(recipe.data)
    for split in ("dev", "test"):
        texts = [corpus.encoded.document(row) for row in corpus.rows[split].tolist()]
        whole = [i for i, text in enumerate(texts) if len(text) == 2]
        said = [model.labels.index(p.label) for p in model.predict([texts[i] for i in whole])]
        assert predictions(model, corpus, split)[whole].tolist() == said
        assert evaluate(model, corpus, split).empty == len(texts) - len(whole)


def test_vectors_from_a_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("good 1 2 3 4 5 6 7 8\nelsewhere 1 1 1 1 1 1 1 1\nbad -1 -2 -3 -4 -5 -6 -7 -8\n")
    recipe, lines = tiny(reviews(tmp_path), model__vocabulary__vectors=str(path)), []
    corpus = open_corpus(recipe.data)
    model = new_model(recipe, corpus, say=lines.append)
    table, index = model.embedding.weight.detach(), model.vocabulary.index
    assert table[index["good"]].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert table[index["bad"]].tolist() == [-1, -2, -3, -4, -5, -6, -7, -8]
    assert table[0].tolist() == [0] * 8
    others = table[[index["film"], index["so"]]]
    assert not torch.equal(others[0], others[1])
    assert 0 < others.abs().max() < 1
    scaled = new_model(
        load_recipe(recipe, {"model.vocabulary.deviation": 0.5}), open_corpus(recipe.data)
    ).embedding.weight
    known = scaled.detach()[[index["good"], index["bad"]]]
    assert float(known.std(correction=0)) == pytest.approx(0.5)
    assert torch.allclose(known / known[0, 0], table[[index["good"], index["bad"]]]), "all by the same factor"
    assert lines[:-1] == [*corpus.remarks, f"{path} has vectors for 2 of {len(model.vocabulary)} words"]
    with pytest.raises(BadInput, match="vectors of 8 numbers; expected 9"):
        train(load_recipe(recipe, {"model.embedding": 9}), tmp_path / "model")
    with pytest.raises(BadInput, match=r"nowhere\.txt"):
        train(load_recipe(recipe, {"model.vocabulary.vectors": "nowhere.txt"}), tmp_path / "model")


@pytest.mark.parametrize("word", ["good", "elsewhere"])
def test_vectors_without_a_deviation_stay_as_they_are(tmp_path, word):
    """If all are alike, or none belongs to a word of the data."""
    path = tmp_path / "vectors.txt"
    path.write_text(f"{word} 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1\n")
    recipe = tiny(reviews(tmp_path), model__vocabulary__vectors=str(path))
    plain, scaled = (
        new_model(each, open_corpus(each.data)).embedding.weight.detach()
        for each in (recipe, load_recipe(recipe, {"model.vocabulary.deviation": 0.5}))
    )
    assert torch.equal(plain, scaled)


@pytest.mark.parametrize("vectors", ["random", "word2vec"])
def test_vectors_of_a_deviation(tmp_path, vectors):
    recipe = tiny(
        reviews(tmp_path), model__vocabulary__vectors=vectors, model__vocabulary__deviation=2.0, model__embedding=100
    )
    table = new_model(recipe, open_corpus(recipe.data)).embedding.weight.detach()
    assert float(table[1:].std(correction=0)) == pytest.approx(2, rel=0.1 if vectors == "random" else 1e-5)
    assert table[0].tolist() == [0] * 100


def test_vectors_by_word2vec(tmp_path):
    recipe = tiny(reviews(tmp_path, dev=[("good unseen", "good")]), model__vocabulary__vectors="word2vec")
    corpus = open_corpus(recipe.data)
    one, two = (new_model(recipe, corpus).embedding.weight.detach() for _ in range(2))
    assert torch.equal(one, two)
    other = new_model(load_recipe(recipe, {"model.vocabulary.skip_gram": True}), corpus).embedding.weight.detach()
    assert not torch.equal(one, other)
    assert "unseen" not in new_model(recipe, corpus).vocabulary.index, "the words are those of train alone"


def test_min_count(tmp_path):
    data = reviews(tmp_path, train=[("often often rare", "good"), ("often", "bad")])
    words = {n: new_model(recipe, open_corpus(recipe.data)).vocabulary.words[2:]
             for n in (1, 2, 4) for recipe in [tiny(data, model__vocabulary__min_count=n)]}  # fmt: skip
    assert words == {1: ["often", "rare"], 2: ["often"], 4: []}


def test_folds(tmp_path):
    rows = [(f"word{i} good" if i % 2 else f"word{i} bad", "good" if i % 2 else "bad") for i in range(12)]
    data = {"format": "csv", "path": write_table(tmp_path / "all.csv", rows), "folds": 3}
    tested = []
    for fold in range(3):
        recipe = tiny(data, data__fold=fold, data__dev_share=0.25, training__epochs=1)
        corpus = open_corpus(recipe.data)
        tested += corpus.rows["test"].tolist()
        assert train(recipe, tmp_path / str(fold)).about["documents"] == {"train": 6, "dev": 2, "test": 4}
    assert sorted(tested) == list(range(12))


WITHOUT_TENSORBOARD = """
import sys
from importlib.machinery import PathFinder


class Without(PathFinder):
    \"\"\"The usual search for modules, but for TensorBoard.\"\"\"

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        missing = name.partition(".")[0] in ("tensorboard", "tensorboardX")
        return None if missing else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""


def test_without_tensorboard(directory, tmp_path, small):
    process = child(small(), tmp_path / "model", before=WITHOUT_TENSORBOARD)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "tensorboard" not in errors.lower()
    logs = {path.name for path in (tmp_path / "model" / "training" / "log-1").iterdir()}
    assert logs == {"metrics.csv"}
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (directory / "model.safetensors").read_bytes()


def counted(data, kind, **more):
    """A recipe of a model that is not trained by gradients."""
    return load_recipe({"name": kind, "data": data, "model": {"kind": kind}}, more)


FEW = {
    "train": [("a good film", "good"), ("bad", "bad"), ("so good", "good")],
    "dev": [("good", "good"), ("bad", "bad")],
    "test": [("bad bad", "bad"), ("good", "good"), ("", "bad"), ("film", "good")],
}


@pytest.mark.parametrize(("kind", "dev", "test"), [("majority", 0.5, 0.5), ("bag-of-words", 1.0, 0.75)])
def test_models_that_are_not_trained_by_gradients(tmp_path, kind, dev, test):
    recipe, lines = counted(reviews(tmp_path, **FEW), kind), []
    model = train(recipe, tmp_path / "model", say=lines.append)
    assert model.about["scores"] == {"dev": dev, "test": test}
    assert (model.about["epoch"], model.about["curve"]) == (0, [])
    assert model.about["seconds"] >= 0
    assert model.about["documents"] == {"train": 3, "dev": 2, "test": 4}
    name = recipe.data.train
    assert lines[:2] == [
        f"{name}: 1 of 4 test texts are also in train or dev",
        f"{name}: 1 of 2 dev texts are also in train",
    ]
    assert lines[2].startswith("3 train, 2 dev, 4 test texts, 1 of test without words")
    assert [line for line in lines if line.startswith("never predicted on dev: bad; ")] == lines[3:]
    assert len(lines) == (4 if kind == "majority" else 3)
    for split in ("dev", "test"):
        assert model.about["measures"][split] == evaluate(model, recipe.data, split).summary()
    again = load_model(tmp_path / "model")
    assert again.about == model.about
    assert load_recipe(again.about["recipe"]) == load_recipe(recipe, {"data.text": "text", "data.label": "label"})
    assert type(again) is type(model)
    assert weights(again) == weights(model)
    for split, score in model.about["scores"].items():
        assert evaluate(again, recipe.data, split).accuracy == score
    texts = [text for text, _ in FEW["test"]]
    assert again.predict(texts) == model.predict(texts)
    assert [p.label for p in again.predict(texts)] == (
        ["good"] * 4 if kind == "majority" else ["bad", "good", "good", "good"]
    )


@pytest.mark.parametrize("kind", ["majority-pairs", "bag-of-words-pairs"])
def test_pairs_without_gradients(tmp_path, kind):
    rows = [
        row
        for name in "abcd"
        for row in [("a man sleeps", f"{name} rests", "yes"), ("a man sleeps", f"{name} runs", "no"), ("", name, "no")]
    ]
    path = write_table(tmp_path / "pairs.csv", rows, ("premise", "hypothesis", "label"))
    data = {"format": "csv", "path": path, "text": "premise", "second": "hypothesis", "split": (0.5, 0.25, 0.25)}
    recipe = counted(data, kind)
    model = train(recipe, tmp_path / "model")
    for split in ("dev", "test"):
        assert evaluate(load_model(tmp_path / "model"), recipe.data, split).accuracy == model.about["scores"][split]


@pytest.mark.parametrize("kind", ["majority", "bag-of-words"])
def test_without_gradients_there_is_nothing_to_resume(tmp_path, kind):
    recipe, out = counted(reviews(tmp_path, **FEW), kind), tmp_path / "model"
    for _ in range(2):  # before and after the training
        with pytest.raises(BadInput) as caught:
            train(recipe, out, resume=True)
        problem = "no checkpoint to resume from; expected a training that was interrupted"
        assert str(caught.value) == f"{out / 'training'}: {problem}"
        train(recipe, out, replace=True)
    with pytest.raises(BadInput, match="already holds a model"):
        train(recipe, out)


def test_progress_without_gradients(tmp_path):
    done = []
    train(
        counted(reviews(tmp_path, **FEW), "bag-of-words"), tmp_path / "model", progress=lambda *each: done.append(each)
    )
    assert {"counting words: texts", "scoring texts"} <= {what for what, _ in done}


def test_the_recipe_of_a_model_is_about_its_own_corpus(directory, trained):
    """No block of settings for other formats, in none of the files."""
    kept = json.loads((directory / "training" / "recipe.json").read_text())
    for recipe in (
        trained.about["recipe"],
        kept,
        json.loads((directory / "config.json").read_text())["about"]["recipe"],
    ):
        assert set(recipe) == {"name", "about", "seed", "data", "model", "training"}
        assert recipe["data"]["format"] == "csv"
        assert not {"hidden_trees", "subset"} & set(recipe["data"])
        assert {"text", "label"} <= set(recipe["data"])
        assert recipe["model"]["kind"] == "structured-documents"
    assert "hidden_trees" not in (directory / "README.md").read_text()
    generated = load_recipe("hidden-trees/both").model_dump(mode="json")["data"]
    assert "hidden_trees" in generated
    assert not {"text", "second", "label", "delimiter", "quoting", "subset"} & set(generated)


@pytest.mark.slow
def test_two_devices(tmp_path, small):
    recipe = small(training__epochs=3)
    process = child(recipe, tmp_path / "model", devices=2)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    model = load_model(tmp_path / "model")
    curve = model.about["curve"]
    assert [epoch["epoch"] for epoch in curve] == [1, 2, 3]
    assert errors.count("epoch   1:") == 1, "one process reports"
    dev = evaluate(model, recipe.data, "dev").accuracy
    assert model.about["scores"]["dev"] == pytest.approx(dev, abs=1e-6) == max(e["dev_accuracy"] for e in curve)
    assert not list((tmp_path / "model" / "training").glob("*.ckpt"))
    json.loads(Path(tmp_path / "model" / "config.json").read_text())
