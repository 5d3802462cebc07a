"""The best trees: against enumeration and against other libraries."""

import inspect
import itertools
from functools import cache
from math import inf

import networkx
import numpy as np
import pytest
import torch
from ufal.chu_liu_edmonds import chu_liu_edmonds

from tests.trees import projective
from tests.trees.projective import joined, problems
from treetext.trees.decoding import eisner, max_spanning_tree, spanning_heads, top_trees
from treetext.trees.sampling import sample_projective, uniforms_needed
from treetext.trees.tree import PAD, ROOT, Tree

both_root_modes = pytest.mark.parametrize("single_root", [True, False])


@cache
def all_trees(n, single_root):
    """The heads of every tree over n nodes, (number of trees, n), by following the heads up n times."""
    heads = torch.tensor(list(itertools.product(range(-1, n), repeat=n))).reshape(-1, n)
    above = heads
    for _ in range(n):
        above = torch.where(above == ROOT, ROOT, heads.gather(1, above.clamp(min=0)))
    is_tree = (above == ROOT).all(1)
    if single_root:
        is_tree &= (heads == ROOT).sum(1) == 1
    return heads[is_tree]


def total(heads, arcs, roots):
    """The score of each of some trees (..., n) with arcs (n, n) and roots (n)."""
    rows = torch.cat([arcs, roots[None]])
    return rows[heads, torch.arange(len(roots))].sum(-1)


def random_scores(kind, *shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(*shape, shape[-1], dtype=torch.float64, generator=generator)
    roots = torch.randn(*shape, dtype=torch.float64, generator=generator)
    if kind == "tied":
        scores, roots = scores.round(), roots.round()
    if kind == "forbidden":
        scores[torch.rand(scores.shape, generator=generator) < 0.5] = -inf
        roots[torch.rand(roots.shape, generator=generator) < 0.5] = -inf
    return scores, roots


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_enumeration_is_complete(n):
    assert len(all_trees(n, False)) == (n + 1) ** (n - 1)  # Cayley
    assert len(all_trees(n, True)) == n ** (n - 1)


@both_root_modes
@pytest.mark.parametrize("kind", ["normal", "tied", "forbidden"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_against_all_trees(n, kind, single_root):
    scores, roots = random_scores(kind, 100, n)
    best = spanning_heads(scores, roots, torch.full((100,), n), single_root)
    infeasible = 0
    for heads, arcs, root in zip(best, scores, roots, strict=True):
        expected = total(all_trees(n, single_root), arcs, root).max()
        if expected == -inf:
            infeasible += 1
            assert heads.tolist() == [PAD] * n
        else:
            Tree.from_heads(heads, single_root)
            torch.testing.assert_close(total(heads, arcs, root), expected)
    assert (infeasible > 0) == (kind == "forbidden")


@pytest.mark.parametrize("magnitude", [1e-9, 1e9, 1e15, 1e200])
def test_one_root_costs_no_precision(magnitude):
    """Any penalty on root scores that outweighs the others would hide the difference between these roots."""
    scores = torch.tensor([[0, 1, 0], [1, 0, 0], [-1, -1, 0]], dtype=torch.float64) * magnitude
    for root in range(2):
        roots = torch.full((3,), magnitude, dtype=torch.float64)
        roots[root] = np.nextafter(magnitude, inf)
        heads = max_spanning_tree(scores, roots)
        assert heads[root] == ROOT
        assert heads[1 - root] == root


@both_root_modes
@pytest.mark.parametrize("n", [2, 10, 25, 40])
@pytest.mark.parametrize("kind", ["normal", "tied"])
def test_against_networkx(n, kind, single_root):
    scores, roots = random_scores(kind, 4, n)
    for arcs, root in zip(scores, roots, strict=True):
        penalty = 10.0 * n if single_root else 0.0
        graph = networkx.DiGraph()
        for j in range(n):
            graph.add_edge(ROOT, j, weight=float(root[j]) - penalty)
            graph.add_weighted_edges_from((i, j, float(arcs[i, j])) for i in range(n) if i != j)
        expected = [ROOT] * n
        for i, j in networkx.maximum_spanning_arborescence(graph).edges:
            expected[j] = i
        heads = max_spanning_tree(arcs, root, single_root=single_root)
        Tree.from_heads(heads, single_root)
        torch.testing.assert_close(total(heads, arcs, root), total(torch.tensor(expected), arcs, root))


@pytest.mark.parametrize("n", [2, 10, 40])
def test_against_ufal(n):
    scores, roots = random_scores("normal", 20, n)
    trees = max_spanning_tree(scores, roots, single_root=False)
    for heads, arcs, root in zip(trees, scores, roots, strict=True):
        matrix = np.full((n + 1, n + 1), np.nan)  # a row per dependent; the root comes first
        matrix[1:, 0], matrix[1:, 1:] = root, arcs.T
        np.fill_diagonal(matrix, np.nan)
        expected, _ = chu_liu_edmonds(matrix)
        assert heads.tolist() == [head - 1 for head in expected[1:]]


@both_root_modes
def test_renumbering_the_nodes_renumbers_the_tree(single_root):
    scores, roots = random_scores("normal", 30)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    heads = max_spanning_tree(scores, roots, single_root=single_root)
    renumbered = max_spanning_tree(scores[order][:, order], roots[order], single_root=single_root)
    names = torch.cat([order, torch.tensor([ROOT])])
    assert torch.equal(names[renumbered], heads[order])


@both_root_modes
@pytest.mark.parametrize("filler", [inf, -inf, float("nan"), 1e300])
def test_padding_and_the_diagonal_are_invisible(single_root, filler):
    lengths = torch.tensor([1, 7, 4, 9, 2])
    scores, roots = random_scores("normal", 5, 9)
    scores.diagonal(dim1=-2, dim2=-1)[:] = filler
    real = torch.arange(9) < lengths[:, None]
    scores[~(real[:, :, None] & real[:, None, :])] = filler
    roots[~real] = filler
    heads = max_spanning_tree(scores, roots, lengths, single_root)
    assert torch.equal(heads == PAD, ~real)
    for b, n in enumerate(lengths.tolist()):
        alone = max_spanning_tree(scores[b, :n, :n], roots[b, :n], single_root=single_root)
        assert torch.equal(heads[b, :n], alone)


def test_batch_dimensions_and_types():
    scores, roots = random_scores("normal", 2, 3, 5)
    lengths = torch.tensor([[5, 4, 3], [2, 1, 5]])
    heads = max_spanning_tree(scores, roots, lengths)
    assert heads.shape == (2, 3, 5)
    assert heads.dtype == torch.int64
    assert torch.equal(heads[1, 2], max_spanning_tree(scores[1, 2], roots[1, 2]))
    assert torch.equal(heads, max_spanning_tree(scores.mT.contiguous().mT, roots, lengths.int()))
    assert torch.equal(heads, max_spanning_tree(scores.requires_grad_(), roots, lengths))
    assert max_spanning_tree(scores[:0], roots[:0]).shape == (0, 3, 5)
    rounded = scores.bfloat16(), roots.bfloat16()
    assert torch.equal(max_spanning_tree(*rounded), max_spanning_tree(*(x.double() for x in rounded)))


def test_ties_are_settled_the_same_way_every_time():
    scores, roots = torch.zeros(50, 8, 8), torch.zeros(50, 8)
    heads = max_spanning_tree(scores, roots)
    assert (heads == heads[0]).all()


@both_root_modes
def test_cycle_within_cycle(single_root):
    """Nodes 0 and 1 prefer each other; contracted, they and 2 prefer each other; and so on, up to 2000."""
    n = 2000
    node = torch.arange(n, dtype=torch.float64)
    scores = (-2 * node[:, None]).expand(n, n).tril()  # 0 from left to right; the further right, the worse
    roots = 2 * node - 1e6  # in any tree, an arc of at most -2r leads from r or beyond to the left of root r
    roots[n // 2] += 0.5
    heads = max_spanning_tree(scores, roots, single_root=single_root)
    assert Tree.from_heads(heads).root == n // 2
    assert total(heads, scores, roots) == 0.5 - 1e6


def test_one_long_cycle():
    n = 2000
    scores = torch.zeros(n, n, dtype=torch.float64)
    scores[torch.arange(n), torch.arange(1, n + 1) % n] = 1.0
    roots = torch.zeros(n, dtype=torch.float64)
    roots[7] = 0.5
    heads = max_spanning_tree(scores, roots)
    expected = torch.arange(-1, n - 1) % n
    expected[7] = ROOT
    assert torch.equal(heads, expected)


# In the tests, the shapes and types in signatures are checked before the function sees its arguments.
unchecked_max_spanning_tree = inspect.unwrap(max_spanning_tree)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": torch.zeros(2, 3, 4)}, r"^scores: expected shape \(\*batch, n, n\)"),
        ({"roots": torch.zeros(2, 4)}, r"^roots: expected shape \(2, 3\)"),
        ({"lengths": torch.tensor([3, 4])}, r"^lengths: batch element \(1,\) is 4, expected 1 to 3"),
        ({"lengths": torch.tensor([0, 3])}, r"^lengths: batch element \(0,\) is 0, expected 1 to 3"),
        ({"scores": torch.full((2, 3, 3), inf)}, r"^scores: batch element \(0,\) is inf at \(0, 1\)"),
        ({"roots": torch.tensor([[0.0] * 3, [inf] * 3])}, r"^roots: batch element \(1,\) is inf at \(0,\)"),
        (
            {"roots": torch.tensor([[0.0] * 3, [-inf] * 3])},
            r"^scores: batch element \(1,\) has no tree: every tree with a single root uses",
        ),
        (
            {"scores": torch.full((2, 3, 3), -inf), "lengths": torch.tensor([1, 2])},
            r"^scores: batch element \(1,\) has no tree: every tree with a single root uses",
        ),
        (
            {"roots": torch.full((2, 3), -inf), "single_root": False},
            r"^scores: batch element \(0,\) has no tree: every tree uses something forbidden \(-inf\)$",
        ),
    ],
)
def test_messages_name_the_argument_and_the_batch_element(change, message):
    arguments = {"scores": torch.zeros(2, 3, 3), "roots": torch.zeros(2, 3), **change}
    with pytest.raises(ValueError, match=message):
        unchecked_max_spanning_tree(**arguments)


@both_root_modes
@pytest.mark.parametrize("kind", ["normal", "tied", "forbidden"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_top_trees_against_all_trees_in_order(n, kind, single_root):
    scores, roots = random_scores(kind, 6, n)
    trees = all_trees(n, single_root)
    k = len(trees) + 3
    heads, totals = top_trees(spanning_heads, scores, roots, torch.full((6,), n), single_root, k)
    assert heads.shape == (k, 6, n)
    assert totals.dtype == torch.float64
    for b in range(6):
        expected = total(trees, scores[b], roots[b]).sort(descending=True).values
        expected = expected[expected > -inf]
        count = len(expected)
        torch.testing.assert_close(totals[:count, b], expected)
        torch.testing.assert_close(total(heads[:count, b], scores[b], roots[b]), expected)
        assert (totals[:, b].diff()[: max(count - 1, 0)] <= 0).all()
        assert {Tree.from_heads(tree, single_root) for tree in heads[:count, b]} <= {
            Tree.from_heads(tree, single_root) for tree in trees
        }
        assert len({tuple(tree) for tree in heads[:count, b].tolist()}) == count
        assert (heads[count:, b] == PAD).all()
        assert (totals[count:, b] == -inf).all()


def test_top_trees_of_padded_problems_and_in_small_batches(monkeypatch):
    scores, roots = random_scores("normal", 3, 8)
    lengths = torch.tensor([8, 3, 5])
    padded = top_trees(spanning_heads, scores, roots, lengths, True, 12)
    for b, n in enumerate(lengths.tolist()):
        heads, totals = top_trees(
            spanning_heads, scores[b : b + 1, :n, :n], roots[b : b + 1, :n], lengths[b : b + 1], True, 12
        )
        assert torch.equal(padded[0][:, b, :n], heads[:, 0])
        assert (padded[0][:, b, n:] == PAD).all()
        assert torch.equal(padded[1][:, b], totals[:, 0])
    monkeypatch.setattr("treetext.trees.decoding.LARGEST_BATCH", 1)
    one_by_one = top_trees(spanning_heads, scores, roots, lengths, True, 12)
    assert all(map(torch.equal, padded, one_by_one))


def test_top_trees_by_any_decoder():
    """One that knows only trees with every head to the left of its dependents: 4! trees of 5 nodes."""

    def leftward(arcs, roots, lengths, single_root):
        return spanning_heads(arcs.triu(1) + torch.full_like(arcs, -inf).tril(), roots, lengths, single_root)

    scores, roots = random_scores("normal", 1, 5)
    heads, totals = top_trees(leftward, scores, roots, torch.tensor([5]), True, 30)
    trees = torch.tensor(list(itertools.product([ROOT], range(1), range(2), range(3), range(4))))
    expected = total(trees, scores[0], roots[0]).sort(descending=True).values
    torch.testing.assert_close(totals[:24, 0], expected)
    assert (heads[24:] == PAD).all()


@both_root_modes
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_best_projective_tree_against_enumeration(n: int, single_root: bool) -> None:
    arcs, roots, lengths = problems(200, n, forbid=0.1)
    best = projective.tree_scores(arcs, roots, single_root).argmax(1)
    assert torch.equal(eisner(arcs, roots, lengths, single_root), projective.trees(n, single_root)[best])


@both_root_modes
def test_ties_between_projective_trees_are_broken_always_alike(single_root: bool) -> None:
    arcs, roots, lengths = problems(100, 5)
    arcs, roots = arcs.round(), roots.round()
    heads = eisner(arcs, roots, lengths, single_root)
    scores = joined(arcs, roots).gather(1, heads[:, None] + 1)[:, 0].sum(1)
    assert torch.equal(scores, projective.tree_scores(arcs, roots, single_root).amax(1))
    assert torch.equal(heads, eisner(arcs.flip(0), roots.flip(0), lengths, single_root).flip(0))


@pytest.mark.parametrize("n", [300, 500])
def test_best_projective_tree_of_a_long_sentence(n: int) -> None:
    arcs, roots, lengths = problems(1, n)
    heads = eisner(arcs, roots, lengths, True)
    assert Tree.from_heads(heads[0]).projective
    uniforms = torch.rand(1, 1, uniforms_needed(n), dtype=torch.float64)
    sample = sample_projective(arcs, roots, lengths, True, uniforms)[0]
    assert Tree.from_heads(sample[0]).projective
    score, sampled = (joined(arcs, roots).gather(1, h[:, None] + 1).sum() for h in (heads, sample))
    assert score > sampled
