"""The baselines that training measures on the same texts."""

import pytest

from tests.training.small import noisy, reviews, tiny, weights, write_table
from treetext.data import open_corpus
from treetext.evaluation import baseline, evaluate
from treetext.models import load_model
from treetext.training import load_recipe, train


def trained_alone(kind, data, out):
    """The scores of the same baseline, trained as a model."""
    return train(load_recipe({"name": kind, "data": data, "model": {"kind": kind}}), out, say=[].append).about["scores"]


def test_those_of_the_models_alone(tmp_path):
    recipe, said, done = tiny(noisy(tmp_path / "data"), training__epochs=1), [], []
    model = train(recipe, tmp_path / "model", say=said.append, progress=lambda *each: done.append(each))
    data = model.about["recipe"]["data"]
    found = model.about["baselines"]
    assert found == {
        "majority": trained_alone("majority", data, tmp_path / "majority"),
        "bag of words": trained_alone("bag-of-words", data, tmp_path / "words"),
    }
    assert found["bag of words"]["dev"] > found["majority"]["dev"]
    assert f"bag of words: dev accuracy {100 * found['bag of words']['dev']:.1f}" in said
    assert ("n-grams: texts", 60) in done
    again = load_model(tmp_path / "model")
    assert again.about["baselines"] == found
    for split in ("dev", "test"):
        assert baseline("bag of words", again.about, open_corpus(recipe.data), split).accuracy is not None
    assert evaluate(again, recipe.data).accuracy == again.about["scores"]["test"]


def test_they_change_nothing_else(tmp_path):
    """The same weights without them."""
    data, models = noisy(tmp_path / "data"), []
    for on in (True, False):
        said = []
        recipe = tiny(data, training__epochs=2, training__baselines=on)
        models.append(train(recipe, tmp_path / str(on), say=said.append))
        assert bool(models[-1].about["baselines"]) == on == any(line.startswith("bag of words: ") for line in said)
    assert weights(models[0]) == weights(models[1])


def test_pairs(tmp_path):
    rows = [
        ("a man sleeps", f"{who} {does}", label)
        for who in "abcdef"
        for does, label in (("runs", "no"), ("naps", "yes"))
    ]
    path = write_table(tmp_path / "pairs.csv", rows * 4, ("premise", "hypothesis", "label"))
    data = {"format": "csv", "path": path, "text": "premise", "second": "hypothesis", "split": (0.5, 0.25, 0.25)}
    model = train(tiny(data, "pairs", training__epochs=1), tmp_path / "model", say=[].append)
    assert model.about["baselines"]["bag of words"] == {"dev": 1.0, "test": 1.0}
    assert set(model.about["baselines"]["majority"]) == {"dev", "test"}


@pytest.mark.parametrize("kind", ["majority", "bag-of-words"])
def test_baselines_have_none_themselves(tmp_path, kind):
    recipe = load_recipe({"name": kind, "data": reviews(tmp_path), "model": {"kind": kind}})
    assert train(recipe, tmp_path / "model", say=[].append).about["baselines"] == {}
