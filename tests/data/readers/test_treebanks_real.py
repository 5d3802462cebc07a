"""The real treebanks, where the environment says where they are."""

import gzip
import json
import os
import tarfile
from pathlib import Path

import pytest

from treetext.data import read_treebank
from treetext.data.readers.discourse import Units
from treetext.data.readers.head_rules import dependencies

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


def test_units_of_gum_are_of_the_sentences_that_they_say(gum):
    """The words of a sentence, by its CoNLL-U file, are those of its units, by their file."""
    documents = {document.name: document for document in gum.documents}
    with tarfile.open(Path(DATA, "gum", "gum_rst_dependencies.tar.gz")) as archive:
        files = {Path(member.name).stem: member for member in archive if member.name.endswith(".rsd")}
        assert set(files) == set(documents)
        differing = 0
        for name, member in files.items():
            lines = archive.extractfile(member).read().decode().splitlines()
            texts = [""] * len(documents[name].sentences)
            for line, sentence in zip(lines, Units(map(str.encode, lines), name).sentences, strict=True):
                texts[sentence - 1] += line.split("\t")[1].replace(" ", "")
            expected = ["".join(sentence.words).replace(" ", "") for sentence in documents[name].sentences]
            differing += sum(a.lower() != b.lower() for a, b in zip(texts, expected, strict=True))
    assert differing == 2, "of 11,799 sentences: by a letter or two"


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
    assert len(found.documents) == 3323, "premises"
    assert sum(len(document.sentences) for document in found.documents) == 2 * 9824
    assert found.notes == [
        f"{Path(DATA, 'snli', 'snli_1.0_test.jsonl.gz')}: 176 pairs without a gold label ('-') left out"
    ]
    assert all(sentence.tree.projective for document in found.documents[:500] for sentence in document.sentences)


def test_all_parses_of_snli():
    """One tree each, with one root; the words are those of the parser's binary trees, which we do not read."""
    parses = 0
    with gzip.open(Path(DATA, "snli", "snli_1.0_test.jsonl.gz")) as stream:
        for pair in map(json.loads, stream):
            for side in ("sentence1", "sentence2"):
                words, tags, tree = dependencies(pair[f"{side}_parse"])
                assert len(words) == len(tags) == len(tree)
                assert len(tree.roots) == 1
                assert tree.projective
                leaves = [word for word in pair[f"{side}_binary_parse"].split() if word not in ("(", ")")]
                assert len(words) == len(leaves)
                parses += 1
    assert parses == 20_000
