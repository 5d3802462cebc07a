"""Models on disk and on the hub: whole or refused with one clear line, and never lost."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models.building import PAIRS, TEXTS, documents, documents_with_ngrams, pairs
from tests.models.hub import Hub
from tests.models.model_test import assert_same_bits, contents
from treetext import load_model, save_model
from treetext.data import BadInput
from treetext.models import StructuredDocuments, StructuredPairs, models
from treetext.models.majority import Majority, MajoritySettings

NAMES = {"config.json", "model.safetensors", "vocabulary.txt", "README.md"}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    save_model(documents(), path)
    return path


def refused(path):
    """The message of a model that cannot be loaded."""
    with pytest.raises(BadInput) as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize("make", [documents, pairs])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_round_trip(tmp_path, make, dtype):
    model = make().to(dtype)
    model.about = {"recipe_name": "mine", "scores": {"dev": 0.5}, "seed": 3}
    save_model(model, tmp_path / "a" / "model")
    for place in (tmp_path / "a" / "model", str(tmp_path / "a" / "model")):
        found = load_model(place)
        assert type(found) is type(model)
        assert not found.training
        assert_same_bits(found, model)
        assert {values.dtype for values in found.state_dict().values()} == {dtype}
        for name in ("settings", "labels", "prior", "about"):
            assert getattr(found, name) == getattr(model, name)
        assert found.vocabulary.words == model.vocabulary.words
        assert vars(found.tokenizer) == vars(model.tokenizer)
    if dtype != torch.bfloat16:
        assert found.predict(PAIRS) == model.predict(PAIRS)
    save_model(found, tmp_path / "b")
    assert contents(tmp_path / "b") == contents(tmp_path / "a" / "model")


def test_no_pickle(saved):
    assert set(contents(saved)) == NAMES
    assert set(load_file(saved / "model.safetensors")) == set(documents().state_dict())
    json.loads((saved / "config.json").read_text())
    assert (saved / "vocabulary.txt").read_text().splitlines()[:3] == ["<pad>", "<unk>", "the"]
    assert not any(b"\x80\x04\x95" in content or content[:2] == b"PK" for content in contents(saved).values())


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_permissions_follow_the_umask(tmp_path, umask, expected):
    model = documents()
    model.splits = {"train": np.array([[1, 2]], np.uint64)}
    before = os.umask(umask)
    try:
        save_model(model, tmp_path / "model")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()}
    assert modes == dict.fromkeys(NAMES | {"splits.safetensors"}, expected)


def test_labels_and_words_in_any_script(tmp_path):
    model = documents()
    model.labels = ["dobrý", "špatný|", "ok\n`"]
    save_model(model, tmp_path / "model")
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
        ({"format": 99, "treetext": "7.0"}, "saved by treetext 7.0 in format 99, expected 2 or less: upgrade"),
        ({"format": 99, "something_new": 1}, "in format 99, expected 2 or less: upgrade"),
        ({"settings__hiden": 5}, "settings.hiden: Extra inputs are not permitted"),
        ({"settings__hidden": "many"}, "settings.hidden: Input should be a valid integer"),
        ({"settings__kind": "trees"}, f"settings.kind: expected one of {', '.join(models())}, got 'trees'"),
        ({"settings__kind": ["trees"]}, "settings.kind: expected one of "),
        ({"settings__kind": "structured-pairs"}, "settings."),
        ({"settings__task": "documents"}, "settings.task: Extra inputs are not permitted"),
        ({"settings": {}}, f"settings.kind: expected one of {', '.join(models())}, missing"),
        ({"format": 0}, "format: Input should be 2"),
        ({"format": "2"}, "format: Input should be 2"),
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


def test_one_function_loads_all_classes(tmp_path):
    for model in (documents(), pairs(), Majority(MajoritySettings(), ["a", "b"])):
        save_model(model, tmp_path / type(model).__name__)
    classes = {type(load_model(path)) for path in tmp_path.iterdir()}
    assert classes == {StructuredDocuments, StructuredPairs, Majority}


def test_no_weights_are_no_damage(tmp_path):
    save_model(Majority(MajoritySettings(), ["a", "b"]), tmp_path / "model")
    assert set(contents(tmp_path / "model")) == NAMES - {"vocabulary.txt"}
    assert load_file(tmp_path / "model" / "model.safetensors") == {}
    (tmp_path / "model" / "model.safetensors").write_bytes(b"")
    assert "model.safetensors: truncated or changed since it was saved" in refused(tmp_path / "model")


def test_saving_over_a_model(saved):
    before = contents(saved)
    other = documents({"attention": "none"})
    with pytest.raises(BadInput, match="already holds a model"):
        save_model(other, saved)
    assert contents(saved) == before
    save_model(other, saved, replace=True)
    assert load_model(saved).settings == other.settings
    assert set(contents(saved)) == NAMES
    (saved.parent / "file").write_text("x")
    with pytest.raises(BadInput, match="a file; expected a directory"):
        save_model(other, saved.parent / "file", replace=True)
    assert (saved.parent / "file").read_text() == "x"


def test_a_model_without_ngrams_over_one_with_them(tmp_path):
    save_model(documents_with_ngrams(), tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    assert load_model(tmp_path / "model").wide is not None
    save_model(documents(), tmp_path / "model", replace=True)
    assert set(contents(tmp_path / "model")) == NAMES | {"notes.txt"}
    assert load_model(tmp_path / "model").wide is None


def test_other_files_in_the_directory_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    save_model(documents(), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


FULL = """
import resource, signal, sys
from tests.models.building import documents
from treetext import save_model
model = documents({"attention": "none"}, hidden=200)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for path in sys.argv[2:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    try:
        save_model(model, path, replace=True)
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


LOAD = """
import sys
from treetext import load_model
from treetext.data import BadInput
for name in sys.argv[1:]:
    try:
        print(load_model(name).labels)
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
    assert missing.startswith("somebody/missing: neither a directory nor available on the hub: ")
    assert invalid.startswith("-bad-/--name..: neither a directory nor available on the hub: ")


PUSH = """
import sys
from treetext import load_model, push_to_hub
model = load_model(sys.argv[1])
print(push_to_hub(model, "somebody/reviews", token="hf_secret", commit_message="A first model"))
again = load_model("somebody/reviews")
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


FORMAT_1 = Path(__file__).parent / "format_1"
NEW = {
    "parents": True,
    "rounds": 1,
    "root": "any",
    "estimator": "marginals",
    "noise": 1.0,
    "relaxation": 1.0,
    "evaluation": "marginals",
}
"""The settings of a level that format 1 did not have, with what they mean for its models."""
EXPECTED = json.loads((FORMAT_1 / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_models_of_format_1_predict_as_they_did(name):
    model, expected = load_model(FORMAT_1 / name), EXPECTED[name]
    assert model.settings.kind == expected["kind"]
    predicted = model.predict(expected["texts"])
    assert [p.label for p in predicted] == expected["labels"]
    for found, probabilities in zip(predicted, expected["probabilities"], strict=True):
        assert list(found.probabilities.values()) == pytest.approx(probabilities, abs=1e-6)


@pytest.mark.parametrize("name", EXPECTED)
def test_models_of_format_1_parse_as_they_did(name):
    model, expected = load_model(FORMAT_1 / name), EXPECTED[name]
    texts = [expected["texts"][parse["text"]] for parse in expected["parses"]]
    for found, parse in zip(model.parse(texts), expected["parses"], strict=True):
        for mine, theirs in [
            (found.to_dict(), parse),
            *zip(found.to_dict()["sentences"], parse["sentences"], strict=True),
        ]:
            read = [word.lower() for word in mine.get("words", [])]  # that version did not keep capitals
            assert read == theirs.get("words", [])
            assert mine["heads"] == theirs["heads"]
            assert (mine["weights"] is None) == (theirs["weights"] is None)
            for part in ("arcs", "roots") if mine["weights"] else ():
                np.testing.assert_allclose(mine["weights"][part], theirs["weights"][part], rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", EXPECTED)
def test_models_of_format_1_are_saved_in_the_new_one(name, tmp_path):
    model = load_model(FORMAT_1 / name)
    old = json.loads((FORMAT_1 / name / "config.json").read_text(encoding="utf-8"))
    assert model.settings.vocabulary.model_dump() == old["about"]["recipe"]["vocabulary"]
    assert (model.labels, model.prior, model.about) == (old["labels"], old["prior"], old["about"])
    save_model(model, tmp_path / "new")
    new = json.loads((tmp_path / "new" / "config.json").read_text(encoding="utf-8"))
    assert new["format"] == 2
    assert new["sha256"] == old["sha256"], "weights and words as they were"
    levels = {name: {**NEW, **level} for name, level in old["settings"].items() if name in ("words", "sentences")}
    assert {**new["settings"], "task": old["settings"]["task"]} == {
        **old["settings"],
        **levels,
        "kind": f"structured-{old['settings']['task']}",
        "vocabulary": old["about"]["recipe"]["vocabulary"],
        "wide": None,
    }
    assert load_model(tmp_path / "new").settings == model.settings


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 3}, "saved by treetext 0.1.0 in format 3, expected 2 or less: upgrade"),
        ({"settings__hiden": 5}, "settings.hiden: Extra inputs are not permitted"),
        ({"settings__task": "trees"}, "settings.kind: expected one of "),
        ({"settings": {}}, "settings.kind: expected one of "),
        ({"settings": None}, "expected the settings of a model"),
        ({"settings": 5}, "expected the settings of a model"),
        ({"settings__words": 5}, "settings.words: Input should be a valid dictionary"),
        ({"about": None}, "about: Input should be a valid dictionary"),
        ({"about": {"recipe": 5}}, ""),
        ({"about__recipe__vocabulary": 5}, "settings.vocabulary: Input should be a valid dictionary"),
        ({"about__recipe__vocabulary": {"min_count": 0}}, "settings.vocabulary.min_count: "),
        ({"labels": None}, "labels: Input should be a valid list"),
        ({"sha256": {}}, "truncated or changed since it was saved"),
    ],
    ids=str,
)
def test_damaged_models_of_format_1(name, changes, message, tmp_path):
    path = tmp_path / "model"
    shutil.copytree(FORMAT_1 / name, path)
    edit(path, **changes)
    if message:
        assert message in refused(path)
    else:
        assert load_model(path).settings.vocabulary.min_count == 6


@pytest.mark.parametrize("name", EXPECTED)
def test_a_model_of_format_1_without_a_recipe(name, tmp_path):
    path = tmp_path / "model"
    shutil.copytree(FORMAT_1 / name, path)
    edit(path, about={})
    texts = EXPECTED[name]["texts"]
    assert load_model(path).predict(texts) == load_model(FORMAT_1 / name).predict(texts)
