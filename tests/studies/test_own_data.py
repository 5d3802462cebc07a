"""The study of users' own files: its subsamples, its systems on a small file, and its page."""

import csv
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from studies.own_data.__main__ import RESULTS, run_one, scores_of, write_page
from studies.own_data.page import page
from studies.own_data.sets import make_set
from studies.own_data.systems import Scored, changed

TEXTS = 100
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A subsample of 40 reviews, whose stars are told by one of their words."""
    data, random = tmp_path_factory.mktemp("data"), Random(1)
    (data / "yelp").mkdir()
    with (data / "yelp" / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "stars"])
        for i in range(TEXTS):
            words = [random.choice("abcdef") * 2 for _ in range(5)]
            rows.writerow([" ".join([*words, f"number{i}", "bad" if i % 3 else "good"]), 1 if i % 3 else 5])
    return make_set(data, data / "work", "yelp", 40, 1)


def texts_of(path):
    return {json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()}


def test_a_text_is_in_one_file_only(folder):
    sizes = {path.stem: len(texts_of(path)) for path in folder.glob("*.jsonl")}
    assert sizes == {"train": 36, "dev": 4, "test": 25, "more": 35}
    assert len(set.union(*map(texts_of, folder.glob("*.jsonl")))) == TEXTS


def test_systems_on_a_small_file(folder, tmp_path):
    for system, least in (("majority", 0.5), ("tf-idf", 0.9), ("vectors", 0.6)):
        run_one(system, folder, 1, tmp_path / "result.json")
        row = json.loads((tmp_path / "result.json").read_text())["rows"]["whole"]
        assert row["texts"] == 25
        assert least <= row["accuracy"] <= 1


def test_changes_are_scored_on_texts_that_were_not_drawn(folder):
    scored = changed("rare")(folder, 1)
    assert scored.keys() == {"whole"}, "the trees alone"
    assert len(scored["whole"].labels) == 35


def test_the_page_compares_text_by_text():
    truth = np.array(["x"] * 10)
    ours, theirs = (scores_of(Scored(["x"] * right + ["y"] * (10 - right), 1.0, {}), truth) for right in (9, 7))
    results = {
        (f"yelp-500.{seed}", system): {"rows": {"whole": row}, "cpu_seconds": 1, "megabytes": 2}
        for seed in (1, 2)
        for system, row in (("default", ours), ("tf-idf", theirs))
    }
    made = page(results)
    assert "The default is +20.0 points above tf-idf on the mean over 1 of 14 sets, and at or above it on 1" in made
    row = next(line for line in made.splitlines() if line.startswith("| yelp-500 | not run | 70.0 ± 0.0"))
    assert "| 90.0 ± 0.0 |" in row
    assert "+20.0 (+" in made, "an interval of the differences"


def test_the_page_shows_the_results(tmp_path):
    assert len(list(RESULTS.glob("*/*.json"))) > 10
    write_page(tmp_path / "page.md")
    kept = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    assert kept == (tmp_path / "page.md").read_text(encoding="utf-8"), "run python -m studies.own_data run"
