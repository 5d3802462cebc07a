"""Gold trees that models find again, and how many of them chance would."""

import numpy as np
import pytest

from tests.evaluation.brute import all_trees, same_as
from treetext.data import BadInput, open_corpus, reader
from treetext.data.readers.hidden_trees import HiddenTrees
from treetext.evaluation import gold_recovery
from treetext.evaluation.recovery import chance
from treetext.training import load_recipe, new_model


@pytest.mark.parametrize("gold", [(-1, 0), (1, -1, 1), (-1, 0, 1), (1, 2, -1, 2)])
def test_chance_is_the_mean_over_all_trees(gold):
    found = [same_as([gold], [tree.heads]) for tree in all_trees(len(gold))]
    assert np.mean(found, axis=0).tolist() == pytest.approx(chance(np.array([len(gold), 1])))


def test_chance_of_trees_of_several_sizes():
    pairs = [(a, b, c, d) for a in all_trees(2) for b in all_trees(2) for c in all_trees(3) for d in all_trees(3)]
    found = [same_as([a.heads, c.heads], [b.heads, d.heads]) for a, b, c, d in pairs]
    assert np.mean(found, axis=0).tolist() == pytest.approx(chance(np.array([2, 3])))


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    return open_corpus(reader("hidden-trees", hidden_trees=HiddenTrees(train=600, dev=30, test=30)))


def test_words_and_sentences_are_compared(corpus):
    model = new_model(load_recipe("hidden-trees/both"), corpus)
    found = gold_recovery(model, corpus)
    assert set(found) == {"words", "sentences"}
    rows = corpus.rows["test"].tolist()
    parsed = model.parse([corpus.encoded.document(row) for row in rows])
    gold = [corpus.encoded.sentence_heads(row).tolist() for row in rows]
    assert found["sentences"]["found"] == pytest.approx(same_as(gold, [document.tree.heads for document in parsed]))
    gold = []
    for row in rows:
        gold += np.split(corpus.encoded.heads(row), np.cumsum(corpus.encoded.lengths(row))[:-1])
    trees = [sentence.tree.heads for document in parsed for sentence in document.sentences]
    assert found["words"]["found"] == pytest.approx(same_as([heads.tolist() for heads in gold], trees))


def test_levels_without_trees_are_left_out(corpus):
    recipe = load_recipe("hidden-trees/both", {"model.words.attention": "simple"})
    assert set(gold_recovery(new_model(recipe, corpus), corpus)) == {"sentences"}


def test_without_gold_trees_there_is_nothing_to_recover(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    file = tmp_path / "texts.csv"
    file.write_text("text,label\n" + "".join(f"a b. c d{i}.,x\nb a. d c{i}.,y\n" for i in range(20)))
    plain = open_corpus(reader("csv", path=str(file)))
    model = new_model(load_recipe("hidden-trees/both"), plain)
    with pytest.raises(BadInput, match="no gold trees"):
        gold_recovery(model, plain)
