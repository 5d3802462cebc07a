"""Layers for texts that carry a latent tree: encoders, attention, pooling, and a level that joins the three.

All take one padded batch, in which ``lengths`` says how many positions of each sequence are real (all, if not given).
What stands past the length has no influence on anything real; what comes out there means nothing.
"""

from treetext.nn._attention import KINDS, Attended, Attention, Replacement, replaced_marginals
from treetext.nn._chunks import Chunks
from treetext.nn._dropout import Dropout
from treetext.nn._encoders import Affine, BiLSTM, Encoded, Feedforward
from treetext.nn._level import ENCODERS, Composed, Level
from treetext.nn._pooling import POOLINGS, pool

__all__ = [
    "ENCODERS",
    "KINDS",
    "POOLINGS",
    "Affine",
    "Attended",
    "Attention",
    "BiLSTM",
    "Chunks",
    "Composed",
    "Dropout",
    "Encoded",
    "Feedforward",
    "Level",
    "Replacement",
    "pool",
    "replaced_marginals",
]
