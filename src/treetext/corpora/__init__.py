"""Readers of corpora: the data sets of the paper, the user's own files, and an embedded one with known trees."""

from treetext.corpora._data import Data, fingerprint, read, split_rows
from treetext.corpora._describe import Statistics, describe
from treetext.corpora.hidden_trees import HiddenTrees

__all__ = ["Data", "HiddenTrees", "Statistics", "describe", "fingerprint", "read", "split_rows"]
