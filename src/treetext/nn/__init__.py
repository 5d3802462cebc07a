"""Layers for texts that carry a latent tree: encoders, attention, pooling, and a level that joins the three.

All take one padded batch, in which ``lengths`` says how many positions of each sequence are real (default: all).
Positions past the length have no influence on real ones; outputs there have no meaning.
"""

from treetext.nn.attention import KINDS, TREES, Attended, Attention, Replacement
from treetext.nn.buckets import Buckets
from treetext.nn.dropout import Dropout
from treetext.nn.encoders import Affine, BiLSTM, Feedforward, Parts, both_directions
from treetext.nn.levels import ENCODERS, Level, LevelOutput
from treetext.nn.pooling import POOLINGS, pool

__all__ = [
    "ENCODERS",
    "KINDS",
    "POOLINGS",
    "TREES",
    "Affine",
    "Attended",
    "Attention",
    "BiLSTM",
    "Buckets",
    "Dropout",
    "Feedforward",
    "Level",
    "LevelOutput",
    "Parts",
    "Replacement",
    "both_directions",
    "pool",
]
