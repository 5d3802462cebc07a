"""Trees by enumeration, and tree inference by adding up: slow, plain, and independent of what is tested."""

from functools import cache
from itertools import product

import mpmath
import torch
from torch import Tensor

from treetext.trees import ROOT, ProjectiveTrees, TreeDistribution


@cache
def all_trees(n: int, projective: bool, single_root: bool) -> list[tuple[int, ...]]:
    """The heads of every tree over n nodes."""
    candidates = product(range(ROOT, n), repeat=n)
    return [
        heads
        for heads in candidates
        if (heads.count(ROOT) == 1 or not single_root)
        and all(_reaches_root(heads, node) for node in range(n))
        and (not projective or _is_projective(heads))
    ]


def _ancestors(heads: tuple[int, ...], node: int) -> list[int]:
    seen = [node]
    while node != ROOT and len(seen) <= len(heads) + 1:
        node = heads[node]
        seen.append(node)
    return seen


def _reaches_root(heads: tuple[int, ...], node: int) -> bool:
    return _ancestors(heads, node)[-1] == ROOT


def _is_projective(heads: tuple[int, ...]) -> bool:
    return all(
        head in _ancestors(heads, between)
        for node, head in enumerate(heads)
        for between in range(min(node, head) + 1, max(node, head))
    )


class Enumeration:
    """One problem (no batch), in float64, with every tree and its probability."""

    def __init__(self, kind: type[TreeDistribution], arcs: Tensor, roots: Tensor, single_root: bool) -> None:
        n = len(roots)
        self.trees = torch.tensor(all_trees(n, kind is ProjectiveTrees, single_root))
        rows = torch.cat([arcs, roots[None]]).double()  # ROOT = -1 is the last row
        self.scores = rows[self.trees, torch.arange(n)].sum(-1)
        self.log_partition = self.scores.logsumexp(0)
        self.log_probs = self.scores - self.log_partition
        self.p = self.log_probs.exp()
        # What is in each tree: (trees, n + 1, n), the roots in the last row.
        self.parts = torch.nn.functional.one_hot(self.trees % (n + 1), n + 1).transpose(1, 2).double()
        self.marginals = torch.einsum("t,tij->ij", self.p, self.parts)

    def expected(self, scores: Tensor) -> Tensor:
        return (self.p * scores).sum()

    def derivative(self, direction: Tensor) -> Tensor:
        """Of the marginals (n + 1, n) along a direction: covariances with it."""
        along = torch.einsum("tij,ij->t", self.parts, direction.double())
        along = along - along[self.p.argmax()]  # so that tiny covariances stay right
        return torch.einsum("t,tij->ij", self.p * (along - self.expected(along)), self.parts)


def exact_marginals(arcs: Tensor, roots: Tensor, single_root: bool) -> tuple[float, Tensor, Tensor]:
    """Log Z and non-projective marginals of one problem by the Matrix-Tree theorem, with as many digits as it takes."""
    log_z, p = _exact(arcs, roots, single_root)
    return float(log_z), *_tensors(p, 1)


def exact_derivative(
    arcs: Tensor, roots: Tensor, d_arcs: Tensor, d_roots: Tensor, single_root: bool
) -> tuple[Tensor, Tensor]:
    """The derivative of these marginals along a direction, by a difference so small that its error does not count."""
    step = mpmath.mpf(10) ** -40
    _, after = _exact(arcs, roots, single_root, d_arcs, d_roots, step)
    _, before = _exact(arcs, roots, single_root, d_arcs, d_roots, -step)
    with mpmath.workdps(2000):
        return _tensors(after - before, 2 * step)


def _tensors(matrix: mpmath.matrix, divisor: mpmath.mpf) -> tuple[Tensor, Tensor]:
    n = matrix.cols
    rows = [[float(matrix[i, j] / divisor) for j in range(n)] for i in range(n + 1)]
    both = torch.tensor(rows, dtype=torch.float64)
    return both[:n], both[n]


def _exact(
    arcs: Tensor,
    roots: Tensor,
    single_root: bool,
    d_arcs: Tensor | None = None,
    d_roots: Tensor | None = None,
    step: mpmath.mpf = 0,
) -> tuple[mpmath.mpf, mpmath.matrix]:
    """Log Z, and marginals as an (n + 1, n) matrix whose last row is the roots'."""
    n = len(roots)
    digits = 600
    while True:
        with mpmath.workdps(digits):

            def weight(scores: Tensor, direction: Tensor | None, *at: int) -> mpmath.mpf:
                moved = 0 if direction is None else step * mpmath.mpf(float(direction[at]))
                return mpmath.exp(mpmath.mpf(float(scores[at])) + moved)

            w, r = mpmath.matrix(n, n), [weight(roots, d_roots, j) for j in range(n)]
            for i in range(n):
                for j in range(n):
                    w[i, j] = weight(arcs, d_arcs, i, j) if i != j else 0
            try:
                log_z, p = _matrix_tree(w, r, single_root)
            except ZeroDivisionError:  # it is singular in so many digits
                log_z, p = mpmath.mpf(0), mpmath.matrix(n + 1, n)
            if all(abs(sum(p[:, j]) - 1) < mpmath.mpf(10) ** -500 for j in range(n)):
                return log_z, p
        digits *= 2


def _matrix_tree(w: mpmath.matrix, r: list[mpmath.mpf], single_root: bool) -> tuple[mpmath.mpf, mpmath.matrix]:
    """After Koo et al. (2007), as it stands there."""
    n = len(r)
    laplacian = -w
    for j in range(n):
        laplacian[j, j] = sum(w[:, j]) + (0 if single_root else r[j])
    if single_root:
        for j in range(n):
            laplacian[0, j] = r[j]
    inverse = laplacian**-1
    p = mpmath.matrix(n + 1, n)
    for j in range(n):
        p[n, j] = r[j] * (inverse[j, 0] if single_root else inverse[j, j])
        for i in range(n):
            above = inverse[j, j] if not single_root or j > 0 else 0
            below = inverse[j, i] if not single_root or i > 0 else 0
            p[i, j] = w[i, j] * (above - below)
    return mpmath.log(mpmath.det(laplacian)), p
