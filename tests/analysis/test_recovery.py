import itertools

import numpy as np
import pytest

from treetext.analysis import bag_of_words, gold_recovery, majority
from treetext.analysis._recovery import Pair, shares
from treetext.corpora import Data, HiddenTrees
from treetext.text import BadInput
from treetext.training import load_recipe, new_model, open_corpus
from treetext.trees import Tree


def all_trees(n):
    for heads in itertools.product(range(-1, n), repeat=n):
        try:
            yield Tree.from_heads(heads).heads
        except ValueError:
            continue


@pytest.mark.parametrize("gold", [(-1, 0), (1, -1, 1), (-1, 0, 1), (1, 2, -1, 2)])
def test_chance_is_the_mean_over_all_trees(gold):
    found = [shares([Pair(gold, tree)]) for tree in all_trees(len(gold))]
    for i in range(3):
        assert np.mean([each["found"][i] for each in found]) == pytest.approx(found[0]["chance"][i])


def test_shares_of_two_trees():
    found = shares([Pair((-1, 0, 1), (1, -1, 1)), Pair((-1, 0), (-1, 0)), Pair((-1,), (-1,))])["found"]
    assert found == pytest.approx((3 / 5, 3 / 3, 1 / 2))  # one tree is turned round; a single node counts for nothing


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    return open_corpus(Data(format="hidden-trees", hidden_trees=HiddenTrees(train=600, dev=30, test=30)))


def test_of_an_untrained_model_words_and_sentences_are_compared(corpus):
    model = new_model(load_recipe("hidden-trees/both"), corpus)
    found = gold_recovery(model, corpus)
    assert set(found) == {"words", "sentences"}
    gold = [corpus.encoded.sentence_heads(row).tolist() for row in corpus.rows["test"].tolist()]
    trees = [
        parsed.tree.heads for parsed in model.parse([corpus.encoded.document(r) for r in corpus.rows["test"].tolist()])
    ]
    right = [a == b for pair in zip(gold, trees, strict=True) for a, b in zip(*pair, strict=True)]
    assert found["sentences"]["found"].directed == pytest.approx(np.mean(right))


def test_levels_without_trees_are_left_out(corpus):
    recipe = load_recipe("hidden-trees/both", {"model.words.attention": "simple"})
    assert set(gold_recovery(new_model(recipe, corpus), corpus)) == {"sentences"}


def test_without_gold_trees_there_is_nothing_to_recover(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    file = tmp_path / "texts.csv"
    file.write_text("text,label\n" + "a b. c d.,x\nb a. d c.,y\n" * 20)
    plain = open_corpus(Data(format="csv", path=str(file)))
    model = new_model(load_recipe("hidden-trees/both"), plain)
    with pytest.raises(BadInput, match="no gold trees"):
        gold_recovery(model, plain)


def test_baselines(corpus, tmp_path):
    assert majority(corpus) == 0.5
    assert bag_of_words(corpus) < 0.8  # of 30 documents: words alone tell next to nothing
    file = tmp_path / "texts.csv"
    file.write_text("text,label\n" + "good film,x\nbad film,y\n" * 50)
    assert bag_of_words(open_corpus(Data(format="csv", path=str(file)))) == 1.0
