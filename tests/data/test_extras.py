import sys

import pytest

from treetext.data import BadInput, needs, word2vec


def test_a_package_that_is_missing():
    with pytest.raises(BadInput) as caught, needs("serve"):
        import no_such_package.inside  # noqa: F401
    assert str(caught.value) == "no_such_package is not installed; expected pip install 'treetext[serve]'"


def test_a_package_that_is_there():
    with needs("serve"):
        import json
    assert json


@pytest.mark.parametrize("error", [ModuleNotFoundError("no treetext.nothing", name="treetext.nothing"), KeyError("x")])
def test_other_errors_are_left_alone(error):
    with pytest.raises(type(error)) as caught, needs("serve"):
        raise error
    assert caught.value is error


def test_the_extra_of_word_vectors(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)  # as if it were not installed
    with pytest.raises(BadInput, match=r"^gensim\S* is not installed; expected pip install 'treetext\[vectors\]'$"):
        word2vec([["tea"]], 4, words=["tea"])
