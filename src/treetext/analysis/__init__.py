"""Statistics of trees, agreement with references, and baselines that know no trees."""

from treetext.analysis._baselines import bag_of_words, majority
from treetext.analysis._recovery import Recovery, gold_recovery

__all__ = ["Recovery", "bag_of_words", "gold_recovery", "majority"]
