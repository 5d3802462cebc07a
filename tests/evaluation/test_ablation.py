"""Other marginals in the place of a model's own."""

import numpy as np
import pytest
import torch

from tests.evaluation.brute import all_trees
from tests.evaluation.conftest import make_model
from treetext.data import BadInput
from treetext.evaluation import ablate, evaluate, predictions, run
from treetext.evaluation.ablation import Shuffled, best_tree, uniform_marginals
from treetext.trees import NonProjectiveTrees, ProjectiveTrees, Tree


@pytest.fixture
def trees():
    random = torch.Generator().manual_seed(0)
    lengths = torch.tensor([4, 4, 4, 3, 1, 1, 2])
    arcs, roots = torch.randn(7, 4, 4, generator=random), torch.randn(7, 4, generator=random)
    return NonProjectiveTrees(arcs, roots, lengths)


def scores(model, corpus, **marginals):
    """The logits of all test texts, with other marginals at some levels."""
    logits = torch.empty(len(corpus.rows["test"]), len(model.labels))
    for texts, _, output in run(model, corpus, "test", marginals=marginals):
        logits[texts] = output.logits
    return logits


def both(kind):
    return {"words": kind, "sentences": kind}


def own_marginals(trees):
    return trees.marginals


def test_own_marginals_change_nothing(confident, hidden_trees):
    own = scores(confident, hidden_trees)
    assert torch.equal(scores(confident, hidden_trees, **both(own_marginals)), own)
    assert not torch.allclose(scores(confident, hidden_trees, **both(uniform_marginals)), own)
    assert torch.equal(scores(confident, hidden_trees), own), "what was replaced is back"


def test_replacement_ends_with_an_error(confident, hidden_trees):
    own = scores(confident, hidden_trees)
    with pytest.raises(KeyError):
        scores(confident, hidden_trees, **both({}.__getitem__))
    assert torch.equal(scores(confident, hidden_trees), own)


def test_only_the_level_that_is_told(confident, hidden_trees):
    seen = []
    scores(confident, hidden_trees, sentences=lambda trees: seen.append(trees) or trees.marginals)
    assert sum(int(each.lengths.numel()) for each in seen) == 40, "a tree of sentences for each document"


def test_uniform_marginals(trees):
    arcs, roots = uniform_marginals(trees)
    for b, n in enumerate(trees.lengths.tolist()):  # of n trees each, as many as there are choices of a head
        expected = (1 - torch.eye(n)) / n
        torch.testing.assert_close(arcs[b, :n, :n], expected)
        torch.testing.assert_close(roots[b, :n], torch.full((n,), 1 / n))
        assert not arcs[b, n:].any() and not arcs[b, :, n:].any() and not roots[b, n:].any()  # noqa: PT018
    flat = uniform_marginals(ProjectiveTrees(torch.randn(3, 3), torch.randn(3)))
    assert flat.roots.tolist() == pytest.approx(projective_roots(3)), "of the trees without crossings"


def projective_roots(n):
    roots = [tree.root for tree in all_trees(n) if tree.projective]
    return [roots.count(node) / len(roots) for node in range(n)]


def test_best_tree(trees):
    arcs, roots = best_tree(trees)
    for b, (heads, n) in enumerate(zip(trees.mbr().tolist(), trees.lengths.tolist(), strict=True)):
        tree = Tree.from_heads(heads[:n])
        assert [tuple(arc) for arc in arcs[b].nonzero().tolist()] == sorted(tree.arcs)
        assert roots[b].nonzero().tolist() == [[tree.root]]
        assert arcs[b].sum() + roots[b].sum() == n


def test_shuffled_marginals_are_those_of_another_of_equal_length(trees):
    own = trees.marginals
    shuffle = Shuffled(seed=0)
    arcs, roots = shuffle(trees)
    source = [[k for k in range(7) if torch.equal(arcs[b], own.arcs[k])] for b in range(7)]
    assert {b for [b] in source[:3]} == {0, 1, 2}
    assert all([b] != source[b] for b in range(3)), "nobody keeps its own"
    assert source[3] == [3] and source[6] == [6], "alone of their lengths"  # noqa: PT018
    assert torch.equal(roots[:3], own.roots[[k for [k] in source[:3]]])
    assert (shuffle.seen, shuffle.moved) == (5, 3), "a single node has nothing to exchange"
    assert torch.equal(Shuffled(seed=0)(trees).arcs, arcs)


def test_accuracies(confident, hidden_trees):
    found = ablate(confident, hidden_trees, resamples=50)
    assert [(each.marginals, each.levels) for each in found[:4]] == [
        ("own", []),
        ("uniform", ["words", "sentences"]),
        ("shuffled", ["words", "sentences"]),
        ("best tree", ["words", "sentences"]),
    ]
    assert [each.levels for each in found[4:]] == [["words"]] * 3 + [["sentences"]] * 3
    own, uniform, shuffled = found[:3]
    assert own.accuracy.value == evaluate(confident, hidden_trees).accuracy
    assert own.changed == (0, 0, 0)
    assert uniform.changed.value > 0
    assert uniform.accuracy.low <= uniform.accuracy.value <= uniform.accuracy.high
    assert shuffled.moved > 0.9
    assert uniform.moved is None
    classes = scores(confident, hidden_trees, **both(uniform_marginals)).argmax(-1).numpy()
    other = np.mean(classes != predictions(confident, hidden_trees, "test"))
    assert uniform.changed.value == pytest.approx(other)
    assert ablate(confident, hidden_trees, resamples=50) == found


def test_lost_accuracy_is_paired(confident, hidden_trees):
    """Its bootstrap draws a text with both of its predictions."""
    own, uniform = ablate(confident, hidden_trees, resamples=80, seed=3)[:2]
    assert own.lost == (0, 0, 0)
    assert uniform.lost.value == pytest.approx(own.accuracy.value - uniform.accuracy.value)
    targets = hidden_trees.targets(confident.labels)[hidden_trees.rows["test"]]
    classes = scores(confident, hidden_trees, **both(uniform_marginals)).argmax(-1).numpy()
    before, after = predictions(confident, hidden_trees, "test") == targets, classes == targets
    draws = np.random.default_rng(3)
    differences = []
    for _ in range(80):
        drawn = draws.integers(40, size=40)
        differences.append(before[drawn].mean() - after[drawn].mean())
    assert uniform.lost[1:] == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))


def test_levels_without_trees_keep_their_attention(hidden_trees):
    model = make_model(hidden_trees, words__attention="simple")
    assert [each.levels for each in ablate(model, hidden_trees, resamples=0)] == [[], *[["sentences"]] * 3]


def test_a_model_that_ignores_its_trees_does_not_change(hidden_trees):
    model = make_model(hidden_trees)
    with torch.no_grad():
        for level in (model.words, model.sentences):  # only a vector itself, none of its context, is left
            level.attention.combine.weight[:, level.attention.semantic :] = 0
    for each in ablate(model, hidden_trees, resamples=0):
        assert each.changed.value == 0


def test_pooling_by_root_takes_the_other_roots(hidden_trees):
    model = make_model(hidden_trees, sentences__pooling="root")
    with torch.no_grad():  # the tree matters for pooling alone
        model.sentences.attention.combine.weight[:, model.sentences.attention.semantic :] = 0
    own = scores(model, hidden_trees)
    assert not torch.allclose(scores(model, hidden_trees, sentences=best_tree), own)


def test_each_trial_by_itself(confident, hidden_trees):
    """Words that are computed once for several trials give the same labels as words computed for each of them."""
    found = {(each.marginals, *each.levels): each for each in ablate(confident, hidden_trees, resamples=0)}
    own = predictions(confident, hidden_trees, "test")
    kinds = {"uniform": uniform_marginals, "best tree": best_tree}
    for name, kind in kinds.items():
        for levels in (["words", "sentences"], ["words"], ["sentences"]):
            classes = scores(confident, hidden_trees, **dict.fromkeys(levels, kind)).argmax(-1).numpy()
            assert found[name, *levels].changed.value == pytest.approx(np.mean(classes != own))


def test_refusals(hidden_trees):
    none = make_model(hidden_trees, words__attention="none", sentences__attention="simple")
    with pytest.raises(BadInput, match=r"^the model has no trees of words or sentences; expected projective or"):
        ablate(none, hidden_trees)
