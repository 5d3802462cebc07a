"""Models without trees: every command works on them, but those that are about trees alone."""

import asyncio
import json

import pytest

from tests.cli.running import invoke, options, refusal
from tests.data.readers.treebanks import sentence, write
from tests.serve.running import ask, running
from treetext.models import load_model
from treetext.serve import make_app

NO_TREES = "the model has no trees of words or sentences; expected projective or nonprojective attention"
RECIPES = ["documents/majority", "documents/bag-of-words", "pairs/majority", "pairs/bag-of-words"]
TEXTS = {"documents": "a good film. I saw it.", "pairs": "the a sleeps\ta b sleeps ."}


@pytest.fixture(scope="module", params=RECIPES)
def without(request, tmp_path_factory, pair_file):
    """A model with a file like the one that it was trained on, and what the command printed."""
    folder = tmp_path_factory.mktemp("without")
    path = pair_file
    if request.param.startswith("documents"):
        path = folder / "texts.csv"
        rows = [f"{'good' if i % 3 else 'bad'} film number {i % 7}. I saw it.,{1 + bool(i % 3)}" for i in range(60)]
        path.write_text("\n".join(["text,label", *rows]) + "\n")
    done = invoke("train", request.param, "--data", path, "--out", folder / "model")
    return request.param, folder / "model", path, done


def test_training_tells_no_epoch(without):
    _, model, _, done = without
    assert "\ntest " in done.stdout
    assert "epoch" not in done.stdout
    assert load_model(model).levels_with_trees == []


def test_evaluate(without):
    name, model, path, _ = without
    result = json.loads(invoke("evaluate", model, "--data", path, "--json").stdout)
    assert result["documents"] == 60
    if "majority" in name:
        assert result["accuracy"] == result["majority"]
    else:
        assert result["accuracy"] > result["majority"]


def test_predict_and_parse(without):
    name, model, path, _ = without
    loaded = load_model(model)
    text = TEXTS[loaded.task.name]
    [expected] = loaded.predict([loaded.task.from_line(text, "")])
    [found] = [json.loads(line) for line in invoke("predict", model, stdin=text).stdout.splitlines()]
    assert found["probabilities"] == pytest.approx(expected.probabilities)
    assert len(invoke("predict", model, path).stdout.splitlines()) == 60
    done = invoke("parse", model, "--weights", stdin=text)
    assert done.stderr == f"{model}: a model without trees: nothing has a head\n"
    parsed = json.loads(done.stdout)
    assert parsed["label"] == expected.label
    assert bool(parsed["evidence"]) == ("bag-of-words" in name)
    assert {frozenset(each) for each in parsed["evidence"]} <= {frozenset({"ngram", "kind", "weight"})}
    drawn = invoke("parse", model, "--format", "drawing", stdin=text).stdout
    assert drawn.splitlines()[1].startswith("n-grams ") == ("bag-of-words" in name)
    assert [part["heads"] for part in (parsed, *parsed["sentences"])] == [None] * 3
    assert [part["weights"] for part in (parsed, *parsed["sentences"])] == [None] * 3
    assert "->" not in invoke("parse", model, "--format", "dot", stdin=text).stdout
    rows = invoke("parse", model, "--format", "conllu", stdin=text).stdout.splitlines()
    assert {line.split("\t")[6] for line in rows if line and not line.startswith("#")} == {"_"}
    assert expected.label in invoke("parse", model, "--format", "drawing", stdin=text).stdout


def test_report(without, tmp_path):
    _, model, path, _ = without
    invoke("report", model, path, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "this model has no trees" in page
    assert "Epoch that was kept" not in page
    assert "Learning curves" not in page


def test_serve(without):
    name, model, _, _ = without
    loaded = load_model(model)
    [text] = [loaded.task.from_line(TEXTS[loaded.task.name], "")]

    async def answers():
        async with running(make_app(loaded)) as app:
            body = {loaded.task.field: [text]}
            found = [await ask(app, "POST", f"/v1/{path}", body) for path in ("predict", "parse")]
            return *(answer.json() for answer in found), (await ask(app, "GET", "/v1/model")).json()

    predicted, parsed, about = asyncio.run(answers())
    [expected] = loaded.predict([text])
    assert predicted["predictions"][0]["probabilities"] == pytest.approx(expected.probabilities)
    assert parsed["parsed"][0]["heads"] is None
    assert bool(parsed["parsed"][0]["evidence"]) == ("bag-of-words" in name)
    assert about["settings"]["kind"] == loaded.settings.kind


def test_commands_about_trees_refuse(without, tmp_path, model, pair_model):
    _, bare, path, _ = without
    assert refusal("analyse", bare, path) == NO_TREES
    treebank = write(tmp_path / "own.conllu", sentence("rain falls", [2, 0]))
    assert refusal("agree", bare, treebank) == NO_TREES.replace(" or sentences", "")
    other = pair_model if path.name == "pairs.csv" else model
    given = options({"data.format": "csv"})
    found = refusal("agree", other, treebank, "--models", bare)
    assert found == f"{bare}: no trees of words; expected trees as those of the model"
    assert str(bare) in refusal("analyse", other, path, "--models", bare, *given)
