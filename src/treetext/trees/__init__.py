"""Probability distributions over dependency trees, and trees as values."""

from treetext.trees._distributions import (
    Marginals,
    NonProjectiveTrees,
    ProjectiveTrees,
    Top,
    TreeDistribution,
    infer_together,
)
from treetext.trees._spanning import max_spanning_tree
from treetext.trees._tree import PAD, ROOT, Tree

__all__ = [
    "PAD",
    "ROOT",
    "Marginals",
    "NonProjectiveTrees",
    "ProjectiveTrees",
    "Top",
    "Tree",
    "TreeDistribution",
    "infer_together",
    "max_spanning_tree",
]
