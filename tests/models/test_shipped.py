"""Smaller models, and those that ship: any text, at most 10 MB, and no directory of the machine that made them."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
from safetensors.torch import load_file

from tests.models.building import PAIRS, documents, pairs
from tests.models.model_test import contents
from tests.models.test_files import NAMES, refused
from treetext.data import BadInput, tasks
from treetext.models import load_model, save_model, shipped_models
from treetext.models.files import SHIPPED

ROOT = Path(__file__).parents[2]
SPEECH = "Mr. Speaker, the river does not read our tables. It rises when it rises. I will vote no."
PAIR = ("A woman reads on a bench.", "Somebody is asleep.")


def test_a_directory_comes_before_what_ships(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_model("debates").labels == ["N", "Y"]
    save_model(documents(), "debates")
    assert load_model("debates").labels == documents().labels


def test_an_unknown_name_is_told_what_ships(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ", ".join(shipped_models())
    assert "debates" in names
    assert f"no such directory; expected one with a model, a name of those that ship ({names})" in refused("debats")


@pytest.mark.parametrize("make", [documents, pairs])
def test_half_precision_takes_half_the_space_and_loads_as_float32(tmp_path, make):
    model = make(hidden=200)
    save_model(model, tmp_path / "full")
    save_model(model, tmp_path / "half", half=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    assert {values.dtype for values in load_file(tmp_path / "half" / "model.safetensors").values()} == {torch.float16}
    found = load_model(tmp_path / "half")
    for name, values in found.state_dict().items():
        assert torch.equal(values, model.state_dict()[name].half().float()), name
    for mine, theirs in zip(model.predict(PAIRS), found.predict(PAIRS), strict=True):
        assert theirs.probabilities == pytest.approx(mine.probabilities, abs=0.05)
    save_model(found, tmp_path / "again", half=True)
    assert contents(tmp_path / "again") == contents(tmp_path / "half")


def test_numbers_too_large_for_half_precision(tmp_path):
    model = documents()
    with torch.no_grad():
        model.embedding.weight[3, 2] = 70_000
    with pytest.raises(
        BadInput, match=r"half: embedding\.weight has numbers beyond half precision; expected at most 65504"
    ):
        save_model(model, tmp_path / "model", half=True)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", shipped_models())
def test_what_ships(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = contents(SHIPPED / name)
    assert set(files) == NAMES
    assert sum(map(len, files.values())) <= 10_000_000
    model = load_model(name)
    text = PAIR if model.task is tasks.PAIRS else SPEECH
    [found] = model.parse([text])
    assert found.label in model.labels
    assert any(tree is not None for tree in (found.tree, *(sentence.tree for sentence in found.sentences)))
    words = [sentence.words for sentence in found.sentences]
    assert words[0][0] in ("Mr.", "Mr", "A"), "as typed"
    known, lexicon = set(model.known_words), model.read([words]).lexicon
    assert len(set(lexicon) & known) >= 3
    assert lexicon == [word.lower() for word in lexicon]
    lower = [[word.lower() for word in sentence] for sentence in words]
    assert model.predict([text]) == model.predict_tokens([lower]), "the same bits"


@pytest.mark.parametrize("name", shipped_models())
def test_the_cards_of_what_ships(name):
    card = (SHIPPED / name / "README.md").read_text(encoding="utf-8")
    about = json.loads((SHIPPED / name / "config.json").read_text(encoding="utf-8"))["about"]
    shipped, scores = about["shipped"], about["scores"]
    table = "snli" if name == "snli" else "documents"
    for expected in (
        f"| Recipe | {about['recipe_name']} |",
        f"| Data | {about['data']} |",
        f"| Seed | {about['seed']} |",
        f"| Command | make reproduce TABLE={table} ONLY={shipped['run']} DATA=DIR |",
        f"| Made smaller | {shipped['words']:,} of {shipped['of']:,} words, weights as float16; ships with treetext",
        f"| dev, of the full model | {100 * scores['dev']:.1f} |",
        f"| test, of the full model | {100 * scores['test']:.1f} |",
        f"| dev, of this smaller one | {100 * shipped['dev']:.1f} |",
        '"epochs": ',
    ):
        assert expected in card
    assert shipped["dev"] >= scores["dev"] - 0.005
    code = card.split("```python\n")[1].split("```")[0]
    printed = []
    exec(code, {"print": lambda *values: printed.append(values)})
    assert len(printed) == 1


@pytest.mark.parametrize("name", shipped_models())
def test_no_directories_in_what_ships(name):
    for file in ("config.json", "README.md"):
        text = (SHIPPED / name / file).read_text(encoding="utf-8")
        assert not re.search(r'(^|["\s|=])(/|~|[A-Z]:\\)\w', text), file


def test_the_demo_ends_with_a_speech(capsys):
    runpy.run_path(str(ROOT / "examples" / "demo.py"))["show_speech"]()
    printed = capsys.readouterr().out
    assert "against it (N)? " in printed
    assert ", induced" in printed
    assert "opposition" in printed
    assert "treetext parse --model debates" in printed


def test_the_wheel_has_them(tmp_path):
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        for name in shipped_models():
            for file in NAMES:
                there = archive.read(f"treetext/models/shipped/{name}/{file}")
                assert there == (SHIPPED / name / file).read_bytes()
