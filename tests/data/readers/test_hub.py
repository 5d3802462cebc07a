"""Data sets of the hub, from directories of the same shape: nothing is downloaded."""

import pytest

from tests.data.readers.writing import examples, texts, write, write_rows
from treetext.data import BadInput, reader


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "teas").mkdir()
    return tmp_path / "teas"


def test_a_data_set_of_the_shape_of_the_hub(hub):
    for split in ("train", "validation", "test"):
        write_rows(hub / f"{split}.parquet", [(split, 1), ("", -1)])
    settings = {"format": "hub", "path": str(hub)}
    assert texts(**settings) == [
        (split, text, label)
        for split, name in (("train", "train"), ("dev", "validation"), ("test", "test"))
        for text, label in ((name, "1"), ("", "-1"))
    ]
    assert texts(**settings, train="test", test="train[:1]")[1:] == [("train", "", "-1"), ("test", "train", "1")]
    first = reader(**settings).fingerprint()
    assert first == reader(**settings).fingerprint()
    with pytest.raises(
        BadInput, match=r"teas, train: no column called 'stars'; expected one, and there are 'text', 'la"
    ):
        examples(**settings, label="stars")
    with pytest.raises(BadInput, match=r"teas: not loaded from the hub: [^\n]*$"):
        examples(**settings, train="nonsense")


def test_a_data_set_that_is_not_on_the_hub(monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BadInput, match=r"^nobody/no-such-teas: not loaded from the hub: [^\n]+$"):
        examples(format="hub", path="nobody/no-such-teas")


def test_classes_of_the_hub_have_names(hub):
    import datasets

    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["cold", "hot"])}
    )
    for split, label in (("train", 1), ("test", 0), ("unsupervised", -1)):
        datasets.Dataset.from_dict({"text": ["tea"], "label": [label]}, features).to_parquet(hub / f"{split}.parquet")
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n"
    for split in ("train", "test", "unsupervised"):
        card += f"  - split: {split}\n    path: {split}.parquet\n"
    write(hub / "README.md", card + "---\n")
    notes, settings = [], {"format": "hub", "path": str(hub)}
    assert texts(**settings, notes=notes) == [("train", "tea", "hot"), ("test", "tea", "cold")]
    assert notes[1:] == [f"{hub}: its split 'unsupervised' left out; name those to read with train, dev and test"]
    with pytest.raises(BadInput, match=r"teas, unsupervised, row 1: no label"):
        examples(**settings, train="unsupervised")


def test_a_training_set_alone_is_still_to_be_split(hub):
    write(hub / "data.csv", "text,label\ntea,3\n")
    assert texts(format="hub", path=str(hub)) == [("all", "tea", "3")]
