"""Models on disk and on the hub: whole or refused with one clear line, and never lost."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCardData, metadata_load
from safetensors.torch import load_file, save_file
from treetext.text import BadInput

from tests.models.building import documents, pairs
from tests.models.hub import Hub
from tests.models.test_scores import TEXTS
from treetext.models import DocumentClassifier, PairClassifier, load_model

NAMES = {"config.json", "model.safetensors", "vocabulary.txt", "README.md"}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    documents().save_pretrained(path)
    return path


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def refused(path, cls=DocumentClassifier):
    """The message of a model that cannot be loaded."""
    with pytest.raises(BadInput) as caught:
        cls.from_pretrained(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize("make", [documents, pairs])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_round_trip(tmp_path, make, dtype):
    model = make().to(dtype)
    model.about = {"recipe_name": "mine", "scores": {"dev": 0.5}, "seed": 3}
    model.save_pretrained(tmp_path / "a" / "model")
    for found in (load_model(tmp_path / "a" / "model"), type(model).from_pretrained(str(tmp_path / "a" / "model"))):
        assert type(found) is type(model)
        assert not found.training
        mine, theirs = model.state_dict(), found.state_dict()
        assert list(mine) == list(theirs)
        assert all(torch.equal(mine[name], theirs[name]) and theirs[name].dtype == dtype for name in mine)
        for name in ("settings", "labels", "prior", "about"):
            assert getattr(found, name) == getattr(model, name)
        assert found.vocabulary.words == model.vocabulary.words
        assert vars(found.tokenizer) == vars(model.tokenizer)
    if dtype != torch.bfloat16:
        texts = [text[:2] for text in TEXTS if len(text) > 1]
        assert found.predict(texts) == model.predict(texts)
    found.save_pretrained(tmp_path / "b")
    assert contents(tmp_path / "b") == contents(tmp_path / "a" / "model")


def test_no_pickle(saved):
    assert set(contents(saved)) == NAMES
    assert set(load_file(saved / "model.safetensors")) == set(documents().state_dict())
    json.loads((saved / "config.json").read_text())
    assert (saved / "vocabulary.txt").read_text().splitlines()[:3] == ["<pad>", "<unk>", "the"]
    assert not any(b"\x80\x04\x95" in content or content[:2] == b"PK" for content in contents(saved).values())


def test_labels_and_words_in_any_script(tmp_path):
    model = documents()
    model.labels = ["dobrý", "špatný|", "ok\n`"]
    model.save_pretrained(tmp_path / "model")
    assert load_model(tmp_path / "model").labels == model.labels


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.txt"])
def test_truncated_or_missing(saved, name):
    content = (saved / name).read_bytes()
    for damaged in (content[:-1], content[: len(content) // 2], b"", content + b"x"):
        (saved / name).write_bytes(damaged)
        assert f"{name}: truncated or changed since it was saved; expected a whole model" in refused(saved)
    (saved / name).unlink()
    assert f"{name}: missing; expected a whole model" in refused(saved)


def test_no_model_at_all(tmp_path):
    assert "config.json: missing; expected a directory that holds a model" in refused(tmp_path)
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "nothing", tmp_path / "no" / "thing"):
        assert "no such directory; expected one with a model, " in refused(path)


def edit(path, **changes):
    config = json.loads((path / "config.json").read_text())
    for key, value in changes.items():
        *sections, last = key.split("__")
        part = config
        for section in sections:
            part = part[section]
        part[last] = value
    (path / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99, "treetext": "7.0"}, "saved by treetext 7.0 in format 99, expected 1 or less: upgrade"),
        ({"format": 99, "something_new": 1}, "in format 99, expected 1 or less: upgrade"),
        ({"settings__hiden": 5}, "settings.documents.hiden: Extra inputs are not permitted"),
        ({"settings__hidden": "many"}, "settings.documents.hidden: Input should be a valid integer"),
        ({"settings__task": "trees"}, "settings: "),
        ({"labels": "good"}, "labels: Input should be a valid list"),
        ({"labels": ["good"]}, "labels: expected two or more different classes"),
        ({"prior": [1.0]}, "prior: expected 3 probabilities, one for each label, got 1"),
        ({"language": "klingon"}, "language: expected one of "),
        ({"settings__hidden": 9}, "model.safetensors: does not go with config.json: "),
        ({"settings__embedding": 9}, "model.safetensors: does not go with config.json: "),
        ({"sha256": {}}, "truncated or changed since it was saved"),
    ],
)
def test_wrong_settings(saved, changes, message):
    edit(saved, **changes)
    assert message in refused(saved)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"5", b"null", b"\xff\xff", b"{}"])
def test_settings_that_are_none(saved, content):
    (saved / "config.json").write_bytes(content)
    assert "expected the settings of a model" in refused(saved)


def test_weights_of_something_else(saved):
    save_file({"other": torch.zeros(2)}, saved / "model.safetensors")
    config = json.loads((saved / "config.json").read_text())
    digest = hashlib.sha256((saved / "model.safetensors").read_bytes()).hexdigest()
    edit(saved, sha256={**config["sha256"], "model.safetensors": digest})
    assert "model.safetensors: does not go with config.json" in refused(saved)


def test_a_model_of_another_class(saved):
    assert "a model of documents; PairClassifier expects another task" in refused(saved, PairClassifier)


def test_saving_over_a_model(saved):
    before = contents(saved)
    other = documents({"attention": "none"})
    with pytest.raises(BadInput, match="already holds a model"):
        other.save_pretrained(saved)
    assert contents(saved) == before
    other.save_pretrained(saved, replace=True)
    assert load_model(saved).settings == other.settings
    assert set(contents(saved)) == NAMES
    (saved.parent / "file").write_text("x")
    with pytest.raises(BadInput, match="a file; expected a directory"):
        other.save_pretrained(saved.parent / "file", replace=True)
    assert (saved.parent / "file").read_text() == "x"


def test_other_files_in_the_directory_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    documents().save_pretrained(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


FULL = """
import resource, signal, sys
from tests.models.building import documents
model = documents({"attention": "none"}, hidden=200)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for path in sys.argv[2:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    try:
        model.save_pretrained(path, replace=True)
    except OSError as error:
        print(error)
    else:
        sys.exit("saved after all")
"""


def run(code, *arguments, **environment):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_full_disk_leaves_the_old_model_and_no_litter(saved):
    before, fresh = contents(saved), saved.parent / "fresh"
    done = run(FULL, 1000, saved, fresh)
    assert done.returncode == 0, done.stderr
    old, new = done.stdout.splitlines()
    assert old.startswith(f"{saved}: not saved: ")
    assert new.startswith(f"{fresh}: not saved: ")
    assert contents(saved) == before
    assert not fresh.exists()
    assert load_model(saved).predict(TEXTS) == documents().predict(TEXTS)


def test_the_card(tmp_path):
    model = documents()
    recipe = {"seed": 7, "data": {"format": "csv"}}
    model.about = {
        "recipe_name": "documents/both", "recipe": recipe, "seed": 7, "data": "a|b.csv", "fingerprint": "f00",
        "epoch": 4, "scores": {"dev": 0.75, "test": 0.7123},
    }  # fmt: skip
    model.save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    header, body = card.removeprefix("---\n").split("\n---\n", 1)
    metadata = ModelCardData(**metadata_load(tmp_path / "model" / "README.md"))
    assert metadata.library_name == "treetext"
    assert metadata.pipeline_tag == "text-classification"
    assert metadata.language == "en"
    assert "library_name" in header
    for expected in (
        "# A DocumentClassifier by treetext",
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
    pairs().save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| Recipe | not recorded |" in card
    code = card.split("```python\n")[1].split("```")[0].replace("this/directory", str(tmp_path / "model"))
    exec(code, {"print": lambda *_: None})


LOAD = """
import sys
from treetext import DocumentClassifier
from treetext.text import BadInput
for name in sys.argv[1:]:
    try:
        print(DocumentClassifier.from_pretrained(name).labels)
    except BadInput as error:
        print(error)
"""


def test_from_the_cache_of_the_hub_offline(saved, tmp_path):
    home = tmp_path / "home"
    repository = home / "hub" / "models--somebody--reviews"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "snapshots").mkdir()
    saved.rename(repository / "snapshots" / ("a" * 40))
    names = ("somebody/reviews", "somebody/missing", "-bad-/--name..")
    done = run(LOAD, *names, HF_HOME=str(home), HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    found, missing, invalid = done.stdout.splitlines()
    assert found == "['bad', 'good', 'so-so']"
    assert missing.startswith("somebody/missing: neither a directory nor to be had from the hub: ")
    assert invalid.startswith("-bad-/--name..: neither a directory nor to be had from the hub: ")


PUSH = """
import sys
from treetext import DocumentClassifier
model = DocumentClassifier.from_pretrained(sys.argv[1])
print(model.push_to_hub("somebody/reviews", token="hf_secret", commit_message="A first model"))
again = DocumentClassifier.from_pretrained("somebody/reviews")
print(again.predict(["a good film"]) == model.predict(["a good film"]))
"""


def test_to_the_hub_and_back(saved, tmp_path):
    """With a small server that speaks as much of the hub's protocol as this takes."""
    with Hub() as hub:
        environment = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        done = run(PUSH, saved, **environment, HF_HUB_OFFLINE="0", HF_HUB_DISABLE_TELEMETRY="1")
    assert done.returncode == 0, done.stderr + repr(hub.unknown)
    assert hub.created == ["somebody/reviews"]
    assert hub.files == contents(saved)
    assert hub.message == "A first model"
    assert hub.tokens == {"Bearer hf_secret"}
    address, same = done.stdout.splitlines()
    assert "somebody/reviews" in address
    assert same == "True"
