"""Two words that attract each other: the matrix-tree theorem by inversion, and by treetext."""

from itertools import product

import torch

from treetext.trees import ROOT, NonProjectiveTrees, Tree


def by_inversion(arcs: torch.Tensor, roots: torch.Tensor) -> float:
    """P(1 → 2) from the inverse of the Laplacian with the roots in its first row (Koo et al. 2007)."""
    weights = arcs.exp().fill_diagonal_(0)
    laplacian = torch.diag(weights.sum(0)) - weights
    laplacian[0] = roots.exp()
    try:
        inverse = torch.linalg.inv(laplacian)
    except torch.linalg.LinAlgError:  # singular
        return float("nan")
    return float(weights[1, 2] * (inverse[2, 2] - inverse[2, 1]))


def by_enumeration(arcs: torch.Tensor, roots: torch.Tensor) -> float:
    """P(1 → 2) as the share of the trees with this arc: the truth, in exponential time."""
    n, total, share = len(roots), 0.0, 0.0
    for heads in product(range(ROOT, n), repeat=n):
        try:
            tree = Tree.from_heads(heads)
        except ValueError:  # a cycle, or more roots than one
            continue
        weight = sum((arcs[i, j] for i, j in tree.arcs), start=roots[tree.root]).exp().item()
        total += weight
        share += weight * (heads[2] == 1)
    return share / total


torch.manual_seed(0)
print("Of four words, 1 and 2 attract each other more and more. The probability that 1 is the parent of 2:\n")
print("attraction   enumeration   inversion, float32   inversion, float64     treetext, float32")
base, roots = torch.randn(4, 4), torch.randn(4)
for attraction in (0, 5, 10, 20, 40, 80):
    arcs = base.clone()
    arcs[1, 2] += attraction
    arcs[2, 1] += attraction
    truth = by_enumeration(arcs.double(), roots.double())
    ours = NonProjectiveTrees(arcs, roots).marginals.arcs[1, 2].item()
    single, double = by_inversion(arcs, roots), by_inversion(arcs.double(), roots.double())
    print(f"{attraction:10} {truth:13.6f} {single:20.6f} {double:20.6f} {ours:21.6f}")
