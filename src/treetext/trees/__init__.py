"""Probability distributions over dependency trees, and trees as values."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treetext.trees.checks import NonFiniteScores
    from treetext.trees.decoding import max_spanning_tree
    from treetext.trees.distributions import (
        Marginals,
        NonProjectiveTrees,
        ProjectiveTrees,
        Top,
        TreeDistribution,
        infer_together,
    )
    from treetext.trees.tree import PAD, ROOT, Tree

__all__ = [
    "PAD",
    "ROOT",
    "Marginals",
    "NonFiniteScores",
    "NonProjectiveTrees",
    "ProjectiveTrees",
    "Top",
    "Tree",
    "TreeDistribution",
    "infer_together",
    "max_spanning_tree",
]

_MODULES = {
    "NonFiniteScores": "checks",
    "max_spanning_tree": "decoding",
    "PAD": "tree",
    "ROOT": "tree",
    "Tree": "tree",
}


def __getattr__(name: str) -> Any:
    """Import a module when one of its names is first used. So trees as values need no torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'distributions')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
