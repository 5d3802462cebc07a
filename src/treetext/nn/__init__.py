"""Layers for texts with a latent tree: encoders, attention, pooling, and a level that combines the three.

All take a padded batch and the ``lengths`` of its sequences (default: no padding). Padding never affects the outputs
at real positions; outputs at padding have no meaning.
"""

from treetext.nn.attention import KINDS, TREES, Attended, Attention, Replacement
from treetext.nn.buckets import Buckets
from treetext.nn.dropout import Dropout
from treetext.nn.encoders import Affine, BiLSTM, Feedforward, Local, Parts, both_directions
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
    "Local",
    "Parts",
    "Replacement",
    "both_directions",
    "pool",
]
