"""A search over the ranges of a recipe: real trainings, compared on dev data."""

import json
import sys

import pytest

from tests.training.small import Tripwire, reviews, tiny, weights, write_table
from tests.training.test_without_gradients import FEW, counted
from treetext.data import BadInput
from treetext.evaluation import evaluate
from treetext.models import load_model
from treetext.training import Interrupted, load_recipe, search, train

RANGES = {
    "training.learning_rate": {"low": 1e-4, "high": 0.1, "log": True},
    "model.dropout": [0.0, 0.1, 0.4],
    "model.semantic": {"low": 3, "high": 9, "step": 2},
}
TRIALS = 4


@pytest.fixture(scope="module")
def searched(tmp_path_factory, cache_path, small):
    """A finished search, and what it said."""
    out, lines = tmp_path_factory.mktemp("searched") / "model", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(cache_path))
        search(small(search=RANGES), out, TRIALS, say=lines.append, command="treetext train --trials 4")
    return out, lines


def timeless(model):
    return [{**trial, "seconds": None} for trial in model.about["trials"]]


def test_the_best_trial_is_saved(searched, small, tmp_path):
    out, lines = searched
    model = load_model(out)
    trials = model.about["trials"]
    assert len(trials) == TRIALS
    by_scores = sorted(range(TRIALS), key=lambda i: (-trials[i]["dev_accuracy"], trials[i]["dev_log_loss"]))
    best = trials[by_scores[0]]
    assert model.about["trial"] == 1 + by_scores[0]
    assert model.about["command"] == "treetext train --trials 4"
    assert evaluate(model, small().data, "dev").accuracy == model.about["scores"]["dev"] == best["dev_accuracy"]
    assert model.about["measures"]["test"] == evaluate(model, small().data, "test").summary()
    assert set(model.about["baselines"]["bag of words"]) == {"dev", "test"}
    again = train(small(), tmp_path / "model", set=best["values"])
    assert weights(again) == weights(model), "the values are those that the model was trained with"
    assert again.about["scores"] == model.about["scores"]
    assert [line.split(":")[0] for line in lines if line.startswith("trial ")] == [
        f"trial {i} of 4" for i in (1, 2, 3, 4)
    ]
    assert sum("60 train, 30 dev, 20 test texts" in line for line in lines) == 1
    assert not list((out / "training").glob("trials*")), "only the best model is left"
    row = next(line for line in (out / "README.md").read_text().splitlines() if line.startswith("| Trials |"))
    assert row.startswith(f"| Trials | 4; the best by dev accuracy is number {model.about['trial']}: training.learning")


def test_values_are_of_the_ranges_and_the_first_of_the_recipe(searched):
    first, *others = [trial["values"] for trial in load_model(searched[0]).about["trials"]]
    assert first == {"training.learning_rate": 0.03, "model.dropout": 0.1, "model.semantic": 5}
    for values in others:
        assert 1e-4 <= values["training.learning_rate"] <= 0.1
        assert values["model.dropout"] in (0.0, 0.1, 0.4)
        assert values["model.semantic"] in (3, 5, 7, 9)
        assert type(values["model.semantic"]) is int
    assert len({json.dumps(values) for values in (first, *others)}) == TRIALS


def test_classes_that_are_never_predicted_are_said(tmp_path):
    """Of the best model, once."""
    rare, said = [("a good film", "good")] * 6 + [("a bad film", "bad")] * 2, []
    data = reviews(tmp_path / "data", train=rare, dev=rare, test=rare)
    still = {"training__learning_rate": 1e-9, "training__epochs": 1, "search": {"model.dropout": [0.0, 0.3]}}
    model = search(tiny(data, **still), tmp_path / "model", 2, say=said.append)
    [missing] = model.about["measures"]["dev"]["never_predicted"]
    see = f"see `treetext evaluate {tmp_path / 'model'} --split dev`"
    assert [line for line in said if line.startswith("never")] == [f"never predicted on dev: {missing}; {see}"]


def test_epochs_are_not_printed(tmp_path, small, capsys):
    search(small(search=RANGES, training__epochs=1), tmp_path / "model", 1)
    assert "epoch   1:" not in capsys.readouterr().err


def test_same_seed_same_search_and_a_pause_makes_no_difference(searched, small, tmp_path, monkeypatch):
    recipe, out = small(search=RANGES), tmp_path / "model"
    monkeypatch.setattr(sys, "stderr", Tripwire("trial 2 of"))
    with pytest.raises(Interrupted, match=r"stopped; .*trials\.jsonl holds all finished trials: .* --resume continues"):
        search(recipe, out, TRIALS)
    assert not (out / "config.json").exists()
    assert len((out / "training" / "trials" / "trials.jsonl").read_text().splitlines()) == 2
    for again in (search, lambda *given: train(*given[:2])):
        with pytest.raises(BadInput, match="holds an unfinished search; expected --resume"):
            again(recipe, out, TRIALS)
    with pytest.raises(BadInput, match=r"started with search\.model\.dropout = \[0\.0, 0\.1, 0\.4\], got \[0\.2\]; "):
        search(small(search=RANGES | {"model.dropout": [0.2]}), out, TRIALS, resume=True)
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    model = search(recipe, out, TRIALS, resume=True)
    assert "trial 3 of 4" in sys.stderr.lines
    assert "trial 2 of 4" not in sys.stderr.lines, "what was done is not done again"
    whole = load_model(searched[0])
    assert timeless(model) == timeless(whole)
    assert weights(model) == weights(whole)
    other = search(small(search=RANGES, seed=2, training__epochs=1), out, 2, replace=True)
    assert other.about["trials"][1]["values"] != whole.about["trials"][1]["values"], "the seed decides"
    with pytest.raises(BadInput, match="no trials to resume from; expected a search that was interrupted"):
        search(recipe, out, TRIALS, resume=True)


def test_interrupted_in_the_first_trial(tmp_path, small, monkeypatch):
    out, stderr = tmp_path / "model", Tripwire("60 train")
    monkeypatch.setattr(sys, "stderr", stderr)
    with pytest.raises(Interrupted, match="stopped in the first trial: nothing to resume from"):
        search(small(search=RANGES), out, 2)
    stderr.trigger = "no such line"
    assert search(small(search=RANGES, training__epochs=1), out, 1).about["trial"] == 1


def test_the_test_data_choose_nothing(tmp_path, small, monkeypatch):
    """Trials score dev data only, and the winner test data once."""
    scored = []
    for name in ("fit", "trials", "baselines"):
        module = sys.modules[f"treetext.training.{name}"]
        monkeypatch.setattr(module, "evaluate", lambda *given: scored.append(given[2]) or evaluate(*given))
    search(small(search=RANGES, training__epochs=1, training__baselines=False), tmp_path / "model", 3)
    assert scored == ["dev", "dev", "dev", "test"]


def test_a_trial_that_diverges_is_not_the_end(tmp_path, small):
    still = {"training__optimizer": "sgd", "training__learning_rate": 1e-12, "training__clip": None}
    recipe = small(**still, training__epochs=1, search={"training.learning_rate": [1e-12, 1e30]})
    lines = []
    model = search(recipe, tmp_path / "model", 5, say=lines.append)
    _, second = model.about["trials"]
    assert model.about["trial"] == 1
    assert second["values"] == {"training.learning_rate": 1e30}
    assert "loss is NaN or infinite" in second["problem"]
    assert "dev_accuracy" not in second
    assert "trial 2 of 5: epoch 1: loss is NaN or infinite; " in "\n".join(lines)
    assert "stopped after 2 trials: no untried values in 100 draws" in lines
    with pytest.raises(BadInput, match="loss is NaN or infinite"):
        search(load_recipe(recipe, {"training.learning_rate": 1e30, "search.model.dropout": [0.3]}), tmp_path / "x", 2)


def test_ties_are_broken_by_log_loss(tmp_path):
    """On easy texts, all accuracies are equal."""
    recipe = tiny(reviews(tmp_path), training__learning_rate=0.02, search={"training.learning_rate": [0.03, 0.1]})
    model = search(recipe, tmp_path / "model", 3)
    trials = model.about["trials"]
    losses = [trial["dev_log_loss"] for trial in trials]
    assert len({trial["dev_accuracy"] for trial in trials}) == 1
    assert model.about["trial"] == 1 + losses.index(min(losses)) != 1


def test_without_gradients(tmp_path):
    data = reviews(tmp_path, **FEW)
    recipe = counted(data, "bag-of-words", **{"model.min_count": 3, "search": {"model.min_count": [1, 3]}})
    model = search(recipe, tmp_path / "model", 9)
    assert [trial["values"]["model.min_count"] for trial in model.about["trials"]] == [3, 1]
    assert model.about["trial"] == 2
    assert model.about["scores"] == {"dev": 1.0, "test": 0.75}
    assert load_model(tmp_path / "model").about == model.about


def test_a_start_keeps_the_sizes_of_its_weights(tmp_path, small, directory):
    recipe = small(search=RANGES, training__epochs=1)
    model = search(recipe, tmp_path / "model", 2, start_from=directory)
    assert set(model.about["trials"][1]["values"]) == {"training.learning_rate", "model.dropout"}
    assert model.about["start_from"]["model"] == str(directory)


def test_values_that_are_set_are_not_searched(tmp_path, small):
    recipe = small(search=RANGES, training__epochs=1)
    model = search(recipe, tmp_path / "model", 2, set={"model.dropout": 0.2, "model.semantic": 4})
    assert list(model.about["trials"][1]["values"]) == ["training.learning_rate"]
    assert model.about["recipe"]["model"]["dropout"] == 0.2


def test_data_that_changed_since(tmp_path, monkeypatch):
    data, out = reviews(tmp_path), tmp_path / "model"
    recipe = tiny(data, search=RANGES, training__epochs=1)
    monkeypatch.setattr(sys, "stderr", Tripwire("trial 1 of"))
    with pytest.raises(Interrupted):
        search(recipe, out, 2)
    write_table(tmp_path / "train.csv", [("other", "good"), ("texts", "bad")])
    with pytest.raises(BadInput, match="has changed since the training was started; expected the same data"):
        search(recipe, out, 2, resume=True)
    path = out / "training" / "trials" / "trials.jsonl"
    path.write_text("half a line")
    with pytest.raises(BadInput, match=r"trials\.jsonl: damaged; expected a finished trial in each line"):
        search(recipe, out, 2, resume=True)


def test_refusals(tmp_path, small, directory):
    out = tmp_path / "model"
    with pytest.raises(BadInput, match="trials: got 0; expected 1 or more"):
        search(small(search=RANGES), out, 0)
    with pytest.raises(
        BadInput, match=r'^small: no ranges to search; expected a section \[search\], .*"training\.learn'
    ):
        search(small(), out, 2)
    with pytest.raises(BadInput, match="already holds a model"):
        search(small(search=RANGES), directory, 2)
    assert not out.exists()
