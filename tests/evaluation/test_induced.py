"""The trees of a whole split, as arrays: the same as those of one text at a time."""

import math

import numpy as np
import pytest

from tests.evaluation.brute import all_trees
from tests.evaluation.conftest import make_model
from treetext.data.batches import Texts
from treetext.evaluation import predictions, run
from treetext.evaluation.induced import induce, induce_from_words
from treetext.training.objectives import tree_entropy

LEVELS = ("words", "sentences")


@pytest.fixture(scope="module", params=["projective", "nonprojective"])
def model(request, hidden_trees):
    return make_model(hidden_trees, words__attention=request.param, sentences__attention=request.param)


@pytest.fixture(scope="module")
def documents(hidden_trees):
    return [hidden_trees.encoded.document(row) for row in hidden_trees.rows["test"].tolist()]


def test_as_one_text_at_a_time(model, hidden_trees, documents):
    induced, classes = induce(model, hidden_trees)
    assert classes.tolist() == predictions(model, hidden_trees, "test").tolist()
    parsed = model.parse(documents)
    trees = {
        "words": [sentence.tree for document in parsed for sentence in document.sentences],
        "sentences": [document.tree for document in parsed],
    }
    owners = {"words": [len(document) for document in documents], "sentences": [1] * len(documents)}
    for level in LEVELS:
        forest = induced[level].forest
        assert forest.heads.tolist() == [head for tree in trees[level] for head in tree.heads]
        assert forest.lengths.tolist() == [len(tree) for tree in trees[level]]
        assert forest.documents.tolist() == np.repeat(np.arange(len(documents)), owners[level]).tolist()


def test_of_words_as_of_a_corpus(model, hidden_trees, documents):
    induced, again = induce(model, hidden_trees)[0], induce_from_words(model, documents, ["sentences", "words"])
    for level in LEVELS:
        for mine, theirs in zip(induced[level].forest, again[level].forest, strict=True):
            assert mine.tolist() == theirs.tolist()
        np.testing.assert_allclose(induced[level].entropies, again[level].entropies, atol=1e-5)
        np.testing.assert_allclose(induced[level].margins, again[level].margins, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_certainty_by_enumeration(model, documents, n):
    """Entropies as shares of their maximum, and margins, from the probabilities of all trees of a sentence."""
    words = documents[n][0][:n]
    found = induce_from_words(model, [[words]], ["words"])["words"]
    [ran] = model.run(Texts.from_words([[words]]))
    [bucket] = ran.output.levels["words"]
    arcs, roots = (scores[0].double().numpy() for scores in (bucket.trees.arcs, bucket.trees.roots))
    possible = [tree for tree in all_trees(n) if tree.projective or not model.trees["words"].projective]
    scores = np.sort([roots[tree.root] + sum(arcs[arc] for arc in tree.arcs) for tree in possible])
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    entropy = -np.sum(shares * np.log(shares)) / math.log(len(possible))
    assert found.entropies.tolist() == pytest.approx([entropy], abs=1e-5)
    assert found.margins.tolist() == pytest.approx([scores[-1] - scores[-2]], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["projective", "nonprojective"])
def test_one_entropy_share(hidden_trees, kind, scale):
    """What is reported is what training makes large and small: 1 where all trees are equally likely, for any kind."""
    model = make_model(hidden_trees, scale=scale, words__attention=kind, sentences__attention=kind)
    induced = induce(model, hidden_trees)[0]
    for level in LEVELS:
        choice = induced[level].forest.lengths > 1
        expected = induced[level].entropies[choice].mean()
        [ran] = run(model, hidden_trees, batch_size=len(hidden_trees.rows["test"]))
        assert float(tree_entropy(ran.output, level)) == pytest.approx(expected, abs=1e-5)
        if scale == 0:
            assert expected == pytest.approx(1, abs=1e-6)
            assert (induced[level].entropies <= 1).all()
        assert (induced[level].entropies[~choice] == 0).all()
        assert np.isposinf(induced[level].margins[~choice]).all()


def test_levels_without_trees_are_left_out(hidden_trees):
    model = make_model(hidden_trees, words__attention="simple")
    assert set(induce(model, hidden_trees)[0]) == {"sentences"}
