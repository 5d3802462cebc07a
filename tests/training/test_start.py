"""Training that starts with the weights of another model."""

import json
import shutil
import sys

import pytest
import torch

from tests.cli.running import invoke, options, refusal
from tests.training.small import Tripwire, reviews, tiny, weights, write_table
from treetext.data import BadInput, open_corpus
from treetext.models import load_model, save_model
from treetext.models.transfer import take_over
from treetext.training import Interrupted, new_model, search, train

OTHERS = [("a good day . so good .", "happy"), ("a bad day . so bad .", "sad"), ("a day .", "neither")] * 4


@pytest.fixture(scope="module")
def source(tmp_path_factory, cache_path):
    """A trained model of good and bad reviews."""
    place = tmp_path_factory.mktemp("source")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(cache_path))
        train(tiny(reviews(place / "data"), model__layers=1), place / "model")
    return place / "model"


@pytest.fixture
def moods(tmp_path):
    """Data with other labels, and with words of which the source knows some."""
    return reviews(tmp_path / "moods", train=OTHERS, dev=OTHERS, test=OTHERS)


def untrained(data, source, **more):
    """A new model for data, with the weights of the source; what was taken; and the same model without them."""
    recipe = tiny(data, model__layers=1, **more)
    model = new_model(recipe, open_corpus(recipe.data))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    return model, take_over(model, load_model(source)), before


def test_all_weights_but_the_last_layer_are_copied(source, moods):
    model, taken, before = untrained(moods, source)
    theirs, mine = load_model(source).state_dict(), model.state_dict()
    last = [name for name in mine if name.startswith("classifier.4.")]
    assert len(last) == 2
    for name in set(mine) - {"embedding.weight"}:
        assert torch.equal(mine[name], before[name] if name in last else theirs[name]), name
    assert taken[:2] == (len(mine) - 3, len(mine) - 1)


def test_word_vectors_are_copied_for_the_words_of_both(source, moods):
    model, taken, before = untrained(moods, source)
    old = load_model(source)
    both = set(model.vocabulary.words) & set(old.vocabulary.words)
    assert both == {"<pad>", "<unk>", "a", "good", "bad", "so", "."}
    for i, word in enumerate(model.vocabulary.words):
        expected = (
            old.embedding.weight[old.vocabulary.words.index(word)] if word in both else before["embedding.weight"][i]
        )
        assert torch.equal(model.embedding.weight[i], expected), word
    assert taken[2:] == (5, 6)
    assert str(taken).endswith("tensors, the vectors of 5 of 6 words")


def test_the_last_layer_is_copied_for_the_same_labels_only(source, tmp_path):
    def last(data):
        model, _, before = untrained(data, source)
        return torch.equal(model.state_dict()["classifier.4.weight"], before["classifier.4.weight"])

    two = [("a good day .", "happy"), ("a bad day .", "sad")] * 4
    assert not last(reviews(tmp_path / "same"))
    assert last(reviews(tmp_path / "other", train=two, dev=two, test=two))


def test_a_wide_part_is_fitted_anew(tmp_path):
    data = reviews(tmp_path / "data", train=[(f"{text} {i}", label) for i, (text, label) in enumerate(OTHERS)],
                   dev=OTHERS, test=OTHERS)  # fmt: skip
    recipe = tiny(data, model__wide={}, training__epochs=1)
    first = train(recipe, tmp_path / "first")
    fitted = weights(first.wide)
    first.wide.weight.fill_(7.0)
    save_model(first, tmp_path / "first", replace=True)
    model = train(recipe, tmp_path / "model", start_from=tmp_path / "first")
    assert weights(model.wide).keys() == fitted.keys()
    assert [weights(model.wide)[name] == fitted[name] for name in ("weight", "bias")] == [True, True]


def test_settings_of_weights_are_those_of_the_source(source, moods, tmp_path):
    said = []
    recipe = tiny(moods, model__embedding=6, model__words__pooling="mean", model__dropout=0.5, model__layers=1)
    model = train(recipe, tmp_path / "model", start_from=source, say=said.append)
    replaced = "model.embedding=8 (not 6), model.words.pooling=max (not mean)"
    assert f"settings of {source} instead of those of the recipe: {replaced}" in said
    assert (model.settings.embedding, model.settings.words.pooling, model.settings.dropout) == (8, "max", 0.5)
    assert model.about["recipe"]["model"]["embedding"] == 8
    assert model.labels == ["happy", "neither", "sad"]


def test_the_data_choose_no_setting_of_weights(source, moods, tmp_path):
    """They would choose a feedforward layer for so few texts, which has other weights."""
    recipe = tiny(moods, model__layers=1, auto=["model.words.encoder", "training.batch_size"])
    model = train(recipe, tmp_path / "model", start_from=source)
    assert model.settings.words.encoder == load_model(source).settings.words.encoder == "bilstm"
    assert model.about["recipe"]["training"]["batch_size"] == 16


def test_what_was_taken_is_said_and_recorded(source, moods, tmp_path):
    said = []
    model = train(tiny(moods, model__layers=1), tmp_path / "model", start_from=source, say=said.append)
    [line] = [line for line in said if line.startswith("taken over from")]
    assert line == f"taken over from {source}: {model.about['start_from']['taken']}"
    assert not any(line.startswith("settings of") for line in said)
    assert f"| Started from | {source}: " in (tmp_path / "model" / "README.md").read_text()
    assert load_model(tmp_path / "model").about["start_from"]["model"] == str(source)


def test_resumed_from_the_same_model_only(source, moods, tmp_path, monkeypatch):
    """Also if another one has the same shape, or the recipe is for a search."""
    out, recipe = tmp_path / "model", tiny(moods, model__layers=1)
    ranges = tiny(moods, model__layers=1, training__epochs=1, search={"model.dropout": [0.0, 0.2, 0.4]})
    shutil.copytree(source, tmp_path / "other")

    def found(**options):
        return train(recipe, out, **options)

    def searched(**options):
        return search(ranges, tmp_path / "searched", 2, **options)

    for start, line, folder in ((found, "epoch   2:", out / "training"),
                                (searched, "trial 1 of 2", tmp_path / "searched" / "training" / "trials")):  # fmt: skip
        monkeypatch.setattr(sys, "stderr", Tripwire(line))
        with pytest.raises(Interrupted):
            start(start_from=source)
        monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
        for other, got in ((None, "unset"), (tmp_path / "other", f'"{tmp_path / "other"}"')):
            with pytest.raises(BadInput) as caught:
                start(start_from=other, resume=True)
            said = f'was started with --start-from = "{source}", got {got}'
            assert str(caught.value) == f"{folder}: {said}; expected the same values to resume, or --replace"
        assert start(start_from=source, resume=True).about["start_from"]["model"] == str(source)
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   2:"))
    with pytest.raises(Interrupted):
        found(replace=True)
    with pytest.raises(BadInput, match=f'started with --start-from = unset, got "{source}"'):
        found(start_from=source, resume=True)


def test_a_shipped_model_with_the_default_recipe(tmp_path):
    """Its vectors are larger than the pretrained ones that the recipe would take."""
    pairs = [(f"A man eats {i} apples.", f"He eats {i}.", ["same", "other"][i % 2]) for i in range(24)]
    path = write_table(tmp_path / "pairs.csv", pairs, ("premise", "hypothesis", "label"))
    small = options({"training.epochs": 1, "model.vocabulary.min_count": 1})
    done = invoke("train", "--data", path, "--start-from", "snli", "--out", tmp_path / "model", *small)
    assert "taken over from snli: " in done.stderr
    assert "model.embedding=300 (not 256)" in done.stderr
    assert load_model(tmp_path / "model").settings.enhanced


def test_another_kind_of_model_is_refused(moods, tmp_path):
    said = refusal("train", "documents/both", "--data", moods["train"], "--start-from", "snli", "--out", tmp_path / "m")
    expected = "expected structured-documents, as the recipe documents/both says"
    assert said == f"start_from: snli is a model of the kind structured-pairs; {expected}"
    assert not (tmp_path / "m").exists()


def test_models_without_gradients_and_missing_ones_are_refused(moods, tmp_path):
    train("documents/majority", tmp_path / "majority", set={f"data.{name}": value for name, value in moods.items()})
    with pytest.raises(BadInput, match="start_from: majority is not trained by gradients; expected a model that is"):
        train(
            "documents/majority", tmp_path / "m", start_from=tmp_path / "majority",
            set={f"data.{name}": value for name, value in moods.items()},
        )  # fmt: skip
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        train(tiny(moods), tmp_path / "m", start_from="nowhere")
    assert json.loads((tmp_path / "majority" / "config.json").read_text())["about"].get("start_from") is None
