"""Trees that know nothing."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from treetext.evaluation import REFERENCES, reference_heads
from treetext.trees import Tree

LENGTHS = np.array([1, 3, 1, 2, 4])


def trees(heads, lengths, single_root=True):
    return [Tree.from_heads(each, single_root) for each in np.split(heads, np.cumsum(lengths)[:-1])]


def test_chains_and_stars():
    found = {name: [t.heads for t in trees(reference_heads(name, LENGTHS), LENGTHS)] for name in REFERENCES[1:]}
    assert found == {
        "left chain": [(-1,), (1, 2, -1), (-1,), (1, -1), (1, 2, 3, -1)],
        "right chain": [(-1,), (-1, 0, 1), (-1,), (-1, 0), (-1, 0, 1, 2)],
        "star": [(-1,), (-1, 0, 0), (-1,), (-1, 0), (-1, 0, 0, 0)],
    }


@pytest.mark.parametrize(
    ("n", "projective", "single_root", "count"),
    [(1, False, True, 1), (2, False, True, 2), (3, False, True, 9), (4, False, True, 64), (1, False, False, 1),
     (3, False, False, 16), (4, False, False, 125), (3, True, True, 7), (3, True, False, 12)],
)  # fmt: skip
def test_random_trees_are_all_equally_likely(n, projective, single_root, count):
    def draw(seed):
        lengths = np.full(200 * count, n)
        heads = reference_heads("random", lengths, projective=projective, single_root=single_root, seed=seed)
        return [tuple(each) for each in heads.reshape(-1, n).tolist()]

    times = Counter(draw(0))
    assert len(times) == count
    distinct = [Tree.from_heads(heads, single_root) for heads in times]
    assert not projective or all(tree.projective for tree in distinct)
    assert count == 1 or chisquare(list(times.values())).pvalue > 0.001
    assert draw(0) == draw(0)
    assert (draw(0) == draw(1)) == (count == 1)


def test_random_trees_of_many_lengths():
    lengths = np.array([1, 2, 300, 1, 50])
    for projective in (False, True):
        for single_root in (False, True):
            heads = reference_heads("random", lengths, projective=projective, single_root=single_root)
            assert [len(tree) for tree in trees(heads, lengths, single_root)] == lengths.tolist()


def test_no_trees_and_unknown_ones():
    for name in REFERENCES:
        assert len(reference_heads(name, np.zeros(0, int))) == 0
    with pytest.raises(ValueError, match="name: expected one of random, left chain, right chain, star, got 'chain'"):
        reference_heads("chain", LENGTHS)
