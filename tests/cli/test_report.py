import json
import re
from html import escape

from tests.cli.running import OWN_SETTINGS, invoke, options, refusal
from treetext.models import load_model, save_model


def data(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])


def test_a_report_of_the_test_data(model, tmp_path):
    out = tmp_path / "a report.html"
    done = invoke("report", model, "--out", out)
    assert done.stdout.startswith(f"{out}: 0.")
    assert out.resolve().as_uri() in done.stdout
    page = out.read_text()
    assert len(data(page)["documents"]) == 30
    assert "Epoch that was kept" in page
    assert "Most frequent class" in page
    assert str(tmp_path) not in page
    assert f"{100 * load_model(model).about['scores']['test']:.1f}%" in page
    pictures = ("Confusion matrix", "Reliability diagram", "Scores by class", "Macro-F1", "Bag of words")
    statistics = ("Trees of words", "Trees of sentences", "random trees", "Does the tree matter?", "Dev accuracy")
    for expected in (*pictures, *statistics):
        assert expected in page
    verdict = json.loads(invoke("analyse", model, "--json").stdout)["verdict"]
    assert all(f"<p>{escape(sentence)}</p>" in page for sentence in verdict)
    assert invoke("report", model, "--out", out).stdout == done.stdout
    assert out.read_text() == page, "the same again"


def test_parts_of_it(model, tmp_path):
    out = tmp_path / "report.html"
    invoke("report", model, "--out", out, "--documents", 7, "--split", "train", "--no-statistics")
    page = out.read_text()
    assert len(data(page)["documents"]) == 7
    assert "7 of the 60 texts, drawn at random." in page
    assert "Trees of words" not in page


def test_other_models_are_in_the_statistics(model, tmp_path):
    out = tmp_path / "report.html"
    invoke("report", model, "--models", model, "--out", out, "--documents", 1)
    page = out.read_text()
    assert "this model – model 2" in page
    assert str(model) not in page
    keys = re.search(r'<ul class="keys">(.*?)</ul>', page)[1]
    marks = re.findall(r"<li><svg[^>]*>(.*?)</svg>[^<]+</li>", keys)
    assert len(marks) == len(set(marks)) == 8, "each kind of trees has a mark of its own"


def test_pairs_and_files(pair_model, pair_file, tmp_path):
    out = tmp_path / "report.html"
    path = tmp_path / "pairs.csv"
    path.write_text(pair_file.read_text() + "\n,only one side,same\n,,other\n")
    invoke("report", pair_model, path, "--out", out)
    page = out.read_text()
    found = data(page)["documents"]
    assert len(found) == 62
    assert {document["name"].partition(", ")[0] for document in found} == {"pairs.csv"}
    assert str(tmp_path) not in page, "folders of this machine are nobody's business"
    assert sorted(document["sentences"] for document in found)[:2] == [0, 1]
    assert "2 without words" in page
    assert "on all texts of pairs.csv</h1>" in page, "the file that was read"


def test_bag_of_words_stands_beside(model, tmp_path):
    loaded = load_model(model)
    loaded.about["baselines"] = {"bag of words": {"test": 0.625}}
    save_model(loaded, tmp_path / "model")
    told = {}
    for split in ("test", "dev"):
        invoke("report", tmp_path / "model", "--out", tmp_path / "a.html", "--no-statistics", "--split", split)
        told[split] = re.search("<dt>Bag of words</dt><dd>(.*?)</dd>", (tmp_path / "a.html").read_text())[1]
    assert told["test"].startswith("62.5%<small>")
    assert told["dev"] == "–<small>not measured on dev</small>"


def test_a_model_without_trees(tmp_path, reviews):
    columns = {"data.text": "review", "data.label": "stars"}
    kinds = {"model.words.attention": "simple", "model.sentences.attention": "none"}
    settings = [*OWN_SETTINGS, *options(columns | kinds)]
    invoke("train", "documents/both", "--data", reviews, "--out", tmp_path / "model", *settings)
    invoke("report", tmp_path / "model", "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "this model has no trees" in page
    assert "<p>The model has no trees.</p>" in page


def test_refusals(model, tmp_path):
    out = tmp_path / "report.html"
    assert "nowhere: no such directory" in refusal("report", tmp_path / "nowhere", "--out", out)
    assert "no such directory" in refusal("report", model, "--out", tmp_path / "no" / "report.html")
    path = tmp_path / "odd.csv"
    path.write_text("text,label\na,odd\n")
    settings = options({"data.format": "csv"})
    assert "label 'odd' is not among those of the training data" in refusal(
        "report", model, path, "--out", out, *settings
    )
    invoke("report", model, "--documents", 0, code=2)
    assert list(tmp_path.iterdir()) == [path], "nothing is left behind"
