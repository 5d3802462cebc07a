"""What attention uses as weights in training and in evaluation, and the rounds of gathering along them."""

import pytest
import torch

from tests.nn.test_attention import TREES, K, S, layer, vectors
from treetext.nn.estimators import height, value_at
from treetext.trees import Marginals

every_tree = pytest.mark.parametrize("kind", list(TREES))
LENGTHS = torch.tensor([6, 4, 1])
E, D = vectors(3, 6, K), vectors(3, 6, S, seed=1)


def is_a_tree(marginals):
    heads = torch.cat([marginals.arcs, marginals.roots[:, None]], 1)
    real = torch.arange(6) < LENGTHS[:, None]
    return bool(((heads == 0) | (heads == 1)).all()) and torch.equal(heads.sum(1), real.double())


@every_tree
@pytest.mark.parametrize("estimator", ["perturbed", "straight_through", "sampled"])
def test_training_is_random_and_evaluation_exact(kind, estimator):
    attention, plain = layer(kind, estimator=estimator), layer(kind)
    one, other = attention(E, D, LENGTHS), attention(E, D, LENGTHS)
    assert not torch.equal(one[1].arcs, other[1].arcs)
    assert is_a_tree(one[1]) == (estimator != "perturbed")
    exact = plain(E, D, LENGTHS)
    for found in (one, other, attention.eval()(E, D, LENGTHS)):
        assert torch.equal(found[2].marginals.arcs, exact[1].arcs), "the distribution itself has no noise"
    assert torch.equal(attention(E, D, LENGTHS)[0], exact[0])


@every_tree
def test_evaluation_with_the_most_probable_tree(kind):
    attention = layer(kind, evaluation="tree")
    assert not is_a_tree(attention(E, D, LENGTHS)[1]), "in training, marginals"
    _, marginals, trees = attention.eval()(E, D, LENGTHS)
    assert is_a_tree(marginals)
    assert torch.equal(marginals.arcs, Marginals.of(trees.mode(), torch.float64).arcs)


@every_tree
def test_noise_follows_its_schedule(kind):
    attention, plain = layer(kind, estimator="perturbed", noise=[0.0, 2.0, 0.0], relaxation=[1.0, 0.5]), layer(kind)
    exact = plain(E, D, LENGTHS)[1].arcs
    assert torch.equal(attention(E, D, LENGTHS)[1].arcs, exact)
    attention.progress = 0.5
    torch.manual_seed(3)
    found = attention(E, D, LENGTHS)
    torch.manual_seed(3)
    assert torch.equal(found[1].arcs, found[2].perturbed(2.0, 0.75).marginals.arcs)
    attention.progress = 1.0
    sharper = layer(kind, temperature=0.5)(E, D, LENGTHS)[1].arcs
    torch.testing.assert_close(attention(E, D, LENGTHS)[1].arcs, sharper)


@pytest.mark.parametrize(
    ("schedule", "values"), [(2.0, [2, 2, 2, 2]), ([3.0], [3, 3, 3, 3]), ([0.0, 1.0, 0.0], [0, 0.5, 1, 0])]
)
def test_schedules(schedule, values):
    assert [value_at(schedule, progress) for progress in (0.0, 0.25, 0.5, 1.0)] == values
    assert value_at(schedule, 1.5) == values[-1]


@pytest.mark.parametrize(
    ("heads", "expected"),
    [([[-1]], 0), ([[-1, 0, 0, 0]], 1), ([[-1, 0, 1, 2]], 3), ([[1, 2, 3, -1], [-1, 0, 0, -2]], 3), ([[-1, -1, 1]], 1)],
)
def test_height(heads, expected):
    assert height(torch.tensor(heads)) == expected


@every_tree
@pytest.mark.parametrize(("heads", "rounds"), [([-1, 0, 1, 2], 3), ([-1, 0, 0, 0], 1)], ids=["chain", "star"])
def test_as_many_rounds_as_the_tree_is_high(kind, heads, rounds):
    def fixed(_):
        return Marginals.of(torch.tensor([heads]), torch.float64)

    by_height, counted = layer(kind, rounds="height"), layer(kind, rounds=rounds)
    more = layer(kind, rounds=rounds + 1)
    found = by_height(E[:1, :4], D[:1, :4], None, fixed)[0]
    assert torch.equal(found, counted(E[:1, :4], D[:1, :4], None, fixed)[0])
    assert not torch.allclose(found, more(E[:1, :4], D[:1, :4], None, fixed)[0])


@every_tree
def test_a_message_needs_a_round_for_each_arc(kind):
    """Along the chain 0 → 1 → 2 → 3, word 3 reaches word 0 in three rounds, not in two."""
    chain = Marginals.of(torch.tensor([[-1, 0, 1, 2]]), torch.float64)
    for rounds, reaches in ((2, False), (3, True)):
        attention, e = layer(kind, rounds=rounds, parents=False), E[:1, :4].clone().requires_grad_()
        attention(e, D[:1, :4], None, lambda _: chain)[0][0, 0].sum().backward()
        assert bool(e.grad[0, 3].any()) == reaches


@every_tree
def test_the_first_word_is_the_root(kind):
    attention = layer(kind, root="first")
    _, marginals, trees = attention(E, D, LENGTHS)
    torch.testing.assert_close(marginals.roots, torch.eye(6).double()[[0, 0, 0]])
    assert (trees.mode()[:, 0] == -1).all()
    assert torch.equal(attention.trees(D, LENGTHS).roots, trees.roots)
