"""Whole models: classifiers of documents and of sentence pairs that save, load, predict and parse."""

from treetext.models._classifier import Classifier, Scored, moved
from treetext.models._documents import DocumentClassifier
from treetext.models._files import load_model, shipped_models
from treetext.models._pairs import PairClassifier
from treetext.models._results import Parsed, ParsedSentence, Prediction, Weights
from treetext.models._settings import AnySettings, DocumentSettings, LevelSettings, PairSettings, Settings
from treetext.models._shrink import shrink

__all__ = [
    "AnySettings",
    "Classifier",
    "DocumentClassifier",
    "DocumentSettings",
    "LevelSettings",
    "PairClassifier",
    "PairSettings",
    "Parsed",
    "ParsedSentence",
    "Prediction",
    "Scored",
    "Settings",
    "Weights",
    "load_model",
    "moved",
    "shipped_models",
    "shrink",
]
