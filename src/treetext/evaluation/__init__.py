"""Scores of models, statistics of their trees, agreement with reference trees, and ablation of the marginals."""

from treetext.evaluation.ablation import Ablated, ablate
from treetext.evaluation.agreement import Compared, TreebankAgreement, agreement
from treetext.evaluation.analysis import Analysis, analyse
from treetext.evaluation.bootstrap import Interval
from treetext.evaluation.figures import FIGURES, Agreement, LevelAnalysis, NearRoot
from treetext.evaluation.recovery import Recovery, gold_recovery
from treetext.evaluation.references import REFERENCES, reference_heads
from treetext.evaluation.run import run
from treetext.evaluation.scores import (
    Baseline,
    Bin,
    ClassScores,
    Confusion,
    Evaluation,
    Parts,
    Seen,
    baseline,
    evaluate,
    predictions,
    probabilities,
    score,
    seen,
)
from treetext.evaluation.shapes import Statistics, tree_statistics

__all__ = [
    "FIGURES",
    "REFERENCES",
    "Ablated",
    "Agreement",
    "Analysis",
    "Baseline",
    "Bin",
    "ClassScores",
    "Compared",
    "Confusion",
    "Evaluation",
    "Interval",
    "LevelAnalysis",
    "NearRoot",
    "Parts",
    "Recovery",
    "Seen",
    "Statistics",
    "TreebankAgreement",
    "ablate",
    "agreement",
    "analyse",
    "baseline",
    "evaluate",
    "gold_recovery",
    "predictions",
    "probabilities",
    "reference_heads",
    "run",
    "score",
    "seen",
    "tree_statistics",
]
