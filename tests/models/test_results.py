"""Predictions and parses of texts of all sizes, and texts that are none."""

import json

import numpy as np
import pytest
import torch
from treetext.text import BadInput, Tokenizer, batch

from tests.models.building import WORDS, documents, pairs, vocabulary
from tests.models.test_scores import TEXTS, scored
from treetext.models import DocumentClassifier, DocumentSettings, Prediction
from treetext.nn import KINDS
from treetext.trees import NonProjectiveTrees, ProjectiveTrees, Tree

TREES = {"projective": ProjectiveTrees, "nonprojective": NonProjectiveTrees}


def words(n, seed=0):
    return np.random.default_rng(seed).choice(WORDS[:12], n).tolist()


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("decode", ["marginals", "log-marginals", "scores"])
def test_trees_are_those_of_the_distributions(kind, decode):
    model = documents({"attention": kind}, {"attention": kind})
    for text in TEXTS:
        [found] = model.parse([text], decode=decode)
        with torch.no_grad():
            result = scored(model, [text])
        vectors = torch.cat([chunk.vectors for chunk in result.words])
        for i, words in enumerate(text):
            ids = torch.tensor([model.vocabulary.ids(words)])
            encoded = model.words.encoder(model.embedding(ids))
            check_tree(found.sentences[i], model.words.attention.trees(encoded.structure), decode)
            assert found.sentences[i].words == words
        order = batch([model._ids(text)], [0], [0]).order
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
    found = documents(options, options).parse([[words(6, i) for i in range(5)] for _ in range(4)])
    assert all(len(p.tree.roots) >= 1 for p in found)


def test_predictions_and_parses_agree():
    model = documents()
    for predicted, parsed in zip(model.predict(TEXTS), model.parse(TEXTS), strict=True):
        assert predicted == parsed.prediction
        assert parsed.label == predicted.label
        assert parsed.probability == predicted.probability == max(predicted.probabilities.values())
        assert list(predicted.probabilities) == ["bad", "good", "so-so"]
        assert sum(predicted.probabilities.values()) == pytest.approx(1)


def test_texts_without_words_get_the_prior():
    model = documents()
    prior = Prediction("good", 0.5, {"bad": 0.2, "good": 0.5, "so-so": 0.3})
    texts = ["", "the dog slept .", " \n ", [], [[]], [""], ["", "a film"]]
    found = model.predict(texts)
    assert [found[i] for i in (0, 2, 3, 4, 5)] == [prior] * 5
    for i, text in ((1, texts[1]), (6, ["a film"])):
        assert found[i].probabilities == pytest.approx(model.predict([text])[0].probabilities, abs=1e-6)
    [empty] = model.parse([""])
    assert (empty.prediction, empty.sentences, empty.tree, empty.weights) == (prior, [], None, None)
    assert empty.to_conllu() == ""
    assert model.predict([]) == []
    assert model.parse([]) == []


def test_pairs_without_words_get_the_prior():
    model = pairs()
    found = model.parse([("", ""), ("a dog", ""), ("a dog", "a cat")])
    assert [p.label for p in found[:2]] == ["no", "no"]
    assert [p.probability for p in found[:2]] == [0.6, 0.6]
    assert len(found[2].sentences) == 2
    assert found[2].tree is None


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_all_sizes(kind):
    model = documents({"attention": kind}, {"attention": kind if kind != "projective" else "nonprojective"})
    texts = [
        "film",
        [["film"]],
        "the dog slept and the cat was good",
        [words(500)],
        [words(3, i) for i in range(1000)],
        [words(500), words(1)],
    ]
    told = []
    found = model.parse(texts, progress=told.append)
    assert sum(told) == len(texts)
    assert [len(p.sentences) for p in found] == [1, 1, 1, 1, 1000, 2]
    assert [len(s.words) for s in found[5].sentences] == [500, 1]
    if kind in TREES:
        assert found[0].sentences[0].tree.heads == (-1,)
        assert len(found[3].sentences[0].tree) == 500
        assert len(found[4].tree) == 1000
    assert all(0 < p.probability <= 1 for p in found)


def test_projective_trees_of_many_sentences():
    model = documents({"attention": "none"}, {"attention": "projective"})
    [found] = model.parse([[words(2, i) for i in range(300)]])
    assert found.tree.projective


def test_many_words_are_scored_in_several_batches(monkeypatch):
    texts = [[words(n)] for n in (5, 30, 2, 9, 40, 1)]
    expected = documents().predict(texts)
    monkeypatch.setattr("treetext.models._classifier.MOST_WORDS", 10)
    for found, one in zip(documents().predict(texts), expected, strict=True):
        assert found.probabilities == pytest.approx(one.probabilities, abs=1e-6)


def test_tokens_are_respected():
    model = documents()
    cut = [["The", "well-known", "dog", "don't"], ["Slept", ". ."]]
    [found] = model.parse([cut])
    assert [s.words for s in found.sentences] == [["the", "well-known", "dog", "don't"], ["slept", ". ."]]
    [found] = model.parse([["The dog. It slept.", "Good."]])
    assert [s.words for s in found.sentences] == [["the", "dog", ".", "it", "slept", "."], ["good", "."]]
    [found] = model.parse(["The dog. It slept."])
    assert [s.words for s in found.sentences] == [["the", "dog", "."], ["it", "slept", "."]]
    cased = DocumentClassifier(
        model.settings, vocabulary(), ["a", "b"], Tokenizer("en", lowercase=False, tokenized=True)
    )  # fmt: skip
    [found] = cased.parse(["The dog.\nIt slept ."])
    assert [s.words for s in found.sentences] == [["The", "dog."], ["It", "slept", "."]]


@pytest.mark.parametrize("text", [5, None, b"bytes", [5], [["a", 5]], [None], {"a": 1}, [[["a"]]]])
def test_what_is_no_document(text):
    with pytest.raises(TypeError, match=r"^texts\[1\]: expected a string, a list of sentences or a list of lists"):
        documents().predict(["a dog", text])


@pytest.mark.parametrize("text", ["ab", ["a"], ("a", "b", "c"), 5, None, (1, 2), ["a", [1]]])
def test_what_is_no_pair(text):
    with pytest.raises(TypeError, match=r"^texts\[1\]: expected two sentences, each a string or a list of words, got"):
        pairs().predict([("a dog", "a cat"), text])


def test_other_wrong_arguments():
    model = documents()
    for method in (model.predict, model.parse):
        with pytest.raises(TypeError, match="texts: expected a list of texts, got a string"):
            method("a dog")
        with pytest.raises(ValueError, match="batch_size: expected 1 or more, got 0"):
            method(["a dog"], batch_size=0)
    with pytest.raises(ValueError, match="decode: expected marginals, log-marginals or scores, got 'best'"):
        model.parse(["a dog"], decode="best")
    with pytest.raises(BadInput, match=r"texts\[0\]: text: .*half a surrogate pair"):
        model.predict(["\ud800"])


def test_wrong_models():
    settings = DocumentSettings(task="documents", embedding=4)
    for labels in ([], ["a"], ["a", "a"]):
        with pytest.raises(ValueError, match="labels: expected two or more different classes"):
            DocumentClassifier(settings, vocabulary(), labels)
    with pytest.raises(ValueError, match="prior: expected 2 probabilities, one for each label, got 1"):
        DocumentClassifier(settings, vocabulary(), ["a", "b"], prior=[1.0])
    with pytest.raises(ValueError, match="vectors: expected 21 vectors of 4 numbers"):
        DocumentClassifier(settings, vocabulary(), ["a", "b"], vectors=np.zeros((1, 4), np.float32))


def test_the_model_stays_in_training_mode():
    model = documents().train()
    model.predict(["a dog"])
    assert model.training
    assert model.predict(TEXTS) == model.eval().predict(TEXTS), "but dropout is off"


def test_as_json():
    model = documents({"attention": "simple"})
    [found] = model.parse(["The dog slept. Good."])
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["label"] == found.label
    assert plain["heads"] == list(found.tree.heads)
    assert plain["sentences"][0]["words"] == ["the", "dog", "slept", "."]
    assert plain["sentences"][0]["heads"] is None
    np.testing.assert_allclose(plain["sentences"][1]["weights"]["arcs"], found.sentences[1].weights.arcs)
    assert json.loads(json.dumps(model.parse([""])[0].to_dict()))["sentences"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_as_conllu(kind):
    [found] = documents({"attention": kind}).parse(["The dog slept. Good."])
    first, second = found.to_conllu("doc").strip().split("\n\n")
    assert first.startswith(
        f"# newdoc id = doc\n# label = {found.label}\n# sent_id = doc-1\n# text = the dog slept .\n"
    )
    assert second.startswith("# sent_id = doc-2\n# text = good .\n# sent_head = ")
    rows = [line.split("\t") for line in first.splitlines() if not line.startswith("#")]
    assert [len(row) for row in rows] == [10] * 4
    assert [row[1] for row in rows] == ["the", "dog", "slept", "."]
    if kind in TREES:
        assert Tree.from_conllu(first) == found.sentences[0].tree


def test_the_size_is_without_the_word_vectors():
    model = documents()
    total = sum(p.numel() for p in model.parameters())
    assert model.size == total - model.embedding.weight.numel()
