import json
import re

from tests.cli.running import CORPUS, OWN_SETTINGS, invoke, options, refusal
from treetext.evaluation import FIGURES

QUICK = ("--resamples", "50")


def analysed(*arguments):
    return json.loads(invoke("analyse", *arguments, *QUICK, "--json").stdout)


def test_all_figures_as_json(model, tmp_path):
    found = analysed(model, "--out", tmp_path / "figures.json")
    assert json.loads((tmp_path / "figures.json").read_text()) == found
    assert found["documents"] == CORPUS["data.hidden_trees.test"]
    accuracy = json.loads(invoke("evaluate", model, "--json").stdout)["accuracy"]
    assert found["accuracy"]["value"] == found["ablation"][0]["accuracy"]["value"] == accuracy
    for level in ("words", "sentences"):
        assert set(found[level]["figures"]) >= {"model", "untrained", "random", "star", "gold"}
        assert set(found[level]["figures"]["model"]) == set(FIGURES)
    assert analysed(model) == found, "the same seed, the same figures"


def test_tables(model):
    printed = invoke("analyse", model, *QUICK, "--no-ablation").stdout
    found = analysed(model, "--no-ablation")
    assert found["ablation"] == []
    height = found["words"]["figures"]["model"]["height"]
    [line, _] = [line for line in printed.splitlines() if line.startswith("height ")]
    assert line.split()[1:5] == [f"{height['value']:.2f}", f"{height['low']:.2f}", "to", f"{height['high']:.2f}"]
    accuracy = found["accuracy"]
    bounds = f"{100 * accuracy['low']:.1f} to {100 * accuracy['high']:.1f}"
    summary = f"hidden-trees, test: 30 texts, accuracy {100 * accuracy['value']:.1f} (95% interval {bounds})\n"
    assert printed.startswith(summary)
    assert "The root has depth 1." in printed
    assert "Does the tree matter?" not in printed
    assert "Does the tree matter?" in invoke("analyse", model, *QUICK).stdout


def test_verdict_is_the_last_thing_said(model):
    printed = invoke("analyse", model, *QUICK).stdout
    found = analysed(model)["verdict"]
    assert len(found) == 3
    assert printed.endswith("\n\nVerdict\n\n" + "\n".join(found) + "\n")
    assert "matter" in found[0]
    assert "trees of sentences" in found[1].lower()
    assert analysed(model, "--no-ablation")["verdict"] == [
        "Whether trees matter for the label was not measured: there is no ablation.",
        *found[1:],
    ]


def test_narrow_terminals(model, monkeypatch):
    """Columns that do not fit are printed below, beside the names of the rows once more."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    for width, parts in ((80, 2), (200, 1)):
        monkeypatch.setenv("COLUMNS", str(width))
        printed = re.sub(r"\x1b\[[\d;]*m", "", invoke("analyse", model, *QUICK).stdout)
        assert max(map(len, printed.splitlines())) <= width
        assert len(re.findall("(?m)^vacuous: all hang from one node, % ", printed)) == 2 * parts


def test_several_models(model):
    found = analysed(model, "--models", model, "--no-ablation")
    [same] = [each for each in found["words"]["agreement"] if each["second"] == str(model)]
    assert same["heads"]["value"] == 1


def test_other_data(model, pair_model, pair_file, tmp_path):
    assert analysed(model, "--split", "dev", "--no-ablation")["documents"] == CORPUS["data.hidden_trees.dev"]
    pairs = analysed(pair_model, pair_file)
    assert (pairs["documents"], pairs["sentences"]) == (60, None)
    assert pairs["words"]["trees"] == 120
    (tmp_path / "mine.csv").write_text("text,label\nsome text. more of it.,p1\nother text,p2\n")
    found = analysed(model, tmp_path / "mine.csv", *options({"data.format": "csv"}))
    assert (found["documents"], found["words"]["trees"]) == (2, 3)


def test_refusals(model, pair_model, reviews, tmp_path):
    bare = tmp_path / "bare"
    settings = options({"model.words.attention": "none", "model.sentences.attention": "simple", "data.text": "review"})
    settings += options({"data.label": "stars"})
    invoke("train", "documents/both", "--data", reviews, "--out", bare, *OWN_SETTINGS, *settings)
    assert "the model has no trees of words or sentences; expected projective or nonprojective attention" in refusal(
        "analyse", bare
    )
    assert f"{bare}: a model without trees" in invoke("parse", bare, stdin="Some text.").stderr
    other = refusal("analyse", model, "--models", pair_model)
    assert "a model of pairs, but hidden-trees has documents" in other
    assert "no such directory" in refusal("analyse", model, "--models", tmp_path / "nowhere")
    assert "nowhere: no such directory" in refusal("analyse", tmp_path / "nowhere", "--out", tmp_path / "out.json")
    assert "no column called 'premise'" in refusal("analyse", pair_model, reviews, "--out", tmp_path / "out.json")
    assert not list(tmp_path.glob("out.json*")), "nothing is left behind"
    assert "no such directory" in refusal("analyse", model, "--out", tmp_path / "no" / "out.json")
    assert "a directory; expected a file to write" in refusal("analyse", model, "--out", tmp_path)
    assert "row 2: label '1' is not among those of the training data" in refusal("analyse", model, reviews)
