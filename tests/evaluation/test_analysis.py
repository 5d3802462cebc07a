"""Whole analyses of models."""

import json
import math

import numpy as np
import pytest
import torch

from tests.evaluation.conftest import make_model, pairs_model
from treetext.data import BadInput, open_corpus, reader
from treetext.data.batches import Texts
from treetext.evaluation import FIGURES, REFERENCES, analyse, evaluate, gold_recovery, tree_statistics
from treetext.evaluation.induced import induce
from treetext.evaluation.shapes import SHAPES
from treetext.training import load_recipe, new_model
from treetext.trees import Tree


@pytest.fixture(scope="module")
def analysis(confident, hidden_trees):
    return analyse(confident, hidden_trees, others={"seed 2": make_model(hidden_trees, 2)}, resamples=100)


@pytest.fixture(scope="module")
def parsed(confident, hidden_trees):
    return confident.parse([hidden_trees.encoded.document(row) for row in hidden_trees.rows["test"].tolist()])


def trees_of(parsed, level):
    if level == "sentences":
        return [document.tree for document in parsed]
    return [sentence.tree for document in parsed for sentence in document.sentences]


@pytest.mark.parametrize("level", ["words", "sentences"])
def test_figures_are_those_of_the_parsed_trees(analysis, parsed, level):
    found = getattr(analysis, level)
    expected = tree_statistics(trees_of(parsed, level))
    assert (found.trees, found.nodes) == (expected.trees, expected.nodes)
    assert set(found.figures["model"]) == set(FIGURES)
    for name in SHAPES:
        value, low, high = found.figures["model"][name]
        assert value == pytest.approx(getattr(expected, name))
        assert low <= value <= high


def test_references_stand_beside(analysis):
    for level in analysis.levels.values():
        assert list(level.figures) == ["model", "untrained", "seed 2", *REFERENCES, "gold"]
        left, right, star, random = (level.figures[n] for n in ("left chain", "right chain", "star", "random"))
        assert (left["left"].value, right["left"].value) == (1, 0)
        assert (star["star"].value, star["hub"].value, star["height"].value) == (1, 1, 2)
        assert left["height"].value == right["height"].value == pytest.approx(level.nodes / level.trees)
        assert (random["entropy"].value, random["margin"].value) == (1, 0)
        assert left["entropy"].value is None
        assert level.figures["gold"]["gold_heads"] == (1, 1, 1)


@pytest.mark.parametrize("level", ["words", "sentences"])
def test_nodes_near_the_root(analysis, parsed, level):
    near = total = 0
    for tree in trees_of(parsed, level):
        if len(tree) >= 4:
            near += sum(tree.depths[node] <= 2 for node in range(len(tree)))
            total += len(tree)
    model, random, more = getattr(analysis, level).near_root
    assert model.value == pytest.approx(near / total)
    assert more.value == pytest.approx(model.value - random.value)
    assert model.low <= model.value <= model.high
    assert more.low <= more.value <= more.high


def test_gold_trees(analysis, confident, hidden_trees):
    recovery = gold_recovery(confident, hidden_trees)
    for name, level in analysis.levels.items():
        figures = [level.figures["model"][figure].value for figure in ("gold_heads", "gold_arcs", "gold_roots")]
        assert figures == pytest.approx(list(recovery[name]["found"]))
        by_chance = recovery[name]["chance"].heads
        assert level.figures["random"]["gold_heads"].value == pytest.approx(by_chance, abs=0.08)
    encoded, rows = hidden_trees.encoded, hidden_trees.rows["test"].tolist()
    gold = tree_statistics([Tree.from_heads(encoded.sentence_heads(row)) for row in rows])
    assert analysis.sentences.figures["gold"]["crossing"].value == pytest.approx(gold.crossing)


def test_how_sure_the_model_is(confident, hidden_trees, analysis):
    """From the distributions over trees of one text at a time."""
    entropies, margins = [], []
    for row in hidden_trees.rows["test"].tolist():
        [ran] = confident.run(Texts.from_words([hidden_trees.encoded.document(row)]))
        [composed] = ran.output.levels["sentences"]
        n = int(composed.trees.lengths)
        entropies.append(composed.trees.entropy.item() / ((n - 1) * math.log(n)))  # of n to the power n - 1 trees
        best, second = composed.trees.top(2).log_probs[:, 0].tolist()
        margins.append(best - second)
    figures = analysis.sentences.figures["model"]
    assert figures["entropy"].value == pytest.approx(np.mean(entropies), abs=1e-5)
    assert figures["margin"].value == pytest.approx(np.mean(margins), abs=1e-4)
    assert figures["entropy"].value < analysis.sentences.figures["untrained"]["entropy"].value


def test_agreement_of_models(analysis, confident, hidden_trees):
    for level in analysis.levels.values():
        pairs = {(each.first, each.second): each for each in level.agreement}
        others = ("untrained", "seed 2", *REFERENCES, "gold")
        assert set(pairs) == {("model", other) for other in others}, "each with the model, of which there are two"
        assert pairs["model", "gold"].heads == level.figures["model"]["gold_heads"]
    twice = analyse(confident, hidden_trees, others={"again": confident}, ablation=False, resamples=10)
    for level in twice.levels.values():
        [same] = [each for each in level.agreement if each.second == "again"]
        assert same[2:] == ((1, 1, 1),) * 3
    three = {"second": make_model(hidden_trees, 2), "third": make_model(hidden_trees, 3)}
    found = analyse(confident, hidden_trees, others=three, ablation=False, resamples=0).words.agreement
    assert ("second", "third") in {(each.first, each.second) for each in found}


def test_untrained_model_is_as_training_starts(hidden_trees):
    pooling = {"model.words.pooling": "max", "model.sentences.pooling": "max"}
    recipe = load_recipe("hidden-trees/both", {"seed": 7, **pooling})
    start = new_model(recipe, hidden_trees)
    start.about = {"seed": 7}
    state = torch.get_rng_state()
    fresh = make_model(hidden_trees, 7).untrained()
    assert torch.equal(torch.get_rng_state(), state)
    for name, weights in start.state_dict().items():
        assert torch.equal(fresh.state_dict()[name], weights), name


def test_same_seed_same_analysis(analysis, confident, hidden_trees):
    again = analyse(confident, hidden_trees, others={"seed 2": make_model(hidden_trees, 2)}, resamples=100)
    assert again == analysis
    other = analyse(confident, hidden_trees, resamples=100, seed=1, ablation=False)
    assert other.words.figures["random"] != analysis.words.figures["random"]
    assert other.words.figures["model"]["height"].value == analysis.words.figures["model"]["height"].value
    assert other.ablation == []


def test_numbers_for_programs(analysis, confident, hidden_trees):
    plain = analysis.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["accuracy"]["value"] == evaluate(confident, hidden_trees).accuracy


def test_projective_models_have_projective_random_trees(hidden_trees):
    model = make_model(hidden_trees, words__attention="projective", sentences__attention="none")
    found = analyse(model, hidden_trees, resamples=0, ablation=False)
    assert found.sentences is None
    assert found.words.figures["model"]["projective"].value == found.words.figures["random"]["projective"].value == 1
    assert found.words.figures["random"]["gold_heads"].value < 1


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """Texts without gold trees, some of them without words, some of one word."""
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    file = tmp_path / "texts.csv"
    rows = [f'a b c. d{i}.,x\n"",y\nb{i},x\nb a. d c e. f g h i{i}.,y\n' for i in range(20)]
    file.write_text("text,label\n" + "".join(rows))
    return open_corpus(reader("csv", path=str(file), split=(0.3, 0.2, 0.5)))


def test_texts_without_gold_trees_or_words(plain):
    model = make_model(plain)
    found = analyse(model, plain, resamples=20)
    rows = plain.rows["test"]
    assert found.documents == len(rows)
    assert found.without_trees == np.count_nonzero(plain.encoded.sizes[rows] == 0) > 0
    assert found.accuracy.value == evaluate(model, plain).accuracy
    assert found.words.single > 0
    assert found.sentences.trees == found.documents - found.without_trees
    assert "gold" not in found.words.figures
    assert found.words.figures["model"]["gold_heads"] == (None, None, None)
    induced, _ = induce(model, plain)
    single = induced["sentences"].forest.lengths == 1
    assert (induced["sentences"].entropies[single] == 0).all()


def test_texts_without_labels(hidden_trees, tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path))
    (tmp_path / "texts.jsonl").write_text('{"text": "one two. three four five."}\n' * 4)
    corpus = open_corpus(reader("jsonl", test=str(tmp_path / "texts.jsonl")), labels=False)
    found = analyse(make_model(hidden_trees), corpus, resamples=5)
    assert found.accuracy is None
    assert {each.accuracy for each in found.ablation} == {None}
    assert found.words.trees == 8


def test_refusals(hidden_trees, confident, plain):
    none = make_model(hidden_trees, words__attention="none", sentences__attention="simple")
    with pytest.raises(BadInput, match=r"^the model has no trees of words or sentences; expected projective or nonp"):
        analyse(none, hidden_trees)
    with pytest.raises(BadInput, match="plain: the model has no trees"):
        analyse(confident, hidden_trees, others={"plain": none})
    words_alone = make_model(hidden_trees, sentences__attention="none")
    with pytest.raises(BadInput, match="words: no trees of sentences; expected trees as those of the model"):
        analyse(confident, hidden_trees, others={"words": words_alone})
    with pytest.raises(BadInput, match="hidden-trees: no all data; expected one of these splits: train"):
        analyse(confident, hidden_trees, "all")
    pairs = pairs_model(hidden_trees)
    with pytest.raises(BadInput, match=r"^model: a model of pairs, but hidden-trees has documents; expected a model"):
        analyse(pairs, hidden_trees)
    with pytest.raises(BadInput, match=r"^pairs: a model of pairs, but hidden-trees has documents"):
        analyse(confident, hidden_trees, others={"pairs": pairs})
    with pytest.raises(BadInput, match="label 'x' is not among those of the training data"):
        analyse(confident, plain)
    with pytest.raises(ValueError, match="'gold' is the name of something else"):
        analyse(confident, hidden_trees, others={"gold": confident})
