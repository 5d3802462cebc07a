"""The model card: what the hub reads, where the model comes from, and code that works."""

import json

from huggingface_hub import ModelCardData, metadata_load

from tests.models.building import documents, pairs
from treetext.models import save_model
from treetext.models.card import card as card_of


def test_the_card(tmp_path):
    model = documents()
    recipe = {"seed": 7, "data": {"format": "csv"}}
    model.about = {
        "recipe_name": "documents/both", "recipe": recipe, "seed": 7, "data": "a|b.csv", "fingerprint": "f00",
        "epoch": 4, "scores": {"dev": 0.75, "test": 0.7123},
    }  # fmt: skip
    save_model(model, tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    header, body = card.removeprefix("---\n").split("\n---\n", 1)
    metadata = ModelCardData(**metadata_load(tmp_path / "model" / "README.md"))
    assert metadata.library_name == "treetext"
    assert metadata.pipeline_tag == "text-classification"
    assert metadata.language == "en"
    assert "library_name" in header
    for expected in (
        "# StructuredDocuments, a model by treetext",
        "one of 3 labels (`bad`, `good`, `so-so`)",
        "| Recipe | documents/both |",
        "| Data | a\\|b.csv |",
        "| Seed | 7 |",
        f"| Parameters, without word vectors | {model.size:,} |",
        "| dev | 75.0 |",
        "| test | 71.2 |",
        json.dumps(recipe, indent=2),
    ):
        assert expected in body
    code = body.split("```python\n")[1].split("```")[0].replace("this/directory", str(tmp_path / "model"))
    printed = []
    exec(code, {"print": lambda *values: printed.append(values)})  # what the card says works
    assert printed[0][0] in model.labels


def test_the_card_of_a_pair_model(tmp_path):
    save_model(pairs(), tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| Recipe | not recorded |" in card
    code = card.split("```python\n")[1].split("```")[0].replace("this/directory", str(tmp_path / "model"))
    exec(code, {"print": lambda *_: None})


def test_a_card_of_many_labels_in_any_language():
    model = documents()
    model.labels = [f"label {i}" for i in range(12)]
    model.tokenizer.language = "xx"
    card = card_of(model)
    assert "one of 12 labels (`label 0`, " in card
    assert "`label 9`, …)" in card
    assert "language: " not in card


def test_only_a_model_with_trees_speaks_of_trees():
    assert "dependency trees" in card_of(documents())
    assert "dependency trees" not in card_of(documents({"attention": "simple"}, {"attention": "none"}))
