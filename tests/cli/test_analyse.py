import json

from tests.cli.running import CORPUS, OWN_SETTINGS, invoke, options, refusal
from treetext.analysis import FIGURES

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
    assert "The root has depth 1." in printed
    assert "Does the tree matter?" not in printed
    assert "Does the tree matter?" in invoke("analyse", model, *QUICK).stdout


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
    assert "no trees (attention of words: none, sentences: simple)" in refusal("analyse", bare)
    other = refusal("analyse", model, "--models", pair_model)
    assert "a model of pairs, but hidden-trees has documents" in other
    assert "no such directory" in refusal("analyse", model, "--models", tmp_path / "nowhere")
    assert not (tmp_path / "out.json").exists()
    assert "No such file" in refusal("analyse", model, "--out", tmp_path / "no" / "out.json")
