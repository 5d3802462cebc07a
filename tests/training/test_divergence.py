"""A loss that is NaN or infinite is an error of one line; other errors are not hidden."""

import re

import pytest

from treetext.data import BadInput
from treetext.models import StructuredDocuments
from treetext.training import load_recipe, train
from treetext.trees import NonFiniteScores

DIVERGED = r"epoch \d: loss is NaN or infinite; lower training\.learning_rate or set training\.clip"


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
