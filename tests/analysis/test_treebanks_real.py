"""The real treebanks, where the environment says where they are."""

import os
from pathlib import Path

import pytest

from treetext.analysis import read_treebank

DATA = os.environ.get("TREETEXT_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="TREETEXT_DATA does not name a directory with the real data")


@pytest.fixture(scope="module")
def gum():
    return read_treebank(Path(DATA, "gum"))


def test_gum(gum):
    assert gum.format == "gum"
    assert len(gum.documents) == 207
    assert gum.notes == []
    for document in gum.documents:
        assert len(document.tree) == len(document.sentences)
        assert len(document.tree.roots) == 1
    assert sum(len(document.sentences) for document in gum.documents) == 11_799


@pytest.mark.parametrize(("split", "sentences", "words"), [("test", 2077, 25_094), ("dev", 2001, 25_147)])
def test_universal_dependencies(split, sentences, words):
    found = read_treebank(Path(DATA, "ud_english_ewt"), split=split)
    assert (found.format, found.name) == ("conllu", f"en_ewt-ud-{split}.conllu")
    all_ = [sentence for document in found.documents for sentence in document.sentences]
    assert len(all_) == sentences
    assert sum(len(sentence.words) for sentence in all_) == words
    assert 0.1 < sum(sum(sentence.punctuation) for sentence in all_) / words < 0.15


def test_snli():
    found = read_treebank(Path(DATA, "snli"))
    assert found.format == "snli"
    assert len(found.documents) == 9824
    assert found.notes == [
        f"{Path(DATA, 'snli', 'snli_1.0_test.jsonl.gz')}: 176 pairs without a gold label ('-') left out"
    ]
    assert all(sentence.tree.projective for document in found.documents[:500] for sentence in document.sentences)
