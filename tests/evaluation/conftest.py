"""A small corpus whose trees are known, and models for it."""

import pytest
import torch

from treetext.data import open_corpus, reader
from treetext.data.readers.hidden_trees import HiddenTrees
from treetext.models import StructuredPairs, StructuredPairsSettings
from treetext.models.words import corpus_vocabulary
from treetext.training import load_recipe, new_model


@pytest.fixture(scope="session")
def hidden_trees(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(tmp_path_factory.mktemp("cache")))
        spec = HiddenTrees(train=200, dev=20, test=40, sentences=(2, 6))
        return open_corpus(reader("hidden-trees", hidden_trees=spec))


def make_model(corpus, seed=1, scale=3.0, **settings):
    """An untrained model, but as sure of its trees as a trained one: scores grow with the scale squared."""
    settings = {"words__pooling": "max", "sentences__pooling": "max", **settings}
    overrides = {f"model.{name.replace('__', '.')}": value for name, value in settings.items()}
    model = new_model(load_recipe("hidden-trees/both", {"seed": seed, **overrides}), corpus)
    model.about = {"seed": seed}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if (
                ".encoder." in name
                or ".attention." in name
                or name.startswith("classifier")
                or name == "embedding.weight"
            ):
                parameter *= scale
    return model.eval()


def pairs_model(corpus):
    """A model of pairs with the words and labels of a corpus of documents."""
    settings = StructuredPairsSettings(embedding=8, semantic=5, structure=4, hidden=6)
    return StructuredPairs(settings, corpus.classes, vocabulary=corpus_vocabulary(corpus, 1)).eval()


@pytest.fixture(scope="session")
def confident(hidden_trees):
    return make_model(hidden_trees)
