"""What commands import, and what they say where an extra is not installed."""

import json
import subprocess
import sys

import pytest

from tests.cli.running import OWN_SETTINGS, after, environment, invoke, options
from tests.cli.test_texts import LINES, TEXTS
from treetext.data import Tokenizer

BLOCK = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
@staticmethod
def find_unless_blocked(name, *rest):
    return None if name.partition(".")[0] in {} else find(name, *rest)
PathFinder.find_spec = find_unless_blocked
"""
"""Packages that cannot be imported, as if they were not installed."""
SLOW = ("torch", "numba", "numpy", "pydantic", "spacy", "lightning", "gensim", "datasets", "sklearn", "pyarrow")


def imported(*arguments, among, stdin=b""):
    """Which of some modules a command imports."""
    code = (
        "import sys\nfrom treetext.cli import app\n"
        f"try: app({[str(argument) for argument in arguments]!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(*sorted({set(among)!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=stdin, capture_output=True, env=environment(), timeout=120, check=True
    )
    return done.stderr.decode().splitlines()[-1].split()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["train", "--help"], ["serve", "--help"]], ids=" ".join
)
def test_help_answers_at_once(arguments):
    own = {"pydantic"} if len(arguments) > 1 else set()  # typer itself may take it, to parse options
    assert imported(*arguments, among=set(SLOW) - own) == []


@pytest.mark.parametrize("arguments", [["predict"], ["parse"], ["parse", "--format", "drawing"]], ids=" ".join)
def test_texts_need_no_evaluation(arguments, model):
    heavy = ("treetext.evaluation", "treetext.training", "lightning", "gensim", "datasets", "sklearn", "fastapi")
    assert imported(*arguments, model, among=heavy, stdin=LINES.encode()) == []


@pytest.mark.parametrize("command", ["predict", "parse"])
def test_each_text_is_cut_into_words_once(command, model, monkeypatch):
    cut, split = [], Tokenizer.split
    monkeypatch.setattr(Tokenizer, "split", lambda self, text: cut.append(text) or split(self, text))
    assert len(invoke(command, model, stdin=LINES).stdout.splitlines()) == len(TEXTS)
    assert cut == TEXTS


@pytest.mark.parametrize(
    ("module", "extra", "arguments"),
    [
        ("gensim", "vectors", ["train", "documents/both", "--data", "{reviews}", "--out", "{out}"]),
        ("optuna", "search", ["train", "--data", "{reviews}", "--out", "{out}", "--trials", "2"]),
        ("datasets", "hub", ["data", "hub", "--data", "owner/name"]),
        ("huggingface_hub", "hub", ["predict", "owner/name"]),
        ("fastapi", "serve", ["serve", "debates", "--port", "0"]),
        ("uvicorn", "serve", ["serve", "debates", "--port", "0"]),
    ],
)
def test_a_missing_extra_is_named(module, extra, arguments, reviews, tmp_path):
    given = [argument.format(reviews=reviews, out=tmp_path / "model") for argument in arguments]
    if "train" in given:
        given += options({"data.text": "review", "data.label": "stars"})
    done = after(BLOCK.format({module}), *given)
    *_, last = done.stderr.decode().splitlines()
    assert done.returncode == 2, done.stderr.decode()
    assert last == f"treetext: {module} is not installed; expected pip install 'treetext[{extra}]'"
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "model" / "config.json").exists()


def test_without_extras_the_rest_works(reviews, tmp_path):
    """No word2vec, no hub: random vectors and a table of one's own."""
    extras = {"gensim", "datasets", "huggingface_hub", "fastapi", "optuna", "uvicorn", "tensorboard"}
    settings = [*OWN_SETTINGS, *options({"data.text": "review", "data.label": "stars", "training.epochs": 1})]
    training = ["train", "documents/both", "--data", reviews, "--out", tmp_path / "model", "--json", *settings]
    done = after(BLOCK.format(extras), *training)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["labels"] == ["1", "2"]
