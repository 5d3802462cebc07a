"""Probability distributions over dependency trees: see `treetext.trees`."""

__version__ = "0.1.0"
