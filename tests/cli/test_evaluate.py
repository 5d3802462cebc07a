import json
import re
import shutil

import pytest

from tests.cli.running import CORPUS, invoke, options, refusal
from tests.models.building import documents_with_ngrams
from treetext.models import load_model, save_model


def evaluated(*arguments):
    return json.loads(invoke("evaluate", *arguments, "--json").stdout)


def test_scores_are_those_of_training(model):
    result = evaluated(model)
    assert result["accuracy"] == load_model(model).about["scores"]["test"]
    assert (result["split"], result["documents"], result["empty"]) == ("test", CORPUS["data.hidden_trees.test"], 0)
    assert sum(map(sum, result["confusion"])) == 30
    assert result["majority"] == 0.5
    right = sum(result["confusion"][i][i] for i in range(2))
    assert result["accuracy"] == right / 30
    assert evaluated(model, "--split", "train")["documents"] == 60


def test_all_scores_as_json(model):
    result = evaluated(model)
    assert result["macro_f1"] == pytest.approx(sum(each["f1"] for each in result["classes"]) / 2)
    assert [each["label"] for each in result["classes"]] == result["labels"]
    assert sum(each["texts"] for each in result["reliability"]) == 30
    assert 0 <= result["ece"] <= 1
    measures = load_model(model).about["measures"]["test"]
    assert {name: result[name] for name in measures} == measures
    assert result["log_loss"] > 0


def test_table(model):
    printed = invoke("evaluate", model).stdout
    result = evaluated(model)
    assert f"accuracy             {100 * result['accuracy']:.1f}\n" in printed
    assert f"macro-F1             {100 * result['macro_f1']:.1f}\n" in printed
    assert f"calibration error    {100 * result['ece']:.1f} (expected calibration error, 15 bins of equal" in printed
    scores, confusions = printed.split("Scores by class")[1].split("Confusion matrix")
    for each, row in zip(result["classes"], result["confusion"], strict=True):
        [line] = [line for line in scores.splitlines() if line.startswith(f"{each['label']} ")]
        figures = [each[name] for name in ("precision", "recall", "f1")]
        told = ["–" if figure is None else f"{100 * figure:.1f}" for figure in figures]
        assert line.split()[1:] == [str(each["texts"]), str(each["predicted"]), *told]
        [line] = [line for line in confusions.splitlines() if line.startswith(f"{each['label']} ")]
        assert line.split()[1:] == [*map(str, row)]


def test_many_classes_show_their_largest_confusions(tmp_path):
    """Thirteen classes; the most frequent one is predicted for all."""
    rows = [f"some text,class {max(0, i)}" for i in range(-5, 13)]
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    out = tmp_path / "model"
    invoke("train", "documents/majority", "--data", tmp_path, "--out", out)
    printed = invoke("evaluate", out).stdout
    assert "Confusion matrix" not in printed
    assert "12 pairs of classes are confused; `treetext evaluate --json` has the whole matrix." in printed
    [line] = [line for line in printed.splitlines() if line.startswith("class 7 ") and "class 0" in line]
    assert line.split()[-2:] == ["1", "100.0"]
    first = ", ".join(f"class {i}" for i in (1, 10, 11, 12, 2, 3, 4, 5, 6, 7))
    assert f"never predicted      {first} and 2 more\n" in printed
    result = evaluated(out)
    assert [sum(row) for row in result["confusion"]] == [6] + [1] * 12
    assert len(result["never_predicted"]) == 12


def test_bag_of_words(model, tmp_path):
    def told(*arguments):
        [line] = [x for x in invoke("evaluate", out, *arguments).stdout.splitlines() if x.startswith("bag of words")]
        return line.removeprefix("bag of words").strip()

    out, loaded = tmp_path / "model", load_model(model)
    loaded.about.pop("baselines", None)
    save_model(loaded, out)
    assert told() == "– (not measured in training)"
    loaded.about["baselines"] = {"bag of words": {"dev": 0.625, "test": 0.75}}
    save_model(loaded, out, replace=True)
    assert told() == "75.0"
    assert told("--split", "dev") == "62.5"
    assert told("--split", "train") == "– (not measured on train)"
    assert told(*options({"data.hidden_trees.seed": 9})) == "– (not measured on these texts)"
    assert evaluated(out)["bag_of_words"] == 0.75
    assert evaluated(out, "--split", "train")["bag_of_words"] is None


def test_parts(model, tmp_path):
    """Of a model with n-grams beside its trees; others have none."""
    assert evaluated(model)["parts"] is None
    out, path = tmp_path / "model", tmp_path / "texts.csv"
    save_model(documents_with_ngrams(), out)
    texts = ["the dog slept,good", "a film,bad", "not bad,so-so", "the plot was good,good"]
    path.write_text("\n".join(["text,label", *texts]) + "\n")
    result = evaluated(out, "--data", path)
    assert set(result["parts"]) == {"ngrams", "trees", "gain"}
    assert result["parts"]["gain"]["value"] == pytest.approx(result["accuracy"] - result["parts"]["ngrams"])
    printed = invoke("evaluate", out, "--data", path).stdout.splitlines()
    told = {line[:19].strip(): line[19:].strip() for line in printed}
    assert told["n-grams alone"] == f"{100 * result['parts']['ngrams']:.1f}"
    assert told["trees alone"] == f"{100 * result['parts']['trees']:.1f}"
    assert re.fullmatch(r"[+-]\S+ points \(95% interval \S+ to \S+\)", told["the trees add"])


def test_other_generated_texts(model):
    other = evaluated(model, *options({"data.hidden_trees.seed": 9, "data.hidden_trees.test": 40}))
    assert other["documents"] == 40
    assert other["fingerprint"] != evaluated(model)["fingerprint"]


def test_all_of_a_file_or_its_split(pair_model, pair_file):
    sizes = load_model(pair_model).about["documents"]
    assert sum(sizes.values()) == 60
    assert 0 < sizes["test"] < 20, "about a tenth, since copies of a pair stay together"
    assert evaluated(pair_model)["documents"] == sizes["test"]
    assert evaluated(pair_model, "--data", pair_file)["documents"] == 60
    assert told_data(pair_model) == f"{pair_file}, test"
    assert told_data(pair_model, "--data", pair_file) == f"all texts of {pair_file}"
    assert told_data(pair_model, "--data", pair_file, "--split", "dev") == f"{pair_file}, dev"
    assert [evaluated(pair_model, *more)["split"] for more in ([], ["--data", pair_file])] == ["test", "all"]
    assert evaluated(pair_model, "--data", pair_file, "--split", "dev")["documents"] == sizes["dev"]


def told_data(*arguments):
    return invoke("evaluate", *arguments).stdout.splitlines()[0].removeprefix("data").strip()


def test_file_of_another_format_and_columns(model, tmp_path):
    rows = [{"body": "some text", "answer": "p1"}, {"body": "", "answer": "p2"}, {"body": None, "answer": "p1"}]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = options({"data.text": "body", "data.label": "answer"})
    result = evaluated(model, "--data", tmp_path / "mine.jsonl", *settings)
    assert (result["documents"], result["empty"]) == (3, 2)
    assert "2 (predicted: the most frequent class)" in invoke(
        "evaluate", model, "--data", tmp_path / "mine.jsonl", *settings
    ).stdout  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_shipped_model_reads_tables(ending, tmp_path):
    """The ending of the file says its format, and not the data that the model was trained on."""
    path = tmp_path / f"mine.{ending}"
    path.write_text(
        "said,vote\nI support this bill.,Y\nI oppose it.,N\n".replace(",", {"csv": ",", "tsv": "\t"}[ending])
    )
    done = invoke("evaluate", "debates", "--data", path, "--json")
    assert json.loads(done.stdout)["documents"] == 2
    assert f"{path}: text in column 'said', label in column 'vote'\n" in done.stderr


def test_model_without_a_recipe(model, tmp_path):
    bare = load_model(model)
    bare.about = {}
    save_model(bare, tmp_path / "bare")
    assert refusal("evaluate", tmp_path / "bare") == "the model does not say what it was trained on; expected --data"
    (tmp_path / "mine.csv").write_text("text,label\nsome text,p1\n")
    assert evaluated(tmp_path / "bare", "--data", tmp_path / "mine.csv")["documents"] == 1


def test_refusals(model, pair_model, pair_file, tmp_path):
    assert "expected a setting of data, such as" in refusal("evaluate", model, "--set", "model.hidden=3")
    assert "data.txt: unknown; did you mean text?" in refusal("evaluate", pair_model, "--set", "data.txt=a")
    assert "'premise', 'hypothesis' may each be the text; expected one" in refusal(
        "evaluate", model, "--data", pair_file
    )
    (tmp_path / "test.csv").write_text(pair_file.read_text())
    message = refusal("evaluate", pair_model, "--data", tmp_path, "--split", "dev")
    assert message == f"{tmp_path}: no dev data; expected one of these splits: test"
    path = tmp_path / "odd.csv"
    path.write_text("premise,hypothesis,label\na,b,same\na,b,odd\n")
    message = refusal("evaluate", pair_model, "--data", path)
    assert f"{path}, row 3: label 'odd' is not among those of the training data; expected one of other, same" in message
    path.write_text("premise,label\na,same\n")
    assert "no column called 'hypothesis'" in refusal("evaluate", pair_model, "--data", path)
    invoke("evaluate", model, "--split", "nonsense", code=2)


@pytest.mark.parametrize("command", ["evaluate", "predict", "parse"])
def test_bad_models(command, model, tmp_path):
    assert "nowhere: no such directory" in refusal(command, tmp_path / "nowhere")
    assert "config.json: missing; expected a directory that holds a model" in refusal(command, tmp_path)
    bad = tmp_path / "bad"
    shutil.copytree(model, bad)
    (bad / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-100])
    assert "model.safetensors: truncated or changed" in refusal(command, bad)
    (bad / "model.safetensors").unlink()
    assert "model.safetensors: missing; expected a whole model" in refusal(command, bad)
    config = json.loads((bad / "config.json").read_text())
    (bad / "config.json").write_text(json.dumps({**config, "format": 99, "treetext": "9.1"}))
    assert "saved by treetext 9.1 in format 99, expected 2 or less: upgrade" in refusal(command, bad)
    (bad / "config.json").write_text(json.dumps(config)[:50])
    assert "config.json: not JSON" in refusal(command, bad)
