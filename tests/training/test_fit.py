"""Whole trainings: what comes out, and that it comes out again."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.small import child, reviews, tiny, weights, write_table
from treetext.data import BadInput, open_corpus
from treetext.evaluation import evaluate, predictions
from treetext.models import StructuredDocuments, StructuredPairs, load_model
from treetext.training import load_recipe, train


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
    assert about["scores"] == {split: evaluate(trained, corpus, split).accuracy for split in ("dev", "test")}
    assert about["scores"]["dev"] == pytest.approx(max(curve), abs=1e-7)
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
    with pytest.raises(BadInput, match="the training data have 1 class; expected two or more"):
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
    assert "1 of train without words (predicted: the prior), 3 of dev" in lines[-2]
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


def test_the_recipe_of_a_model_is_about_its_own_corpus(directory, trained):
    """No block of settings for other formats, in none of the files."""
    kept = json.loads((directory / "training" / "recipe.json").read_text())
    for recipe in (
        trained.about["recipe"],
        kept,
        json.loads((directory / "config.json").read_text())["about"]["recipe"],
    ):
        assert set(recipe) == {"name", "about", "seed", "auto", "data", "model", "training", "search"}
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


@pytest.mark.slow
def test_two_devices_with_fixed_word_vectors_and_one_batch_of_dev_texts(tmp_path, small):
    process = child(small(training__vectors_rate=0, training__batch_size=64), tmp_path / "model", devices=2)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    model = load_model(tmp_path / "model")
    assert model.about["scores"]["dev"] == pytest.approx(max(e["dev_accuracy"] for e in model.about["curve"]), abs=1e-6)


def test_more_devices_than_dev_texts_are_refused(tmp_path):
    recipe = tiny(reviews(tmp_path, dev=[("a good film", "good")]))
    with pytest.raises(BadInput, match="devices 2: expected at most 1, the number of dev texts with words"):
        train(recipe, tmp_path / "model", devices=2)
