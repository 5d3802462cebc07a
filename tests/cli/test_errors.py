"""A mistake of treetext shows where it is; a mistake of the user is one line that says what is expected."""

import json
import shutil

import pytest
import torch

from tests.cli.running import OWN_SETTINGS, after, invoke, options, refusal
from tests.data.readers.treebanks import sentence, write
from treetext.data import BadInput

BROKEN = """
import treetext.models
from treetext.data import BadInput
def broken(*_, **__):
    raise {}
treetext.models.load_model = broken
"""
COLUMNS = {"data.text": "review", "data.label": "stars"}


@pytest.mark.parametrize("error", ["ValueError('x')", "KeyError('x')"])
def test_a_bug_shows_its_traceback(error):
    done = after(BROKEN.format(error), "predict", "debates", input=b"some text")
    assert (done.returncode, done.stdout) == (1, b"")
    first, *_, last = done.stderr.decode().splitlines()
    assert first.startswith("Traceback")
    assert last.replace(": '", "('").startswith(error[:6])
    assert "in broken" in done.stderr.decode()


def test_bad_input_is_one_line():
    done = after(BROKEN.format("BadInput('x: no such thing; expected another')"), "predict", "debates")
    assert (done.returncode, done.stderr) == (2, b"treetext: x: no such thing; expected another\n")


@pytest.mark.parametrize("command", ["evaluate", "predict", "parse", "report", "analyse", "agree", "serve"])
@pytest.mark.parametrize("error", [ValueError, KeyError, BadInput])
def test_every_command_tells_the_two_apart(command, error, monkeypatch):
    def broken(*_, **__):
        raise error("x")

    for place in ("treetext.models.load_model", "treetext.serve.server.load_model"):
        monkeypatch.setattr(place, broken)
    arguments = [command, "debates", *(["treebank"] if command == "agree" else [])]
    arguments += ["--port", 0] if command == "serve" else []
    if error is BadInput:
        assert refusal(*arguments) == "x"
    else:
        with pytest.raises(error, match="x"):
            invoke(*arguments)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"data.language": "klingon"}, "language: expected one of af, am, "),
        ({"data.folds": 1}, "data.folds: Input should be greater than or equal to 2; got 1"),
        ({"data.folds": 99}, "folds: 99 folds of 50 rows; expected at most one fold a row"),
        ({"data.fold": 3}, "fold: expected folds to say how many there are, got 3"),
        ({"data.folds": 2, "data.fold": 2}, "fold: expected 0 to 1, got 2"),
        ({"data.split": [1, 1, 1]}, "split: expected shares of train, dev and test that add up to 1, got [1.0, "),
        ({"data.split": [1, 0, 0]}, "in dev; expected at least one: its share is 0 in data.split=[1.0, 0.0, 0.0]"),
        ({"data.split": [0.5, 0.5]}, "data.split: expected three shares, of train, dev and test, such as [0.8, 0.1, "),
        ({"data.split": 1}, "data.split: expected three shares, of train, dev and test, such as [0.8, 0.1, 0"),
        ({"data.label": "points"}, "no column called 'points'; expected one, and there are 'review', 'stars'"),
        ({"data.classes": '{"1" = "a"}'}, "label '2' is not among the classes; expected one of '1'"),
        ({"data.delimiter": "ab"}, "data.delimiter: expected one character, such as ; or \\t, but no quote or"),
        ({"model.wide": "null"}, "model.wide: expected a section with settings, as in model.wide.KEY=VALUE, or none"),
        ({"data.quoting": 3}, "data.quoting: Input should be a valid boolean"),
        ({"data.subset": "x"}, "data.subset: does not go with tsv; expected it only for hub"),
        ({"data.hidden_trees.train": 3}, "data.hidden_trees: does not go with tsv; expected it only for hidden-trees"),
        ({"data.format": "xls"}, "data.format: expected one of csv, "),
        ({"data.format": "[1]"}, "data.format: expected one of csv, "),
        ({"data.format": "snli"}, "data.text: does not go with snli; expected it only for csv, "),
        ({"data": 3}, "documents/both: data: got 3; expected a section with a format"),
        ({"model.kind": "forest"}, "model.kind: expected one of bag-of-words, "),
        ({"model.kind": "[1]"}, "model.kind: expected one of bag-of-words, "),
        ({"model.kind": "structured-pairs"}, "documents/both: model."),
        ({"model.structure": 0}, "structure: attention nonprojective of words needs structure vectors"),
        ({"model.words.pooling": "middle"}, "model.words.pooling: Input should be "),
        ({"model.words.attention": "none", "model.words.pooling": "root"}, "pooling: root needs trees"),
        ({"model.vocabulary.vectors": "nowhere.txt"}, "nowhere.txt: No such file or directory; expected a file of "),
        ({"training.objectives.magic": 1}, "expected some of cross_entropy, entropy, got 'magic'"),
        ({"training.objectives.cross_entropy": -1}, "expected weights of 0 or more, got -1.0 for cross_entropy"),
        ({"training.batch_size": 0}, "training.batch_size: Input should be greater than or equal to 1"),
        ({"training.optimizer": "magic"}, "training.optimizer: Input should be 'adagrad', "),
        ({"training": 3}, "training: "),
        ({"vocabulary": 3}, "vocabulary: unknown; "),
        ({"seed": "x"}, "seed: Input should be a valid integer"),
    ],
    ids=str,
)  # fmt: skip
def test_settings_of_a_recipe(settings, complaint, reviews, tmp_path):
    out = tmp_path / "model"
    given = options({"model.vocabulary.vectors": "random"} | COLUMNS | settings)
    assert complaint in refusal("train", "documents/both", "--data", reviews, "--out", out, *given)
    assert not out.exists()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"genders": 1}, "genders: Input should be greater than or equal to 2"),
        ({"adjectives": [3, 2]}, "expected the least and the most, from 1 up, as in [1, 2], not [3, 2]"),
        ({"topics": 2}, "topics: 7 sentences need at least 7 topics, not 2"),
        ({"classes": 99}, "classes"),
        ({"task": "agreement", "stems": 3}, "stems: the task agreement needs an even number, not 3"),
        ({"sentence_votes": 2}, "sentence_votes: for the task agreement; with root, expected 1"),
        ({"stem": 2}, "data.hidden_trees.stem: unknown; did you mean stems?"),
        (
            {"stems": 1, "topics": 2, "genders": 2, "sentences": [1, 1], "adjectives": [1, 1], "train": 9999},
            "the language has too few documents that differ; expected fewer documents, or more stems, topics or",
        ),
    ],
    ids=str,
)
def test_settings_of_hidden_trees(settings, complaint):
    given = options({f"data.hidden_trees.{name}": value for name, value in settings.items()})
    assert complaint in refusal("data", "hidden-trees", *given)


def test_options_of_other_formats():
    assert refusal("data", "hidden-trees", "--set", "data.text=body").startswith(
        "hidden-trees: data.text: does not go with hidden-trees; expected it only for csv, "
    )
    assert "expected no path" in refusal("data", "hidden-trees", "--data", "somewhere")


def test_data_that_come_split_have_no_folds(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text("text,label\na,x\nb,y\n")
    message = refusal("data", "csv", "--data", tmp_path, "--set", "data.folds=2")
    assert message == "folds: the data come split into train, dev and test; expected data that are not"


@pytest.mark.skipif(torch.cuda.is_available() or torch.backends.mps.is_available(), reason="there is a GPU here")
def test_no_gpu(tmp_path):
    settings = [*OWN_SETTINGS, *options({"data.hidden_trees.train": 20, "data.hidden_trees.dev": 2})]
    message = refusal("train", "hidden-trees/both", "--accelerator", "gpu", "--out", tmp_path / "model", *settings)
    assert message.startswith("accelerator gpu, devices 1: ")


def test_a_model_of_another_task(model, pair_model, pair_file, reviews):
    table = options({"data.format": "csv", "data.text": "premise", "data.second": "hypothesis"})
    for command, place in (("evaluate", ["--data", pair_file]), ("analyse", [pair_file]), ("report", [pair_file])):
        message = refusal(command, model, *place, *table)
        assert message.endswith("model.kind: the data are pairs, got a model of documents")
    for command, place in (("evaluate", ["--data", reviews]), ("analyse", [reviews]), ("report", [reviews])):
        assert "no column called 'premise'" in refusal(command, pair_model, *place)


def test_treebanks(model, tmp_path):
    path = write(tmp_path / "own.txt", sentence("rain falls", [2, 0]))
    assert refusal("agree", model, path, "--format", "ptb") == "format: expected conllu, gum, snli, got 'ptb'"
    assert refusal("agree", model, path) == (
        f"{path}: neither *.conllu nor *.jsonl nor GUM; expected one, or format: conllu, gum, snli"
    )
    assert "own.txt, line 1: not JSON" in refusal("agree", model, path, "--format", "snli")
    assert "own.txt: not a tar archive" in refusal("agree", model, path, "--format", "gum")
    assert "--seed" in invoke("agree", model, path, "--seed", 2**70, code=2).stderr


def _changed(config, key, value):
    section, _, name = key.partition(".")
    return {**config, section: {**config[section], name: value} if name else value}


@pytest.mark.parametrize("value", [None, 3, "x", [1], {}], ids=str)
@pytest.mark.parametrize(
    "key", ["format", "settings", "labels", "prior", "language", "about", "sha256", "settings.kind", "settings.hidden"]
)
def test_a_damaged_configuration(key, value, model, tmp_path):
    bad = tmp_path / "bad"
    shutil.copytree(model, bad, ignore=lambda *_: ["training"])
    config = json.loads((bad / "config.json").read_text())
    (bad / "config.json").write_text(json.dumps(_changed(config, key, value)))
    if (key, value) in [("about", {}), ("settings.hidden", 3)]:
        return  # these may be so
    assert refusal("predict", bad, stdin="a").startswith(str(bad))


def test_a_vocabulary_of_another_model(model, pair_model, tmp_path):
    bad = tmp_path / "bad"
    shutil.copytree(model, bad)
    shutil.copy(pair_model / "vocabulary.txt", bad)
    assert "vocabulary.txt: truncated or changed since it was saved" in refusal("predict", bad, stdin="a")


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04junk"])
def test_a_damaged_checkpoint(content, reviews, tmp_path):
    write(tmp_path / "training" / "recipe.json", "{}")
    (tmp_path / "training" / "last.ckpt").write_bytes(content)
    message = refusal("train", "documents/both", "--data", reviews, "--out", tmp_path, "--resume", *options(COLUMNS))
    assert message.endswith("last.ckpt: damaged; expected a whole checkpoint, or --replace")


@pytest.mark.parametrize("host", ["a" * 70, "a..b"])
def test_hosts_that_are_no_names(host):
    message = refusal("serve", "debates", "--port", 0, "--host", host)
    assert message == f"--host {host}: no valid name; expected a name or an address of this machine"


def test_settings_with_another_format_than_that_of_the_model(pair_model, pair_file, tmp_path):
    """A model of a CSV file has options that a JSON Lines file has not: they are left out, not refused."""
    rows = [line.split(",") for line in pair_file.read_text().splitlines()[1:]]
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(json.dumps(dict(zip(("premise", "hypothesis", "label"), row, strict=True))) + "\n" for row in rows)
    )
    expected = json.loads(invoke("evaluate", pair_model, "--data", pair_file, "--json").stdout)
    found = json.loads(invoke("evaluate", pair_model, "--data", path, "--json").stdout)
    assert (found["accuracy"], found["confusion"]) == (expected["accuracy"], expected["confusion"])
    (tmp_path / "pairs.csv").write_text(pair_file.read_text().replace(",", ";"))
    again = invoke("evaluate", pair_model, "--data", tmp_path / "pairs.csv", "--json", "--set", "data.delimiter=;")
    assert json.loads(again.stdout)["confusion"] == expected["confusion"]
    assert "data.delimiter: does not go with jsonl; expected it only for csv, tsv" in refusal(
        "evaluate", pair_model, "--data", path, "--set", "data.delimiter=;"
    )
