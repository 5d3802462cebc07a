"""The majority class: nothing to learn but the prior."""

import pytest
import torch

from tests.models.model_test import ModelTest
from treetext.models import load_model, save_model
from treetext.models.majority import Majority, MajorityPairs, MajorityPairsSettings, MajoritySettings


class TestMajority(ModelTest):
    model = Majority
    settings = MajoritySettings()
    learns = 0.5
    has_weights = False


class TestMajorityPairs(ModelTest):
    model = MajorityPairs
    settings = MajorityPairsSettings()
    learns = 0.5
    has_weights = False


def test_every_text_gets_the_prior():
    model = Majority(MajoritySettings(), ["a", "b", "c"], prior=[0.2, 0.7, 0.1])
    for found in model.predict(["some words", "", ["Others.", "More."]]):
        assert found.label == "b"
        assert found.probabilities == pytest.approx({"a": 0.2, "b": 0.7, "c": 0.1}, abs=1e-12)


def test_a_class_without_texts():
    model = Majority(MajoritySettings(), ["a", "b"], prior=[0.0, 1.0])
    [found] = model.predict(["some words"])
    assert found.probabilities == {"a": 0.0, "b": 1.0}


def test_has_a_device_and_a_size_without_tensors(tmp_path):
    model = Majority(MajoritySettings(), ["a", "b"]).to(torch.float16)
    assert model.device == torch.device("cpu")
    assert model.size == 0
    assert not model.state_dict()
    save_model(model, tmp_path / "model", half=True)
    assert load_model(tmp_path / "model").predict(["words"]) == model.predict(["words"])
