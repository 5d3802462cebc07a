"""Small models, servers of them, and a browser."""

import pytest

from tests.models.building import documents, pairs
from tests.serve.looking import serving
from tests.serve.running import Server
from tests.show.browser import chromium, new_page
from treetext.models import save_model


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
    save_model(document_model, place)
    return place


@pytest.fixture(scope="session")
def server(directory):
    with Server(directory) as running:
        yield running


@pytest.fixture(scope="module")
def address(document_model):
    with serving(document_model) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def page(address, browser):
    with new_page(browser, address) as found:
        yield found
