import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import CORPUS, OWN_SETTINGS, SETTINGS, SIZES, command, environment, invoke, options, refusal, run
from treetext.cli.train import _result, _show
from treetext.models import load_model
from treetext.training import load_recipe

WEIGHTS = "model.safetensors"


def rows(printed):
    """The facts that were printed."""
    lines = printed.split("\n\n")[1].splitlines()
    return {name.strip(): value.strip() for name, value in (line.rsplit("  ", 1) for line in lines)}


def scores(printed):
    """The table of scores that was printed: for each split, its scores by name."""
    header, *lines = (re.split("  +", line.strip()) for line in printed.split("\n\n")[0].splitlines())
    return {split: dict(zip(header, values, strict=True)) for split, *values in lines}


def test_table_has_what_the_model_says(trained):
    out, done = trained
    model = load_model(out)
    table, printed = rows(done.stdout), scores(done.stdout)
    for split in ("dev", "test"):
        assert printed[split]["accuracy"] == f"{100 * model.about['scores'][split]:.1f}"
        assert printed[split]["macro-F1"] == f"{100 * model.about['measures'][split]['macro_f1']:.1f}"
    assert table["epoch"] == str(model.about["epoch"])
    assert table["saved in"] == str(out)
    assert "60 train, 20 dev, 30 test texts" in done.stderr
    assert "\r" not in done.stderr, "no bars where nobody looks"


def test_next_commands_work_as_printed(trained, tmp_path):
    _, done = trained
    suggested = done.stdout.split("What to try next:\n")[1].strip().splitlines()
    assert len(suggested) == 3
    environ = environment(PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    tried = [
        subprocess.Popen(line, shell=True, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in suggested
    ]
    for line, process in zip(suggested, tried, strict=True):
        printed, complaints = process.communicate(timeout=60)
        assert (process.returncode, complaints) == (0, b""), line
        assert printed, line


def test_next_commands_for_pairs_are_pairs(pair_model):
    text = "One sentence.\tAnother one.\n"
    assert json.loads(invoke("predict", pair_model, stdin=text).stdout)["label"] in ("same", "other")


def test_json_is_one_object(tmp_path):
    done = invoke("train", "hidden-trees/both", "--json", "--seed", 7, "--out", tmp_path / "model", *SETTINGS)
    result = json.loads(done.stdout)
    assert result["seed"] == load_model(tmp_path / "model").about["seed"] == 7
    assert result["out"] == str(tmp_path / "model")
    assert result["documents"] == {"train": 60, "dev": 20, "test": 30}
    assert 0 <= result["dev"] <= 1


def test_trials(tmp_path):
    """A search that is interrupted, and resumed, in processes of their own."""
    out = tmp_path / "model"
    arguments = ["train", *SEARCHED, "--out", out, "--trials", "3", *SETTINGS]
    with subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, env=environment(), text=True) as process:
        for line in process.stderr:
            if line.startswith("trial 1 of 3: dev accuracy "):
                process.send_signal(signal.SIGINT)
                break
        said = process.stderr.read().splitlines()[-1]
    kept = out / "training" / "trials" / "trials.jsonl"
    assert said == f"treetext: stopped; {kept} holds all finished trials: the same command with --resume continues"
    assert process.returncode == 130
    assert not (out / "config.json").exists()
    done = invoke(*arguments, "--resume", "--json")
    assert [line.split(":")[0] for line in done.stderr.splitlines() if line.startswith("trial")][-1] == "trial 3 of 3"
    assert "trial 1 of 3" not in done.stderr
    result, model = json.loads(done.stdout), load_model(out)
    assert (result["trials"], result["chosen"]) == (3, model.about["trials"][model.about["trial"] - 1]["values"])
    assert result["test"] == model.about["scores"]["test"]
    assert "epoch" not in done.stderr
    again = invoke(*arguments, "--replace")
    facts = rows(again.stdout)
    assert facts["trials"] == "3"
    assert facts["training.learning_rate"] == str(result["chosen"]["training.learning_rate"])
    assert load_model(out).about["scores"] == model.about["scores"]


def test_baselines_stand_beside(model, capsys):
    loaded, recipe = load_model(model), load_recipe("hidden-trees/both")
    loaded.about["baselines"] = {"majority": {"dev": 0.5}, "bag of words": {"dev": 0.625, "test": 0.75}}
    result = _result(loaded, recipe, model)
    assert result["baselines"] == loaded.about["baselines"]
    _show(result, loaded)
    printed = scores(capsys.readouterr().out)
    assert [printed[split]["most frequent class"] for split in ("dev", "test")] == ["50.0", "–"]
    assert [printed[split]["bag of words"] for split in ("dev", "test")] == ["62.5", "75.0"]


def test_a_model_without_baselines_shows_none(tmp_path, reviews):
    done = invoke("train", "documents/bag-of-words", "--data", reviews, "--out", tmp_path / "model")
    assert "bag of words" not in done.stdout
    assert "–" not in done.stdout
    [line] = [line for line in done.stderr.splitlines() if line.endswith("texts; 2 classes")]
    assert "Parameters" not in done.stderr, f"nothing is known before the fit: {line}"
    assert "N-grams: 0" not in (tmp_path / "model" / "README.md").read_text()


def test_without_test_texts_the_next_step_is_about_dev(tmp_path):
    rows = ["a good film,good", "a bad film,bad", "so good,good", "so bad,bad", "good plot,good", "bad plot,bad"]
    path, out = tmp_path / "few.csv", tmp_path / "model"
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    done = invoke("train", "documents/bag-of-words", "--data", path, "--out", out)
    assert load_model(out).about["documents"]["test"] == 0
    [line] = [line.strip() for line in done.stdout.splitlines() if "treetext evaluate" in line]
    assert line == f"treetext evaluate {out} --split dev"
    invoke(*line.split()[1:])


def test_classes_that_are_never_predicted_are_said(tmp_path):
    texts = "text,label\n" + "a good film,good\n" * 6 + "a bad film,bad\n" * 3
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text(texts)
    out = tmp_path / "a model"
    done = invoke("train", "documents/majority", "--data", tmp_path, "--out", out)
    said = f"never predicted on dev: bad; see `treetext evaluate '{out}' --split dev`"
    assert done.stderr.splitlines()[-1] == said
    measures = load_model(out).about["measures"]
    assert measures["dev"]["never_predicted"] == measures["test"]["never_predicted"] == ["bad"]
    assert measures["test"]["macro_f1"] == 0.4
    assert "never predicted" in invoke("evaluate", out).stdout


def test_own_file_to_a_directory_named_by_the_recipe(reviews, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = ["--set", "data.text=review", "--set", "data.label=stars"]
    done = invoke("train", "documents/sentence", "--data", reviews.name, *columns, *OWN_SETTINGS)
    assert rows(done.stdout)["saved in"] == "models/documents-sentence"
    model = load_model(tmp_path / "models" / "documents-sentence")
    assert model.labels == ["1", "2"]
    recipe = model.about["recipe"]
    assert recipe["data"]["format"] == "tsv", "by the ending of the file"
    assert [recipe["model"][level]["attention"] for level in ("words", "sentences")] == ["nonprojective", "none"]


def test_the_model_says_which_command_trained_it(reviews, tmp_path):
    data = reviews.rename(tmp_path / "my reviews.tsv")
    arguments = ["train", "documents/majority", "--data", data, "--out", tmp_path / "model", "--seed", "3"]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    typed = f"treetext train documents/majority --data '{data}' --out {tmp_path / 'model'} --seed 3"
    assert load_model(tmp_path / "model").about["command"] == typed
    assert f"| Command | {typed} |" in (tmp_path / "model" / "README.md").read_text()
    again = invoke(*arguments, "--replace")
    assert load_model(tmp_path / "model").about["command"] == f"{typed} --replace", again


@pytest.mark.slow
def test_bars_do_not_get_into_the_output(tmp_path):
    """With standard error on a terminal and standard output in a file."""
    ours, theirs = pty.openpty()
    training = command("train", "hidden-trees/both", "--json", "--out", tmp_path / "model", *SETTINGS)
    with subprocess.Popen(training, stdout=subprocess.PIPE, stderr=theirs, env=environment(TERM="xterm")) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        result = json.loads(process.stdout.read())
    os.close(ours)
    assert process.returncode == 0
    assert result["out"] == str(tmp_path / "model")
    assert b"Epoch" in shown
    assert b"\x1b[" in shown


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the other end is closed
        return b""


SEARCHED = ["hidden-trees/both", "--set", "search.training.learning_rate={low=1e-3,high=1e-2,log=true}"]
CONVOTE = "speeches.toml"
"""A recipe for data in a published format."""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["hiden-trees/both"], "hiden-trees/both: no such recipe; did you mean hidden-trees/both?"),
        (["nonsense"], "nonsense: no such recipe; `treetext recipes` lists those of the package"),
        (["none.toml"], "none.toml: No such file or directory; expected a recipe in TOML"),
        (["hidden-trees/both", "--set", "model.hiden=3"], "model.hiden: unknown; did you mean hidden?"),
        (["hidden-trees/both", "--set", "trainig.epochs=3"], "trainig: unknown; did you mean training?"),
        (["hidden-trees/both", "--set", "model.hidden"], "--set model.hidden: expected key=value"),
        (["hidden-trees/both", "--set", "model.hidden=0"], "model.hidden: Input should be greater than or equal to 1"),
        (["hidden-trees/both", "--seed", "-1"], "seed: Input should be greater than or equal to 0"),
        (
            ["hidden-trees/both", "--data", "x"],
            "x: hidden-trees/both generates its texts; expected no --data, or also --set data.format=csv",
        ),
        ([CONVOTE], "speeches.toml: data.path: missing; expected the data by --data"),
        (["documents/both"], "documents/both: data.path: missing; expected the data by --data"),
        ([CONVOTE, "--data", "my.csv"], "my.csv: speeches reads convote; expected such data, a recipe for"),
        (["documents/both", "--data", "none.csv"], "none.csv: no such file or directory"),
        (["pairs/none", "--data", "none.jsonl"], "none.jsonl: no such file or directory"),
        (["hidden-trees/both", "--resume"], "no checkpoint to resume from"),
        (["hidden-trees/both", "--trials", "2"], "hidden-trees/both: no ranges to search; expected a section [search]"),
        (["hidden-trees/both", "--trials", "0"], "invalid value for '--trials': "),
        ([*SEARCHED, "--trials", "2", "--resume"], "no trials to resume from; expected a search that was interrupted"),
        ([*SEARCHED, "--set", "search.model.hidden=[]"], "search: model.hidden: expected one choice or more"),
    ],
)
def test_refusals(arguments, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / CONVOTE).write_text('base = "documents/both"\ndata = { format = "convote" }\n')
    assert complaint in refusal("train", *arguments)
    assert [path.name for path in tmp_path.iterdir()] == [CONVOTE], "nothing half-written"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "bad.csv: empty; expected"),
        (b"text,label\n", "bad.csv: empty; expected at least one text"),
        (
            b"body,id\na,1\n",
            "bad.csv: no column looks like the label; expected its name by --set data.label=…, among 'id'",
        ),
        (b"text,label\na,1\nb,\n", "bad.csv, row 3: no label; expected one for each text"),
        (b"text,label\na,1\nb\xff,2\n", "bad.csv, line 3: not UTF-8 at byte 2 of the line"),
        (b"text,label\na,1\nb,2,3\n", "bad.csv, row 3 (from line 3): 3 fields; expected 2, as in the header"),
        (b"text,label\n" + b"a,1\n" * 20, "the training data have 1 class; expected two or more"),
        (b"text,label\n" + b",1\n,2\n" * 20, "no text with words in train; expected at least one"),
    ],
)
def test_bad_data(content, complaint, tmp_path):
    (tmp_path / "bad.csv").write_bytes(content)
    out = tmp_path / "model"
    assert complaint in refusal("train", "documents/none", "--data", tmp_path / "bad.csv", "--out", out, *OWN_SETTINGS)
    assert not out.exists()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_label_that_was_never_trained_on(split, tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text("text,label\none text,x\nanother text,y\n" + "odd,z\n" * (name == split))
    message = refusal("train", "documents/none", "--data", tmp_path, "--out", tmp_path / "model", *OWN_SETTINGS)
    where = tmp_path / f"{split}.csv"
    assert message == f"{where}, row 4: label 'z' is not among those of the training data; expected one of x, y"


def test_empty_documents_are_counted(tmp_path):
    texts = [f"{'' if i < 3 else 'some text'},{i % 2}" for i in range(30)]
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *texts]))
    out = tmp_path / "model"
    done = invoke("train", "documents/none", "--data", tmp_path, "--out", out, *OWN_SETTINGS)
    assert "3 of train without words" in done.stderr
    result = json.loads(invoke("evaluate", out, "--json").stdout)
    assert (result["documents"], result["empty"]) == (30, 3)
    assert sum(map(sum, result["confusion"])) == 30


def test_model_that_is_there_is_not_replaced_unless_told(model, tmp_path):
    out = tmp_path / "model"
    shutil.copytree(model, out)
    before = (out / WEIGHTS).read_bytes()
    training = ["train", "hidden-trees/both", "--out", out, "--seed", 5, *SETTINGS]
    assert f"{out}: already holds a model; expected another directory, or --replace" in refusal(*training)
    assert (out / WEIGHTS).read_bytes() == before
    invoke(*training, "--replace")
    assert (out / WEIGHTS).read_bytes() != before


def test_out_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "file: a file; expected a directory" in refusal("train", "hidden-trees/both", "--out", tmp_path / "file")
    assert "Not a directory" in refusal("train", "hidden-trees/both", "--out", tmp_path / "file" / "in", *SETTINGS)
    assert (tmp_path / "file").read_text() == "mine"


def test_full_disk_leaves_the_old_model(model, tmp_path):
    """A limit on the size of files stands for the disk."""
    out = tmp_path / "model"
    shutil.copytree(model, out)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    done = run(
        "train", "hidden-trees/both", "--out", out, "--seed", 5, "--replace", *SETTINGS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )  # fmt: skip
    last = done.stderr.decode().splitlines()[-1]
    assert done.returncode == 2, done.stderr.decode()
    assert last.startswith("treetext: ")
    assert "File too large" in last
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    load_model(out)


@pytest.mark.slow
def test_interrupted_and_resumed_is_the_same_as_never_stopped(tmp_path):
    settings = options(SIZES | CORPUS | {"data.hidden_trees.train": 300, "training.epochs": 9, "training.patience": 99})
    training = ["train", "hidden-trees/both", *settings]
    whole = subprocess.Popen(command(*training, "--out", tmp_path / "b"), stdout=subprocess.DEVNULL, env=environment())
    with subprocess.Popen(
        command(*training, "--out", tmp_path / "a"), stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        for line in process.stderr:
            if line.startswith("epoch   2"):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.splitlines()[-1].startswith("treetext: stopped; ")
    assert "--resume" in rest.splitlines()[-1]
    assert not (tmp_path / "a" / "config.json").exists()
    assert "holds an unfinished training; expected --resume" in refusal(*training, "--out", tmp_path / "a")
    assert "was started with seed = 1, got 9; expected" in refusal(
        *training, "--out", tmp_path / "a", "--resume", "--seed", 9
    )
    resumed = run(*training, "--out", tmp_path / "a", "--resume")
    assert (resumed.returncode, whole.wait(timeout=120)) == (0, 0), resumed.stderr
    assert b"epoch   1" not in resumed.stderr
    assert b"epoch   9" in resumed.stderr
    assert load_model(tmp_path / "b").about["epoch"] > 3, "or it would show nothing"
    assert (tmp_path / "a" / WEIGHTS).read_bytes() == (tmp_path / "b" / WEIGHTS).read_bytes()
