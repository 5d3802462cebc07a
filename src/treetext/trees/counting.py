"""The number of trees over n nodes."""

from functools import lru_cache
from math import comb, log


def count_trees(n: int, projective: bool, single_root: bool) -> int:
    """The number of trees over n nodes, in closed form.

    There are n ** (n - 1) trees with a single root, and (n + 1) ** (n - 1) with any number of roots (Cayley 1889): the
    artificial root counts as one more node. Projective trees correspond to ternary trees (OEIS A006013 with a single
    root, A001764 with any number).

    >>> [count_trees(3, projective, single_root) for projective in (False, True) for single_root in (True, False)]
    [9, 16, 7, 12]
    """
    if projective:
        return comb(3 * n - 2, n - 1) // n if single_root else comb(3 * n, n) // (2 * n + 1)
    return int((n if single_root else n + 1) ** (n - 1))


@lru_cache(maxsize=4096)
def log_count(n: int, projective: bool, single_root: bool) -> float:
    """The logarithm of the number of trees: 0.0 exactly for a single node."""
    # Integers are exact. Even for 10,000 nodes, they take only milliseconds.
    return log(count_trees(n, projective, single_root))
