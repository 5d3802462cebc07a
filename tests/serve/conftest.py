"""Small models, and a server of one in a process of its own."""

import pytest

from tests.models.building import documents, pairs
from tests.serve.running import Server


@pytest.fixture(scope="session")
def document_model():
    model = documents()
    model.about = {"recipe_name": "somebody/else", "scores": {"dev": 0.75}, "data": "/a/secret/place"}
    return model


@pytest.fixture(scope="session")
def pair_model():
    return pairs()


@pytest.fixture(scope="session")
def directory(document_model, tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "model"
    document_model.save_pretrained(place)
    return place


@pytest.fixture(scope="session")
def server(directory):
    with Server(directory) as running:
        yield running
