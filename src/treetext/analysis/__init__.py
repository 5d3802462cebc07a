"""Statistics of trees, agreement with references, and baselines that know no trees."""

from treetext.analysis._ablation import Ablated, ablate
from treetext.analysis._agreement import Compared, TreebankAgreement, agreement
from treetext.analysis._analysis import Analysis, analyse
from treetext.analysis._annotated import AnnotatedDocument, AnnotatedSentence
from treetext.analysis._baselines import bag_of_words, majority
from treetext.analysis._bootstrap import Interval
from treetext.analysis._figures import FIGURES, Agreement, LevelAnalysis
from treetext.analysis._recovery import Recovery, gold_recovery
from treetext.analysis._reference_trees import REFERENCES, reference_heads
from treetext.analysis._shapes import Statistics, tree_statistics
from treetext.analysis._sources import tree_levels, untrained_model
from treetext.analysis._treebanks import Treebank, read_treebank

__all__ = [
    "FIGURES",
    "REFERENCES",
    "Ablated",
    "Agreement",
    "Analysis",
    "AnnotatedDocument",
    "AnnotatedSentence",
    "Compared",
    "Interval",
    "LevelAnalysis",
    "Recovery",
    "Statistics",
    "Treebank",
    "TreebankAgreement",
    "ablate",
    "agreement",
    "analyse",
    "bag_of_words",
    "gold_recovery",
    "majority",
    "read_treebank",
    "reference_heads",
    "tree_levels",
    "tree_statistics",
    "untrained_model",
]
