"""The same figures by other ways: slow, and straight from their definitions."""

from itertools import product

from treetext.trees import Tree


def all_trees(n, single_root=True):
    for heads in product(range(-1, n), repeat=n):
        try:
            yield Tree.from_heads(heads, single_root)
        except ValueError:
            continue


def same_as(gold, found, counted=None):
    """The shares of heads, arcs in either direction, and roots of gold trees that others have."""
    heads, arcs, roots = [], [], []
    for tree, (mine, theirs) in enumerate(zip(gold, found, strict=True)):
        if len(mine) == 1:
            continue
        edges = {frozenset((head, node)) for node, head in enumerate(theirs) if head >= 0}
        for node, head in enumerate(mine):
            counts = counted is None or counted[tree][node]
            if counts:
                heads.append(head == theirs[node])
            if head < 0:
                roots.append(theirs[node] < 0)
            elif counts:
                arcs.append({head, node} in edges)
    return [sum(each) / len(each) for each in (heads, arcs, roots)]
