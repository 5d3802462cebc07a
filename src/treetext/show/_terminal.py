"""Trees in the terminal."""

from collections.abc import Sequence

from treetext.trees import Tree


def draw(tree: Tree, labels: Sequence[str]) -> str:
    """A tree with box characters, a node a line, each below its parent.

    >>> print(draw(Tree.from_heads([1, -1, 1, 2]), ["Trees", "grow", "slowly", "here"]))
    grow
    ├── Trees
    └── slowly
        └── here
    """
    if len(labels) != len(tree):
        raise ValueError(f"labels: expected {len(tree)}, one for each node, got {len(labels)}")
    lines: list[str] = []
    waiting = [(root, "", "") for root in reversed(tree.roots)]  # nodes, what stands before them and their children
    while waiting:
        node, before, below = waiting.pop()
        lines.append(before + " ".join(labels[node].split()))
        for child in reversed(tree.children[node]):
            last = child == tree.children[node][-1]
            waiting.append((child, below + ("└── " if last else "├── "), below + ("    " if last else "│   ")))
    return "\n".join(lines)
