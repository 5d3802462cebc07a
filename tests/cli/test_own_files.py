"""Users' own files: columns and recipes that are recognised, splits that are kept, texts that were seen."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.running import OWN_SETTINGS, invoke, refusal
from treetext.models import load_model, save_model


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Texts that all differ, with an id and a rare class."""
    path = tmp_path_factory.mktemp("own") / "films.csv"
    rows = [f"f{i},The {'fine' if i % 2 else 'dull'} film number {i}. I saw it.,{1 + i % 2}" for i in range(59)]
    path.write_text("\n".join(["film_id,review,stars", *rows, "f99,Nothing like it.,5"]) + "\n")
    return path


@pytest.fixture(scope="module")
def own(file, tmp_path_factory):
    """A model of that file that is fast to train."""
    out = tmp_path_factory.mktemp("own") / "model"
    return out, invoke("train", "documents/majority", "--data", file, "--out", out)


def test_a_file_alone_trains_a_model(file, tmp_path):
    done = invoke("train", "--data", file, "--out", tmp_path / "model", *OWN_SETTINGS)
    said = done.stderr.splitlines()
    assert f"{file}: documents, so the recipe is documents/default" in said
    assert f"{file}: text in column 'review', label in column 'stars'" in said
    assert f"{file}: only in train, not in dev or test: 1 text of 1 class" in said
    recipe = load_model(tmp_path / "model").about["recipe"]
    assert recipe["name"] == "documents/default"
    assert [recipe["data"][name] for name in ("format", "text", "second", "label")] == ["csv", "review", None, "stars"]


def test_pairs_are_recognised(tmp_path):
    rows = [json.dumps({"sentence1": f"Tea {i}.", "sentence2": "Is it hot?", "same": "xy"[i % 2]}) for i in range(30)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(rows))
    done = invoke("train", "--data", tmp_path, "--out", tmp_path / "model", *OWN_SETTINGS)
    assert f"{tmp_path}: pairs, so the recipe is pairs/default" in done.stderr
    assert f"{tmp_path}: text in columns 'sentence1' and 'sentence2', label in column 'same'" in done.stderr
    assert load_model(tmp_path / "model").about["recipe"]["data"]["second"] == "sentence2"
    text = "Tea is hot.\tIs it?\n"
    assert json.loads(invoke("predict", tmp_path / "model", stdin=text).stdout)["label"] in ("x", "y")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "no recipe; expected one (`treetext recipes` lists them), or your own file by --data"),
        (["--data", "none.csv"], "none.csv: no such file or directory"),
        (
            ["--data", "notes.txt"],
            "notes.txt: no table by its name; expected .csv, .jsonl, .parquet, .tsv, or data.format",
        ),
        (
            ["--data", "sheet.xlsx"],
            "sheet.xlsx: a spreadsheet; expected a CSV file: in your spreadsheet program, save it",
        ),
        (["films.csv"], "films.csv: data, not a recipe; expected --data films.csv, with a recipe or without"),
        (
            ["--data", "two.csv"],
            "two.csv: 'mood', 'taste' may each be the label; expected one of them by --set data.label=",
        ),
        (
            ["documents/majority", "--data", "two.csv", "--set", "data.label=x"],
            "two.csv: no column called 'x'; expected",
        ),
        (
            ["pairs/majority", "--data", "films.csv"],
            "films.csv: which columns have the two sentences? expected --set data.",
        ),
    ],
)
def test_refusals(arguments, complaint, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(file, tmp_path)
    (tmp_path / "notes.txt").write_text("a")
    (tmp_path / "sheet.xlsx").write_bytes(b"PK")
    rows = [f"tea number {i},{'ab'[i % 2]},{'xy'[i % 2]}" for i in range(20)]
    (tmp_path / "two.csv").write_text("\n".join(["text,mood,taste", *rows]))
    assert refusal("train", *arguments).startswith(complaint)
    assert not (tmp_path / "models").exists()


def test_other_files_are_read_by_the_columns_of_the_model(own, file, tmp_path):
    model, _ = own
    (tmp_path / "other.csv").write_text("text,label,review,stars\nodd,z,A new film.,1\nodd,z,Another one.,2\n")
    done = invoke("evaluate", model, "--data", tmp_path / "other.csv", "--json")
    result = json.loads(done.stdout)
    assert (result["documents"], result["seen"], result["data"]) == (2, 0, str(tmp_path / "other.csv"))
    assert done.stderr == ""
    assert len(invoke("predict", model, tmp_path / "other.csv").stdout.splitlines()) == 2
    assert json.loads(invoke("evaluate", model, "--json").stdout)["data"] == str(file)


def test_the_most_frequent_class_is_that_of_training(own, tmp_path):
    """Which this model always predicts, also where all texts have another label."""
    found = []
    for label in (1, 2):
        (tmp_path / "other.csv").write_text(f"review,stars\nA new film.,{label}\nAnother one.,{label}\n")
        result = json.loads(invoke("evaluate", own[0], "--data", tmp_path / "other.csv", "--json").stdout)
        assert result["majority"] == result["accuracy"]
        found.append(result["majority"])
    assert sorted(found) == [0.0, 1.0]


def test_texts_that_were_seen_are_said(own, file):
    model, _ = own
    counts = load_model(model).about["documents"]
    done = invoke("evaluate", model, "--data", file, "--json")
    assert json.loads(done.stdout)["seen"] == counts["train"] + counts["dev"]
    used = f"{counts['train'] + counts['dev']} of 60 texts were used in training"
    assert done.stderr.startswith(
        f"{file}: {used} ({counts['train']} in train, {counts['dev']} in dev): they say little"
    )
    own_test = invoke("evaluate", model, "--json")
    assert (json.loads(own_test.stdout)["seen"], own_test.stderr) == (0, "")


@pytest.mark.parametrize("settings", [[], ["--set", "data.seed=5"]], ids=["sorted", "another seed"])
def test_a_file_that_changed_keeps_its_split(own, file, tmp_path, settings):
    model, _ = own
    tested = split_of(invoke, tmp_path, model)
    header, *rows = file.read_text().splitlines()
    before = file.read_text()
    try:
        file.write_text("\n".join([header, *sorted(rows, key=lambda row: row[::-1]), "f100,Brand new film.,1"]) + "\n")
        done = invoke("evaluate", model, "--json", *settings)
        assert f"{file}: not the texts or the split of training: 60 texts in the same split, 1 new, " in done.stderr
        assert json.loads(done.stdout)["seen"] == 0
        again = split_of(invoke, tmp_path, model, *settings)
    finally:
        file.write_text(before)
    new = again.pop("f100")
    assert new in ("train", "dev", "test")
    assert again == tested


def test_baselines_of_a_file_that_was_sorted(pair_model, pair_file, tmp_path):
    """The same test texts have the same bag of words; with another label, they have not."""
    before = pair_file.read_text()
    header, *rows = before.splitlines()
    expected = json.loads(invoke("evaluate", pair_model, "--json").stdout)
    trained = load_model(pair_model).about["baselines"]
    assert expected["bag_of_words"] == trained["bag of words"]["test"]
    assert expected["majority"] == trained["majority"]["test"]
    try:
        pair_file.write_text("\n".join([header, *sorted(rows)]))
        result = json.loads(invoke("evaluate", pair_model, "--json").stdout)
        assert result["fingerprint"] != expected["fingerprint"]
        assert {**result, "fingerprint": None} == {**expected, "fingerprint": None}
        invoke("report", pair_model, "--no-statistics", "--out", tmp_path / "page.html")
        assert "not measured on these texts" not in (tmp_path / "page.html").read_text()
        pair_file.write_text(before.replace("same", "odd").replace("other", "same").replace("odd", "other"))
        assert "– (not measured on these texts)" in invoke("evaluate", pair_model).stdout
    finally:
        pair_file.write_text(before)


def split_of(run, folder, model, *settings):
    """The split of each film, as it is exported."""
    out = folder / "split.csv"
    done = run("data", model, "--split-out", out, "--json", *settings)
    with out.open(newline="") as stream:
        exported = list(csv.DictReader(stream))
    file = json.loads(done.stdout)["data"]
    ids = [line.split(",")[0] for line in Path(file).read_text().splitlines()]
    return {ids[int(row["where"].rsplit(" ", 1)[1]) - 1]: row["split"] for row in exported}


def test_the_split_is_exported(own, file, tmp_path):
    model, _ = own
    split = split_of(invoke, tmp_path, model)
    counts = load_model(model).about["documents"]
    assert {name: list(split.values()).count(name) for name in counts} == counts
    for name in (["csv"], ["documents/none"], []):
        invoke("data", *name, "--data", file, "--split-out", tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_text() == (tmp_path / "split.csv").read_text()
    assert (
        (tmp_path / "again.csv").read_text().startswith(f'text,split,label,where\n1,{split["f0"]},1,"{file}, row 2"\n')
    )


def test_a_model_without_kept_splits(own, file, tmp_path):
    bare = load_model(own[0])
    shutil.copytree(own[0], tmp_path / "bare")
    bare.splits = None
    save_model(bare, tmp_path / "bare", replace=True)
    assert not (tmp_path / "bare" / "splits.safetensors").exists()
    done = invoke("evaluate", tmp_path / "bare", "--data", file, "--json")
    said = f"{file}: it is not known which of these texts the model was trained on\n"
    assert (json.loads(done.stdout)["seen"], done.stderr) == (None, said)
    done = invoke("evaluate", tmp_path / "bare", "--json")
    assert (json.loads(done.stdout)["seen"], done.stderr) == (None, ""), "its own test texts"
    done = invoke("evaluate", tmp_path / "bare", "--set", "data.seed=5", "--json")
    assert done.stderr == said, "another split of the same texts"


def test_damaged_splits(own, tmp_path):
    shutil.copytree(own[0], tmp_path / "bad")
    (tmp_path / "bad" / "splits.safetensors").write_bytes(b"")
    assert "splits.safetensors: truncated or changed since it was saved" in refusal("evaluate", tmp_path / "bad")
    (tmp_path / "bad" / "splits.safetensors").unlink()
    assert "splits.safetensors: missing; expected a whole model" in refusal("evaluate", tmp_path / "bad")


def test_report_and_analyse_say_what_was_seen(pair_model, pair_file, tmp_path):
    """Sentence pairs with many copies, which stay together."""
    trained = load_model(pair_model).about["documents"]
    used = trained["train"] + trained["dev"]
    page = tmp_path / "page.html"
    done = invoke("report", pair_model, pair_file, "--no-statistics", "--out", page)
    assert f"{used} of 60 texts were used in training" in done.stderr
    scores = page.read_text().partition("<main>")[2].partition("<section")[0]
    assert f"<strong>{used} of 60 texts were used in training (" in scores, "beside the scores"
    assert pair_file.name in page.read_text()
    invoke("report", pair_model, "--no-statistics", "--out", page)
    assert "were used in training" not in page.read_text()
    done = invoke("analyse", pair_model, pair_file, "--no-ablation", "--resamples", 0, "--json")
    result = json.loads(done.stdout)
    assert (result["seen"], result["data"], result["split"]) == (used, str(pair_file), "all")
    done = invoke("analyse", pair_model, pair_file, "--no-ablation", "--resamples", 0)
    assert done.stdout.startswith(f"all texts of {pair_file}: 60 texts, ")
    assert json.loads(invoke("analyse", pair_model, "--no-ablation", "--resamples", 0, "--json").stdout)["seen"] == 0
