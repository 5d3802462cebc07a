"""Whole models: one module per system, a registry, saving and loading."""

from treetext.models.base import Model
from treetext.models.files import check_free, load_model, push_to_hub, save_model, shipped_models
from treetext.models.output import Output, Ran, TreeKind
from treetext.models.registry import find_model, models, register_model
from treetext.models.results import Decoding, Parsed, ParsedSentence, Prediction, Vectors, Weights
from treetext.models.settings import LevelSettings, ModelSettings
from treetext.models.structured_documents import StructuredDocuments, StructuredDocumentsSettings
from treetext.models.structured_pairs import StructuredPairs, StructuredPairsSettings
from treetext.models.wide import Evidence
from treetext.models.words import VocabularySettings, shrink

__all__ = [
    "Decoding",
    "Evidence",
    "LevelSettings",
    "Model",
    "ModelSettings",
    "Output",
    "Parsed",
    "ParsedSentence",
    "Prediction",
    "Ran",
    "StructuredDocuments",
    "StructuredDocumentsSettings",
    "StructuredPairs",
    "StructuredPairsSettings",
    "TreeKind",
    "Vectors",
    "VocabularySettings",
    "Weights",
    "check_free",
    "find_model",
    "load_model",
    "models",
    "push_to_hub",
    "register_model",
    "save_model",
    "shipped_models",
    "shrink",
]
