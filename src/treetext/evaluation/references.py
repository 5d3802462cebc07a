"""Reference trees that do not depend on the text. A figure that these reach, too, says nothing about a model."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numba import njit

from treetext.trees import ROOT, ProjectiveTrees

REFERENCES = ("random", "left chain", "right chain", "star")


def reference_heads(
    name: str, lengths: Int[np.ndarray, "trees"], *, projective: bool = False, single_root: bool = True, seed: int = 0
) -> Int[np.ndarray, "nodes"]:
    """The heads of trees with these numbers of nodes, concatenated.

    In a ``left chain``, the head of each node is the next one, so arcs point left. In a ``right chain``, it is the
    previous one; in a ``star``, the first node. A ``random`` tree is drawn uniformly from all trees of the kind
    (`projective`, `single_root`).
    """
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    node = np.arange(len(starts)) - starts
    heads: np.ndarray
    if name == "right chain":
        heads = node - 1
    elif name == "left chain":
        heads = np.where(node + 1 < np.repeat(lengths, lengths), node + 1, ROOT)
    elif name == "star":
        heads = np.where(node > 0, 0, ROOT)
    elif name != "random":
        raise ValueError(f"name: expected one of {', '.join(REFERENCES)}, got {name!r}")
    elif projective:
        heads = _random_projective(lengths, single_root, seed)
    else:
        heads = _random(lengths, np.random.default_rng(seed).random(len(node)), single_root)
    return heads


@njit(cache=True, nogil=True)
def _random(lengths: Any, numbers: Any, single_root: bool) -> Any:
    """Random trees by Prüfer sequences (Prüfer 1918), from a random number between 0 and 1 for each node."""
    heads = np.empty(len(numbers), np.int64)
    start = 0
    for tree in range(len(lengths)):
        n = lengths[tree]
        # With several roots: a tree over the nodes and an artificial root, n. With a single root: a tree over the
        # nodes whose root is the last one, which then swaps places with a random node.
        size = n if single_root else n + 1
        sequence = (numbers[start : start + max(size - 2, 0)] * size).astype(np.int64)
        own = heads[start : start + n]
        _decode(sequence, size, own)
        if single_root:
            own[n - 1] = ROOT
            _swap(own, n - 1, int(numbers[start + n - 1] * n))
        else:
            own[own == n] = ROOT
        start += n
    return heads


@njit(cache=True, nogil=True)
def _decode(sequence: Any, size: int, heads: Any) -> None:
    """Write the heads of the tree with this Prüfer sequence. Its root, the last of `size` nodes, gets none."""
    waiting = np.zeros(size, np.int64)  # children not yet attached
    for node in sequence:
        waiting[node] += 1
    place = 0
    while place < size - 1 and waiting[place] > 0:
        place += 1
    leaf = place
    for head in sequence:
        heads[leaf] = head
        waiting[head] -= 1
        if waiting[head] == 0 and head < place:
            leaf = head
        else:
            place += 1
            while waiting[place] > 0:
                place += 1
            leaf = place
    if leaf < size - 1:
        heads[leaf] = size - 1


@njit(cache=True, nogil=True)
def _swap(heads: Any, a: int, b: int) -> None:
    """Swap two nodes."""
    for node in range(len(heads)):
        if heads[node] == a:
            heads[node] = b
        elif heads[node] == b:
            heads[node] = a
    heads[a], heads[b] = heads[b], heads[a]


def _random_projective(lengths: np.ndarray, single_root: bool, seed: int) -> Int[np.ndarray, "nodes"]:
    generator = torch.Generator().manual_seed(seed)
    heads = np.empty(lengths.sum(), np.int64)
    starts = np.cumsum(lengths) - lengths
    for n in np.unique(lengths).tolist():
        trees = (lengths == n).nonzero()[0]
        uniform = ProjectiveTrees(torch.zeros(n, n), torch.zeros(n), single_root=single_root)
        heads[starts[trees, None] + np.arange(n)] = uniform.sample(len(trees), generator).numpy()
    return heads
