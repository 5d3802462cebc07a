import json

import pytest

from tests.cli.running import invoke, refusal
from tests.data.readers.treebanks import gum, sentence, units, write
from treetext.models import load_model


@pytest.fixture
def conllu(tmp_path):
    return write(tmp_path / "own.conllu", sentence("rain falls here", [2, 0, 2]) + sentence("snow melts", [2, 0]))


@pytest.fixture
def documents(tmp_path):
    words = sentence("rain falls", [2, 0]) + sentence("snow melts .", [2, 0, 2], tags=["NOUN", "VERB", "PUNCT"])
    return gum(tmp_path / "gum", {name: (words, units((0, 1), (1, 2))) for name in ("a", "b")})


def test_table(model, conllu):
    printed = invoke("agree", model, conllu).stdout
    assert printed.startswith("\nTrees of words: agreement with own.conllu, 2 trees\n")
    for row in ("this model", "the same, untrained", "random trees", "left chain", "right chain", "star"):
        assert f"\n{row} " in printed
    assert "nodes at depth 2, %" in printed
    assert "the paper" not in printed
    twice = invoke("agree", model, conllu, "--models", model).stdout
    [line] = [line for line in twice.splitlines() if line.startswith(str(model))]
    [own] = [line for line in twice.splitlines() if line.startswith("this model ")]
    assert line.removeprefix(str(model)).split() == own.removeprefix("this model").split()


def test_json_and_trees(model, documents, tmp_path):
    out = tmp_path / "trees.jsonl"
    result = json.loads(invoke("agree", model, documents, "--json", "--out", out).stdout)
    assert (result["format"], set(result["levels"])) == ("gum", {"words", "sentences"})
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["level"] for record in records] == ["words"] * 4 + ["sentences"] * 2
    [record, *_] = records
    parsed = load_model(model).parse([[["rain", "falls"], ["snow", "melts", "."]]])[0]
    assert record["heads"] == list(parsed.sentences[0].tree.heads)
    assert records[-1]["heads"] == list(parsed.tree.heads)
    without = invoke("agree", model, documents, "--no-punctuation", "--json", "--out", out)
    assert json.loads(without.stdout)["levels"]["words"]["trees"] == 4
    assert json.loads(without.stdout)["levels"]["words"] != result["levels"]["words"]
    assert [json.loads(line)["counted"] for line in out.read_text().splitlines()] == [2, 2, 2, 2, 2, 2]


def test_pairs(pair_model, conllu, tmp_path):
    assert "Trees of words" in invoke("agree", pair_model, conllu).stdout
    pair = {"gold_label": "x", "sentence1_parse": "(S (NN rain) (VBZ falls))", "sentence2_parse": "(NP (NN rain))"}
    path = write(tmp_path / "own.jsonl", json.dumps(pair) + "\n" + json.dumps({**pair, "gold_label": "-"}) + "\n")
    done = invoke("agree", pair_model, path)
    assert "the parser" in done.stdout
    assert "the paper" not in done.stdout
    assert "1 pairs without a gold label ('-') left out" in done.stderr


def test_pairs_have_trees_of_words_alone(pair_model, documents):
    done = invoke("agree", pair_model, documents, "--json")
    assert "gum: the model has no trees of sentences to compare" in done.stderr
    [words] = json.loads(done.stdout)["levels"].values()
    assert words["trees"] == 4, "each sentence once, however they were paired"


def test_refusals(model, conllu, documents, tmp_path):
    assert refusal("agree", model, tmp_path / "nowhere").endswith("nowhere: no such file or directory")
    assert "expected the 10 of CoNLL-U" in refusal(
        "agree", model, write(tmp_path / "a.jsonl", "{}"), "--format", "conllu"
    )
    conllu.write_text(sentence("rain falls", [2, 1]))
    assert refusal("agree", model, conllu) == f"{conllu}, line 1, sentence 1: no root; expected one word with head 0"
    assert "no such directory" in refusal("agree", model, documents, "--out", tmp_path / "no" / "trees.jsonl")
    assert refusal("agree", model, conllu, "--format", "penn") == "format: expected conllu, gum, snli, got 'penn'"
