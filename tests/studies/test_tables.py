"""The paper's tables, on data sets of a few texts that are laid out as the real ones."""

import gzip
import json
import random
import re
import shutil
from pathlib import Path
from statistics import mean, variance

import pytest
from scipy.stats import t

from studies.__main__ import TABLES as NAMES
from studies.catalogue import STUDIES, find_run
from studies.liu_lapata_2018.grid import GRID
from studies.markdown import difference
from tests.cli.running import SETTINGS
from tests.studies.running import invoke, refusal

TABLES = {name: study.grid for study in STUDIES for name in study.grid.tables}

ONLY = ("--only", "hidden-trees/none", "--seeds", 2)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A table with one row of two seeds."""
    folder = tmp_path_factory.mktemp("reproduced")
    places = ("--results", folder / "results", "--models", folder / "models", "--out", folder / "results.md")
    first = invoke("hidden-trees", *places, *ONLY, *SETTINGS)
    return folder, places, first


def cells(page: str, start: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_first_seeds_come_first():
    runs = GRID.runs("documents")
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)
    assert len(set(runs)) == len(runs) == 2 * 5 * 5 + 2 + 5 * 2 + 3 * 2 + 2


def test_results_say_everything(done):
    folder, _, first = done
    files = sorted((folder / "results").rglob("*.json"))
    assert [file.name for file in files] == ["none-bilstm.1.json", "none-bilstm.2.json", "none.1.json", "none.2.json"]
    result = json.loads(files[2].read_text())
    assert {"recipe", "seed", "fingerprint", "parameters", "dev", "test", "epochs", "seconds", "machine"} <= set(result)
    cell = find_run("hidden-trees/none").cell
    assert cell.values["model"]["dropout"] == result["recipe"]["model"]["dropout"]
    assert "4 of 4: hidden-trees/none-bilstm.2: dev" in first.stderr


def test_page_has_the_mean_of_the_seeds(done):
    folder, _, _ = done
    tests = [json.loads((folder / f"results/hidden-trees/none.{i}.json").read_text())["test"] for i in (1, 2)]
    page = (folder / "results.md").read_text()
    assert cells(page, "No attention")[1] == "not run (73.7)"
    section = page[page.index("## Hidden trees") :]
    assert f"{50 * sum(tests):.1f} ± " in cells(section, "No attention")[1]
    assert cells(section, "Simple attention")[1] == "not run"
    assert cells(section, "hidden-trees: Simple attention")[1:] == ["not run", "–"]


def test_trees_of_words_alone_have_their_gold_arcs_counted(tmp_path):
    places = ("--results", tmp_path / "results", "--models", tmp_path / "models", "--out", tmp_path / "results.md")
    invoke("hidden-options", *places, "--only", "hidden-trees/option-alone", "--seeds", 1, *SETTINGS)
    found = json.loads((tmp_path / "results/hidden-trees/option-alone.1.json").read_text())["recovery"]
    assert set(found) == {"words"}
    page = (tmp_path / "results.md").read_text()
    title = TABLES["hidden-options"].tables["hidden-options"].rows["option-alone"]
    assert cells(page, f"{title}: words")[2] == f"{100 * found['words']['found']['arcs']:.1f}, n = 1 (chance 33.3)"
    assert f"{title}: sentences" not in page


@pytest.mark.parametrize(
    ("ours", "others"),
    [([80.0, 83.0, 81.0], [78.0, 79.5]), ([1.0, 2.0], [2.0, 1.0]), ([99.9, 99.9], [99.0, 98.0])],
)
def test_intervals_of_differences_are_those_of_welch(ours, others):
    """By the formulas of Welch (1947) and Satterthwaite (1946)."""
    mine, theirs = variance(ours) / len(ours), variance(others) / len(others)
    freedom = (mine + theirs) ** 2 / (mine**2 / (len(ours) - 1) + theirs**2 / (len(others) - 1))
    middle, error = mean(ours) - mean(others), t.ppf(0.975, freedom) * (mine + theirs) ** 0.5
    assert difference(ours, others) == f"{middle:+.1f} ({middle - error:+.1f} to {middle + error:+.1f})"


def test_intervals_need_seeds_that_differ():
    assert difference([80.0], [78.0, 79.0]) == "+1.5, one seed"
    assert difference([80.0, 81.0], []) == "not run"
    assert difference([2.0, 2.0], [1.0, 1.0]) == "+1.0, no deviation"


def test_what_is_done_is_not_done_again(done):
    folder, places, _ = done
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*.json")}
    again = invoke("hidden-trees", *places, *ONLY, *SETTINGS)
    assert "epoch" not in again.stderr
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.json")} == before


def test_a_lost_result_comes_from_its_model(done):
    folder, places, _ = done
    path = folder / "results/hidden-trees/none.1.json"
    before = json.loads(path.read_text())
    path.unlink()
    again = invoke("hidden-trees", *places, *ONLY, *SETTINGS)
    assert "epoch" not in again.stderr
    assert json.loads(path.read_text()) == before


def test_a_setting_that_came_later_had_its_default(done):
    folder, places, _ = done
    path = folder / "results/hidden-trees/none.1.json"
    result = json.loads(path.read_text())
    assert result["recipe"]["training"].pop("schedule") == "constant"
    path.write_text(json.dumps(result))
    again = invoke("hidden-trees", *places, *ONLY, *SETTINGS)
    assert "epoch" not in again.stderr
    assert json.loads(path.read_text()) == result


def test_what_a_recipe_says_of_itself_does_not_matter(done):
    folder, places, _ = done
    path = folder / "results/hidden-trees/none.2.json"
    result = json.loads(path.read_text())
    result["recipe"]["about"] = "in other words"
    path.write_text(json.dumps(result))
    assert "epoch" not in invoke("hidden-trees", *places, *ONLY, *SETTINGS).stderr


def test_another_recipe_is_run_again(done):
    _, places, _ = done
    again = invoke("hidden-trees", *places, *ONLY, "--seeds", 1, *SETTINGS, "--set", "model.hidden=9")
    assert "hidden-trees/none.1: was run with another recipe; again" in again.stderr
    assert "epoch   1" in again.stderr


def test_training_again_replaces_the_result(done):
    folder, places, _ = done
    path = folder / "results/hidden-trees/none-bilstm.2.json"
    before = json.loads(path.read_text())
    only = ("--only", "hidden-trees/none-bilstm.2", *SETTINGS)
    assert "epoch" not in invoke("hidden-trees", *places, *only).stderr
    again = invoke("hidden-trees", *places, *only, "--again").stderr
    assert "epoch   1" in again
    assert "1 of 1: hidden-trees/none-bilstm.2: dev" in again
    after = json.loads(path.read_text())
    assert {**after, "seconds": before["seconds"]} == before, "the same seed, the same model"


def test_one_run_by_its_name(tmp_path):
    listed = [invoke("hidden-trees", "--results", tmp_path, "--list", "--only", name).stdout.splitlines()
              for name in ("hidden-trees/none", "hidden-trees/none.", "hidden-trees/none.3")]  # fmt: skip
    assert [len(lines) for lines in listed] == [10, 5, 1]
    assert listed[2] == ["hidden-trees/none.3\tnot run"]


def test_listing_trains_nothing(tmp_path):
    listed = invoke("documents", "--results", tmp_path, "--list").stdout.splitlines()
    assert listed[0] == "debates/ours-none.1\tnot run"
    assert len(listed) == len(GRID.runs("documents"))
    assert list(tmp_path.iterdir()) == []


def test_data_of_the_directory(tmp_path):
    """Recipes whose data are files find them, results do not say where, and tables and figures come from the models."""
    chance, folder = random.Random(0), tmp_path / "data" / "yelp"
    folder.mkdir(parents=True)
    stars = [chance.choice("12") for _ in range(60)]
    lines = [f"I saw it. I {'liked' if x == '2' else 'hated'} it. A film. It was long. Bye.,{x}" for x in stars]
    text = "\n".join(["text,stars", *lines]).encode()
    (tmp_path / "data" / GRID.sources["yelp"].path).write_bytes(gzip.compress(text))
    places = ("--results", tmp_path / "r", "--models", tmp_path / "m", "--out", tmp_path / "page.md")
    small = [x for key in ("embedding", "semantic", "structure", "hidden") for x in ("--set", f"model.{key}=4")]
    more = (
        "--set",
        "training.epochs=1",
        "--set",
        "model.vocabulary.vectors=random",
        "--set",
        "model.vocabulary.min_count=1",
    )
    only = ("--only", "yelp/ours-both", "--seeds", 1, "--data", tmp_path / "data")
    tables = ("documents", "statistics", "sentence-trees", "document-trees", "figures")
    invoke(*tables, *places, *only, *small, *more)
    result = json.loads((tmp_path / "r/yelp/ours-both.1.json").read_text())
    assert result["recipe"]["data"]["path"] == "yelp/yelp.csv.gz"
    assert not any(str(tmp_path) in file.read_text() for file in (tmp_path / "r").rglob("*.json"))
    page = (tmp_path / "page.md").read_text()
    assert cells(page, "`yelp/ours-both.1`")[2] == f"{100 * result['test']:.1f}"
    assert "| Yelp (stand-in) | 2 (5) | 60 (335K) | 5.0 (8.9) |" in page
    trees = page[page.index("## Trees of sentences") :]
    assert re.fullmatch(r"\d+\.\d \(79\.6\); \d+\.\d / \d+\.\d", cells(trees, "projective trees, %")[1])
    assert cells(trees, "height")[2] == "not run (3.34)"
    drawn = [path.name for path in (tmp_path / "r/figures").iterdir()]
    assert drawn
    assert all(name.startswith("yelp-") for name in drawn)
    assert f"`figures/{drawn[0]}`" in page
    # Once is enough; what was measured on models that are gone stays; another model is measured anew.
    measured = ("document-trees", "figures")
    assert invoke(*measured, *places, *only, *small, *more).stderr == ""
    shutil.rmtree(tmp_path / "m")
    kept = json.loads((tmp_path / "r/document-trees.json").read_text())["figures"]["yelp"]
    for name, figures in (("document-trees", {"czech": kept}), ("figures", ["czech-first", "yelp-old"])):
        path = tmp_path / f"r/{name}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "figures": figures}))
    assert invoke(*measured, *places, *only, *small, *more).stderr == ""
    said = invoke("documents", *measured, *places, *only, *small, *more, "--set", "model.hidden=5").stderr
    assert "trees of sentences of Yelp" in said
    found = json.loads((tmp_path / "r/document-trees.json").read_text())["figures"]
    assert set(found) == {"czech", "yelp"}
    assert found["czech"] == kept
    names = json.loads((tmp_path / "r/figures.json").read_text())["figures"]
    assert names[0] == "czech-first"
    assert "yelp-old" not in names
    assert len(names) > 1


def test_the_command_knows_all_tables():
    assert list(NAMES) == [name for study in STUDIES for name in study.names]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("tables",), "tables: no such table; expected one of documents, snli, statistics"),
        (("snli", "--data", "nowhere"), "nowhere/snli: no such file or directory; expected it in the directory"),
        (("documents", "--only", "snli/"), "--only snli/: no such run of documents; --list without --only"),
    ],
)
def test_refusals(tmp_path, arguments, complaint):
    places = ("--results", tmp_path / "r", "--models", tmp_path / "m", "--out", tmp_path / "p.md")
    assert complaint in refusal(*arguments, *places)
    assert list(tmp_path.iterdir()) == []


def test_names_of_runs():
    run = find_run("snli/ours-none.2")
    assert (run.name, run.seed, run.cell.name) == ("snli/ours-none.2", 2, "snli/ours-none")
    assert find_run("snli/ours-none").seed == 1
    assert Path(run.name).suffix == ".2"
