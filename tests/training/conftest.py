from functools import partial

import pytest

from tests.training.small import noisy, tiny
from treetext.training import train


@pytest.fixture(scope="session")
def cache_path(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cache(monkeypatch, cache_path):
    """Encoded corpora of the tests, apart from the user's."""
    monkeypatch.setenv("TREETEXT_CACHE", str(cache_path))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Makes recipes for one and the same corpus."""
    return partial(tiny, noisy(tmp_path_factory.mktemp("noisy")), model__layers=0, model__dropout=0.1)


@pytest.fixture(scope="session")
def directory(tmp_path_factory, cache_path, small):
    """A finished training."""
    out = tmp_path_factory.mktemp("trained") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(cache_path))
        train(small(), out)
    return out
