"""Results: trees of every kind of attention and decoding, as JSON and as CoNLL-U."""

import json

import numpy as np
import pytest
import torch

from tests.models.building import TEXTS, batch_of, documents, random_words, scored
from treetext.models import Prediction
from treetext.nn import KINDS
from treetext.trees import NonProjectiveTrees, ProjectiveTrees, Tree

TREES = {"projective": ProjectiveTrees, "nonprojective": NonProjectiveTrees}


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("decode", ["marginals", "log-marginals", "scores"])
def test_trees_are_those_of_the_distributions(kind, decode):
    model = documents({"attention": kind}, {"attention": kind})
    for text in TEXTS:
        [found] = model.parse([text], decode=decode)
        with torch.no_grad():
            result = scored(model, [text])
        vectors = torch.cat([bucket.vectors for bucket in result.levels["words"]])
        for i, words in enumerate(text):
            ids = torch.tensor([model.vocabulary.ids(words)])
            encoded = model.words.encoder(model.embedding(ids))
            check_tree(found.sentences[i], model.words.attention.trees(encoded.structure), decode)
            assert found.sentences[i].words == words
        order = batch_of(model, [text]).order
        encoded = model.sentences.encoder(vectors[order][None])
        check_tree(found, model.sentences.attention.trees(encoded.structure), decode)


def check_tree(found, trees, decode):
    arcs, roots = (p.detach() for p in trees.marginals)
    assert isinstance(trees, tuple(TREES.values()))
    if decode == "marginals":
        expected = trees.mbr()
    elif decode == "scores":
        expected = trees.mode()
    else:
        expected = type(trees)(arcs.log(), roots.log()).mode()
    assert found.tree == Tree.from_heads(expected[0])
    np.testing.assert_allclose(found.weights.arcs, arcs[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(found.weights.roots, roots[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(found.weights.arcs.sum(0) + found.weights.roots, 1, atol=1e-5)
    assert not isinstance(trees, ProjectiveTrees) or found.tree.projective


@pytest.mark.parametrize("above", KINDS)
@pytest.mark.parametrize("below", KINDS)
def test_what_each_kind_of_attention_gives(below, above):
    model = documents({"attention": below}, {"attention": above})
    for text, found in zip(TEXTS, model.parse(TEXTS), strict=True):
        for kind, part, n in [(above, found, len(text)), *((below, s, len(s.words)) for s in found.sentences)]:
            assert (part.tree is not None) == (kind in TREES)
            assert (part.weights is not None) == (kind != "none")
            if part.tree is not None:
                assert len(part.tree) == n
                assert len(part.tree.roots) == 1
            if part.weights is not None:
                assert part.weights.arcs.shape == (n, n)
                assert part.weights.roots.shape == (n,)
                assert part.weights.arcs.dtype == np.float32
            if kind == "simple":
                np.testing.assert_allclose(part.weights.arcs.sum(0), 1, atol=1e-5)


def test_several_roots():
    options = {"single_root": False}
    found = documents(options, options).parse([[random_words(6, i) for i in range(5)] for _ in range(4)])
    assert all(len(p.tree.roots) >= 1 for p in found)


def test_the_most_probable_labels():
    found = Prediction("c", 0.4, {"a": 0.1, "b": 0.25, "c": 0.4, "d": 0.25})
    assert list(found.top(3).probabilities.items()) == [("c", 0.4), ("b", 0.25), ("d", 0.25)]
    assert found.top(1) == ("c", 0.4, {"c": 0.4})
    assert list(found.top(9).probabilities) == ["c", "b", "d", "a"]
    assert list(found.probabilities) == ["a", "b", "c", "d"]


def test_as_json():
    model = documents({"attention": "simple"})
    [found] = model.parse(["The dog slept. Good."])
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["label"] == found.label
    assert plain["heads"] == list(found.tree.heads)
    assert plain["sentences"][0]["words"] == ["The", "dog", "slept", "."]
    assert plain["sentences"][0]["heads"] is None
    np.testing.assert_allclose(plain["sentences"][1]["weights"]["arcs"], found.sentences[1].weights.arcs)
    assert json.loads(json.dumps(model.parse([""])[0].to_dict()))["sentences"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_as_conllu(kind):
    [found] = documents({"attention": kind}).parse(["The dog slept. Good."])
    first, second = found.to_conllu("doc").strip().split("\n\n")
    assert first.startswith(
        f"# newdoc id = doc\n# label = {found.label}\n# sent_id = doc-1\n# text = The dog slept .\n"
    )
    assert second.startswith("# sent_id = doc-2\n# text = Good .\n# sent_head = ")
    rows = [line.split("\t") for line in first.splitlines() if not line.startswith("#")]
    assert [len(row) for row in rows] == [10] * 4
    assert [row[1] for row in rows] == ["The", "dog", "slept", "."]
    if kind in TREES:
        assert Tree.from_conllu(first) == found.sentences[0].tree
