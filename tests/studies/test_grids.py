"""Grids: cells say what the paper says, results were run by their cells, and mistakes are explained."""

import gzip
import json
import re
import runpy
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from studies.catalogue import STUDIES, find_run
from studies.grid import load_grid
from studies.known_trees.study import STUDY as KNOWN_TREES
from studies.liu_lapata_2018.grid import GRID
from studies.page import page
from studies.runs import Places
from tests.cli.running import OWN_SETTINGS
from tests.cli.running import invoke as treetext
from tests.studies.running import invoke, refusal
from treetext.data import BadInput, Vocabulary
from treetext.models import find_model
from treetext.training import load_recipe, load_template, recipe_names

ROOT = Path(__file__).parents[2]
CELLS = {name: cell for study in STUDIES for name, cell in study.grid.cells.items()}
ROWS = ("none", "simple", "sentence", "document", "both")
PUBLISHED = {
    **{f"yelp/{row}": score for row, score in zip(ROWS, (66.7, 67.7, 68.0, 67.8, 68.6), strict=True)},
    **{f"imdb/{row}": score for row, score in zip(ROWS, (47.5, 48.2, 48.8, 48.6, 49.2), strict=True)},
    **{f"czech/{row}": score for row, score in zip(ROWS, (80.5, 81.4, 81.5, 81.1, 82.1), strict=True)},
    **{f"debates/{row}": score for row, score in zip(ROWS, (73.7, 75.3, 74.6, 75.2, 76.5), strict=True)},
    **{"snli/none": 85.3, "snli/simple": 86.2, "snli/projective": 86.8, "snli/nonprojective": 86.9},
}
ATTENTION = {
    "none": ("none", "none"),
    "simple": ("simple", "simple"),
    "sentence": ("nonprojective", "none"),
    "document": ("none", "nonprojective"),
    "both": ("nonprojective", "nonprojective"),
}


def untrained(recipe, words=98, labels=("a", "b")):
    vocabulary = Vocabulary(["<pad>", "<unk>", *(f"w{i}" for i in range(words))])
    return find_model({"kind": recipe.model.kind})(recipe.model, list(labels), vocabulary=vocabulary)


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_is_a_recipe(name):
    recipe = load_template(CELLS[name].values)
    assert recipe.name == name
    assert recipe.about
    assert untrained(recipe).size > 0
    if recipe.model.kind.startswith("structured"):  # the paper's own rows; other systems are in files of their own
        assert CELLS[name].published == PUBLISHED.get(name.removesuffix("-125").removesuffix("-175"))


def test_every_row_of_the_paper_has_a_cell():
    assert set(PUBLISHED) <= set(CELLS)


def test_every_layer_is_used_and_every_row_run():
    for study in STUDIES:
        file = tomllib.loads((study.grid.folder / "grid.toml").read_text(encoding="utf-8"))
        assert {layer for cell in file["cells"].values() for layer in cell["layers"]} == set(file["layers"])
        run = set()
        for name, table in study.grid.tables.items():
            columns = [study.grid.column(name, column) for column in table.columns]
            assert {row for rows in columns for row in rows} == set(table.rows), name
            run |= {run.cell.name for run in study.grid.runs(name)}
        assert run == {name for name, cell in study.grid.cells.items() if cell.seeds}


@pytest.mark.parametrize("name", [name for name in PUBLISHED if not name.startswith("snli")])
def test_the_paper_s_sizes_for_documents(name):
    recipe, row = load_template(CELLS[name].values), name.split("/")[1]
    model, training = recipe.model, recipe.training
    assert model.embedding == 200
    assert model.semantic == 75
    assert model.structure == (0 if row == "none" else 25)
    assert (model.words.attention, model.sentences.attention) == ATTENTION[row]
    assert model.dropout == 0.3
    assert (training.optimizer, training.learning_rate, training.l2, training.batch_size) == ("adagrad", 0.05, 1e-4, 32)
    vocabulary = model.vocabulary
    assert vocabulary.min_count == 6, "more than five times"
    assert (vocabulary.vectors, vocabulary.skip_gram, vocabulary.window) == ("word2vec", False, 5)
    for level in (model.words, model.sentences):
        assert (level.encoder, level.pooling, level.children, level.activation) == ("bilstm", "max", True, "tanh")
    assert (model.layers, model.hidden) == (2, 150)
    assert recipe.data.folds == (10 if name.startswith("czech") else None)


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name.startswith("snli")])
def test_the_paper_s_sizes_for_pairs(name):
    recipe = load_template(CELLS[name].values)
    model, training = recipe.model, recipe.training
    assert (model.embedding, model.semantic, model.hidden, model.dropout) == (300, 100, 200, 0.2)
    assert model.structure == 50 or name == "snli/none"
    assert (training.optimizer, training.learning_rate, training.batch_size) == ("adagrad", 0.05, 32)
    assert model.words.attention == name.split("/")[1]


def test_numbers_of_parameters():
    cell = CELLS["debates/both"]
    assert 594_000 <= untrained(load_template(cell.values)).size <= 640_000
    wider = load_template(CELLS["debates/both-125"].values)
    assert 830_000 <= untrained(wider).size <= 860_000, "as the paper's table says: 75 + 50 with children"


@pytest.mark.parametrize("study", STUDIES, ids=[study.grid.folder.name for study in STUDIES])
def test_every_result_was_run_by_its_cell(study):
    """So that nothing that is done is done again."""
    files = [file for file in study.results.rglob("*.json") if file.stem not in study.measures]
    assert len(files) > 50
    for file in files:
        result = json.loads(file.read_text(encoding="utf-8"))
        run = find_run(result["run"])
        assert file == study.results / f"{run.name}.json"
        source = run.cell.source
        settings = {"seed": run.seed, **({"data.path": source.path} if source.path else {}), **source.files}
        expected = load_recipe(run.cell.values, settings)
        assert load_recipe(result["recipe"]).model_copy(update={"about": expected.about}) == expected, file


@pytest.mark.parametrize("table", [table for study in STUDIES for table in study.grid.tables])
def test_what_is_done_is_listed_as_done(table):
    """With the results of this checkout: each file of a run of the table shows its scores."""
    [study] = [study for study in STUDIES if table in study.grid.tables]
    listed = dict(line.split("\t", 1) for line in invoke(table, "--list").stdout.splitlines())
    assert list(listed) == [run.name for run in study.grid.runs(table)]
    done = {name: study.results / f"{name}.json" for name in listed if (study.results / f"{name}.json").exists()}
    assert len(done) >= 5
    for name, shown in listed.items():
        result = json.loads(done[name].read_text(encoding="utf-8")) if name in done else None
        assert shown == (f"dev {result['dev']:.4f}\ttest {result['test']:.4f}" if result else "not run")


def test_the_package_s_recipe_is_the_cell_of_its_name():
    [name] = set(recipe_names()) & set(CELLS)
    recipe = load_recipe(name)
    cell = load_recipe(CELLS[name].values)
    assert recipe.model_copy(update={"about": cell.about}) == cell


@pytest.mark.parametrize("name", ["czech/ours-both", "hidden-trees/option-alone.2"])
def test_a_printed_cell_is_a_recipe_file(name, tmp_path):
    path, run = tmp_path / "cell.toml", find_run(name)
    path.write_text(invoke("recipe", name, "--set", "model.hidden=77").stdout, encoding="utf-8")
    place = {"data.path": "x"} if run.cell.source.path else {}
    assert load_recipe(path, place) == load_recipe(
        run.cell.values, {**place, "seed": run.seed, "model.hidden": 77}
    )  # fmt: skip
    assert "PATH" not in path.read_text()


def test_a_printed_run_knows_its_data_and_trains(tmp_path):
    data = tmp_path / "data" / "yelp"
    data.mkdir(parents=True)
    lines = [f"It was {'good' if i % 2 else 'bad'}. We left.,{i % 2}" for i in range(40)]
    (data / "yelp.csv.gz").write_bytes(gzip.compress("\n".join(["text,stars", *lines]).encode()))
    path = tmp_path / "run.toml"
    path.write_text(invoke("recipe", "yelp/ours-both.2", "--data", tmp_path / "data").stdout, encoding="utf-8")
    settings = [*OWN_SETTINGS, "--set", "model.vocabulary.min_count=1"]
    done = json.loads(treetext("train", path, "--out", tmp_path / "model", "--json", *settings).stdout)
    assert (done["recipe"], done["seed"]) == ("yelp/ours-both", 2)


def test_cells_are_listed_with_published_scores():
    lines = [line.split(maxsplit=2) for line in invoke("recipe").stdout.splitlines()]
    assert ["snli/nonprojective", "86.9", CELLS["snli/nonprojective"].values["about"]] in lines
    assert {line[0] for line in lines[1:]} == set(CELLS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["yelp/bot"], "yelp/bot: no such cell; did you mean yelp/both?"),
        (["zzz"], "zzz: no such cell; `python -m studies recipe` lists all"),
        (["yelp/both.x"], "yelp/both.x: expected a number after the dot, the seed, as in yelp/both.1"),
        (["yelp/both", "--set", "model.hiden=3"], "yelp/both: model.hiden: unknown; did you mean hidden?"),
        (["yelp/both", "--data", "nowhere"], "nowhere/yelp/yelp.csv.gz: no such file or directory; expected it in"),
    ],
)
def test_refusals(arguments, complaint):
    assert complaint in refusal("recipe", *arguments)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'layers = ["hidden-trees", "none"]',
            'layers = ["hidden-trees", "nome"]',
            "none: no layer 'nome'; expected one",
        ),
        ('"hidden-trees/none" =', '"hiden-trees/none" =', "hiden-trees/none: no source 'hiden-trees'; expected one of"),
        ("gold = true", "golden = true", "sources.hidden-trees.golden: Extra inputs are not permitted"),
        ("gold = true", "gold = tru", "expected a grid in TOML"),
    ],
)
def test_mistakes_in_a_grid(old, new, complaint, tmp_path):
    text = (KNOWN_TREES.grid.folder / "grid.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "grid.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load_grid(tmp_path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_commands_of_runs():
    assert GRID.command(find_run("snli/ours-simple.1")) == "make reproduce TABLE=snli ONLY=snli/ours-simple.1 DATA=DIR"
    run = KNOWN_TREES.grid.run("hidden-trees/both", 4)
    assert KNOWN_TREES.grid.command(run) == "make reproduce TABLE=hidden-trees ONLY=hidden-trees/both.4"


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_reproduce():
    """What make would run, run here."""
    asked = ["TABLE=documents", "ONLY=debates/ours-both", "SEEDS=2", "DATA=some where", "LIST=1"]
    old = ["--old-file=setup", "--old-file=.venv/dev", "--old-file=.venv/kernels"]
    command = ["make", "--dry-run", "--no-print-directory", *old, "reproduce", *asked]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    program, *arguments = shlex.split(printed.replace("\\\n", " ")[printed.index(".venv/bin/python -m studies") :])
    assert (program, arguments[:2]) == (".venv/bin/python", ["-m", "studies"])
    listed = invoke(*arguments[2:]).stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == ["debates/ours-both.1", "debates/ours-both.2"]
    assert "some where" in arguments


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_reproduce_without_a_table():
    """Refused in one line, beside make's own."""
    old = ["--old-file=setup", "--old-file=.venv/dev", "--old-file=.venv/kernels"]
    command = ["make", "--no-print-directory", *old, "reproduce"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    first, *_ = done.stderr.splitlines()
    assert first == "TABLE: missing; expected a table, as in make reproduce TABLE=documents LIST=1"
    done = subprocess.run([*command, "TABLE=tables"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    first, *rest = done.stderr.splitlines()
    assert first.startswith("treetext: tables: no such table; expected one of documents, snli, ")
    assert all(re.match(r"make(\[\d+\])?: ", line) for line in rest), "also within make test"


def test_the_demo_finds_a_cell():
    assert runpy.run_path(str(ROOT / "examples" / "demo.py"))["cell_values"]("debates/ours-both")["data"]


def test_the_page_shows_the_results():
    kept = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    made = page([(study, Places(Path("data"), study.results, Path("models"))) for study in STUDIES])
    assert kept == made, "docs/results.md is out of date: run make reproduce"
