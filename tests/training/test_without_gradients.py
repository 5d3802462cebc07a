"""Models that are not trained by gradients."""

import pytest

from tests.training.small import reviews, weights, write_table
from treetext.data import BadInput
from treetext.evaluation import evaluate
from treetext.models import load_model
from treetext.training import load_recipe, train


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
    least = {} if kind == "majority" else {"model.min_count": 1}
    recipe, lines = counted(reviews(tmp_path, **FEW), kind, **least), []
    model = train(recipe, tmp_path / "model", say=lines.append)
    assert model.about["scores"] == {"dev": dev, "test": test}
    assert (model.about["epoch"], model.about["curve"]) == (0, [])
    assert model.about["seconds"] >= 0
    assert model.about["documents"] == {"train": 3, "dev": 2, "test": 4}
    name = recipe.data.train
    assert lines.pop(0) == f"{name}: text in column 'text', label in column 'label'"
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
    assert {"n-grams: texts", "scoring texts"} <= {what for what, _ in done}
