"""Small models, trained once for all tests of the command line."""

import os
import random

import pytest

from tests.cli.running import PAIR_SETTINGS, SETTINGS, invoke


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "100")
        yield os.environ["TREETEXT_CACHE"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A model of documents, and what the command printed when it was trained."""
    out = tmp_path_factory.mktemp("documents") / "a model"
    return out, invoke("train", "hidden-trees/both", "--out", out, *SETTINGS)


@pytest.fixture(scope="session")
def model(trained):
    return trained[0]


@pytest.fixture(scope="session")
def pair_file(tmp_path_factory):
    """Pairs of sentences as a CSV file. One word gives the label away, also to a bag of words."""
    chance = random.Random(0)
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    rows = [(chance.choice("abc"), chance.choice("abc")) for _ in range(60)]
    lines = [
        f"the {first} sleeps,a {second} sleeps too .,same"
        if first == second
        else f"the {first} sleeps,a {second} sleeps .,other"
        for first, second in rows
    ]
    path.write_text("\n".join(["premise,hypothesis,label", *lines]))
    return path


@pytest.fixture(scope="session")
def pair_model(tmp_path_factory, pair_file):
    out = tmp_path_factory.mktemp("pairs") / "model"
    invoke("train", "pairs/nonprojective", "--data", pair_file, "--out", out, *PAIR_SETTINGS)
    return out


@pytest.fixture
def reviews(tmp_path):
    """A user's own table, whose columns have names of their own."""
    path = tmp_path / "reviews.tsv"
    rows = [f"{'good' if i % 2 else 'bad'} film number {i % 7}. I saw it.\t{1 + i % 2}" for i in range(50)]
    path.write_text("\n".join(["review\tstars", *rows]) + "\n")
    return path
