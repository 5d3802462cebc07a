"""Recipes and corpora."""

import json
import tomllib

import pytest

from tests.cli.running import CORPUS, invoke, options, refusal
from tests.data.readers.test_published import DEBATES, REVIEWS
from tests.data.readers.writing import write, write_corpus, write_rows
from treetext.data import corpus_formats, treebank_formats
from treetext.training import load_recipe, recipe_names


def test_recipes_are_listed():
    found = {recipe["name"]: recipe for recipe in json.loads(invoke("recipes", "--json").stdout)}
    assert list(found) == recipe_names()
    [line] = [line for line in invoke("recipes").stdout.splitlines() if line.startswith("documents/both ")]
    assert line.split(maxsplit=1) == ["documents/both", found["documents/both"]["about"]]


def without_nulls(values):
    """TOML has no null."""
    return {
        key: without_nulls(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value is not None
    }


@pytest.mark.parametrize("name", recipe_names())
def test_a_printed_recipe_is_the_recipe(name, tmp_path):
    """As TOML, which then works as a file, and as JSON."""
    place = {} if name.startswith("hidden-trees") else {"data.path": "here"}
    printed = invoke("recipes", name).stdout
    path = tmp_path / "recipe.toml"
    path.write_text(printed)
    assert load_recipe(path, place).model_dump(exclude={"data": {"path"}}) == load_recipe(name, place).model_dump(
        exclude={"data": {"path"}}
    )
    values = json.loads(invoke("recipes", name, "--json").stdout)
    assert "PATH" not in printed
    assert without_nulls(values) == tomllib.loads(printed)


def test_a_recipe_with_settings():
    settings = options({"model.hidden": 77, "data.classes": '{"a b" = "c\\u007f", d = "é"}'})
    values = tomllib.loads(invoke("recipes", "documents/both", *settings).stdout)
    assert values["model"]["hidden"] == 77
    assert values["data"]["classes"] == {"a b": "c\x7f", "d": "é"}


def test_recipe_refusals():
    assert "did you mean hidden?" in refusal("recipes", "hidden-trees/both", "--set", "model.hiden=3")
    assert "did you mean documents/both?" in refusal("recipes", "documents/bot")


def test_every_format_is_listed():
    """From the registries: a new reader needs no entry here."""
    printed = invoke("data").stdout
    corpora, treebanks = printed.split("Formats of treebanks, for treetext agree:")
    for listed, known in ((corpora, corpus_formats()), (treebanks, treebank_formats())):
        lines = dict(line.split(maxsplit=1) for line in listed.strip().splitlines()[1:])
        assert {name: about.strip() for name, about in lines.items()} == {
            name: each.about for name, each in known.items()
        }
    found = json.loads(invoke("data", "--json").stdout)
    assert found.pop("treebanks") == {name: each.about for name, each in treebank_formats().items()}
    assert found == {name: each.about for name, each in corpus_formats().items()}


def test_counts_of_a_recipes_data():
    result = json.loads(invoke("data", "hidden-trees/both", "--json", *options(CORPUS)).stdout)
    assert {part["split"]: part["documents"] for part in result["splits"]} == {
        "train": 60, "dev": 20, "test": 30, "all": 110
    }  # fmt: skip
    assert result["splits"][-1]["classes"] == {"p1": 55, "p2": 55}
    printed = invoke("data", "hidden-trees", *options(CORPUS)).stdout
    assert printed.splitlines()[1].split()[:2] == ["train", "60"]
    assert result["fingerprint"].startswith(printed.split()[-1])


def test_counts_of_own_files(tmp_path, pair_file):
    path = tmp_path / "mine.csv"
    path.write_text('body,stars\n"One two. Three.",5\n\n"",1\nfour,5\n')
    settings = options({"data.text": "body", "data.label": "stars", "data.split": [1, 0, 0]})
    for name in ("csv", "documents/none"):
        result = json.loads(invoke("data", name, "--data", path, "--json", *settings).stdout)
        [train, _] = result["splits"]
        assert (train["documents"], train["words"], train["sentences"], train["empty"]) == (3, 2.0, 1.0, 1)
        assert train["classes"] == {"5": 2, "1": 1}
        assert result["notes"] == [f"{path}: 1 blank line left out"]
        assert result["vocabulary"] == 5
    done = invoke("data", "csv", "--data", path, *settings)
    assert done.stderr == f"{path}: 1 blank line left out\n"
    assert "2: 5 66.7%, 1 33.3%" in done.stdout
    pairs = ["--data", pair_file, *options({"data.text": "premise", "data.second": "hypothesis"})]
    assert json.loads(invoke("data", "csv", *pairs, "--json").stdout)["splits"][-1]["sentences"] == 2


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    """A small corpus in each format, but for those that are generated."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hub-cache")
    rows = [(f"Tea is hot number {i}. Yes.", "xy"[i % 2]) for i in range(20)]
    parse = {"sentence1_binary_parse": "( Tea ( is hot ) )", "sentence2_binary_parse": "( Tea boils )"}
    pairs = [{"sentence1": "Tea is hot", "sentence2": "Tea boils", "gold_label": label, **parse} for label in "xy" * 10]
    (tmp_path / "on-the-hub").mkdir()
    write_rows(tmp_path / "on-the-hub" / "all.csv", rows)
    snli = write(tmp_path / "snli.jsonl", "".join(f"{json.dumps(pair)}\n" for pair in pairs))
    return {
        **{kind: write_rows(tmp_path / f"mine.{kind}", rows) for kind in ("csv", "tsv", "jsonl", "parquet")},
        "aclimdb": write_corpus(tmp_path / "imdb", REVIEWS),
        "convote": write_corpus(tmp_path / "convote", DEBATES),
        "csfd": write_corpus(tmp_path / "csfd", {"positive.txt": "Ano.\nJo.\n", "negative.txt": "Ne.\n"}),
        "hub": str(tmp_path / "on-the-hub"),
        "snli": snli,
        "snli-parses": snli,
        "split": write(tmp_path / "own.split", "".join(f"{y}<split1>{x}<split2>Yes.\n" for x, y in rows)),
        "ss": write(tmp_path / "own.ss", "".join(f"u\t\tp\t\t{y}\t\t{x} <sssss> Yes .\n" for x, y in rows)),
    }


def test_every_format_is_read(corpora):
    generated = {name for name, reader in corpus_formats().items() if reader.generated}
    assert {*corpora, *generated} == set(corpus_formats()), "a new format belongs in here"
    for name, path in corpora.items():
        result = json.loads(invoke("data", name, "--data", path, "--json").stdout)
        *_, whole = result["splits"]
        assert (result["data"], whole["split"]) == (path, "all"), name
        assert whole["documents"] == sum(whole["classes"].values()) > 1, name
        assert len(whole["classes"]) > 1, name
        assert result["vocabulary"] > 1, name
        assert invoke("data", name, "--data", path).stdout.startswith("split "), name


def test_counts_of_snli(tmp_path):
    pairs = [{"sentence1": "A cat sleeps", "sentence2": "It rests", "gold_label": label} for label in "xyxyxyxyxy"]
    path = tmp_path / "snli_1.0_train.jsonl"
    path.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    splits = json.loads(invoke("data", "snli", "--data", path, "--json").stdout)["splits"]
    assert (splits[-1]["documents"], splits[-1]["sentences"], splits[-1]["words"]) == (10, 2.0, 5.0)


def test_data_refusals(tmp_path):
    for name, reader in corpus_formats().items():
        if not reader.generated:
            assert refusal("data", name) == f"{name}: data.path: missing; expected the data by --data"
    assert "no such recipe" in refusal("data", "nonsense")
    assert refusal("data", "csv", "--data", tmp_path, "--set", "model.hidden=3") == (
        "model.hidden: no setting of data; expected a key like data.label"
    )
    assert "no such file or directory" in refusal("data", "convote", "--data", tmp_path / "none")
    assert "expected one of" in refusal("data", "hidden-trees", "--set", "data.language=nonsense", *options(CORPUS))
