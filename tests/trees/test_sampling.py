"""Samples of projective trees. `test_distributions` has tests of samples of both kinds."""

import numpy as np
import pytest
import torch
from scipy import stats

from tests.trees.projective import joined, problems, tree_scores, trees
from treetext.trees.sampling import sample_projective, uniforms_needed
from treetext.trees.tree import Tree

single_or_many_roots = pytest.mark.parametrize("single_root", [True, False], ids=["single", "many"])


@single_or_many_roots
def test_samples_follow_the_distribution(single_root: bool) -> None:
    count, n = 20_000, 4
    arcs, roots, lengths = problems(1, n, 0.5)
    random = torch.Generator().manual_seed(0)
    uniforms = torch.rand(count, 1, uniforms_needed(n), dtype=torch.float64, generator=random)
    samples = sample_projective(arcs, roots, lengths, single_root, uniforms)[:, 0]
    drawn = (samples[:, None] == trees(n, single_root)).all(2)
    assert (drawn.sum(1) == 1).all()
    expected = tree_scores(arcs, roots, single_root)[0].softmax(0).numpy() * count
    assert expected.min() > 5  # as the test requires
    assert stats.chisquare(drawn.sum(0).numpy(), expected).pvalue > 1e-3
    wrong = tree_scores(1.1 * arcs, roots, single_root)[0].softmax(0).numpy() * count
    assert stats.chisquare(drawn.sum(0).numpy(), wrong).pvalue < 1e-3


@single_or_many_roots
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_extreme_uniforms_give_possible_trees(scale: float, single_root: bool) -> None:
    arcs, roots, lengths = problems(50, 8, scale, 0.7)
    for uniform in (0.0, np.nextafter(1.0, 0.0)):
        uniforms = torch.full((1, 50, uniforms_needed(8)), uniform, dtype=torch.float64)
        heads = sample_projective(arcs, roots, lengths, single_root, uniforms)[0]
        assert joined(arcs, roots).gather(1, heads[:, None] + 1).isfinite().all()
        assert all(Tree.from_heads(h, single_root=single_root).projective for h in heads)


def test_too_few_uniforms() -> None:
    with pytest.raises(ValueError, match="uniforms: expected at least 6 for each tree, got 5"):
        sample_projective(*problems(1, 3), True, torch.rand(1, 1, 5))
