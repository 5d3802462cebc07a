"""The contract of models: predictions and parses of texts of all sizes, and texts that are none."""

import pytest
import torch

from tests.models.building import TEXTS, documents, pairs, random_words, vocabulary
from tests.models.model_test import assert_same_bits, uniform
from treetext.data import BadInput, Tokenizer
from treetext.data.batches import Texts
from treetext.models import Model, Prediction, StructuredDocuments, StructuredDocumentsSettings
from treetext.models.majority import Majority, MajoritySettings
from treetext.nn import KINDS

TREES = ("projective", "nonprojective")


def test_predictions_and_parses_agree():
    model = documents()
    for predicted, parsed in zip(model.predict(TEXTS), model.parse(TEXTS), strict=True):
        assert predicted == parsed.prediction
        assert parsed.label == predicted.label
        assert parsed.probability == predicted.probability == max(predicted.probabilities.values())
        assert list(predicted.probabilities) == ["bad", "good", "so-so"]
        assert sum(predicted.probabilities.values()) == pytest.approx(1)


def test_whole_texts():
    assert [documents().is_whole(text) for text in ([], [["a"]], [["a"], ["b"]])] == [False, True, True]
    assert [pairs().is_whole(text) for text in ([], [["a"]], [["a"], ["b"]])] == [False, False, True]
    assert documents().tokens("A dog. It slept.") == [["A", "dog", "."], ["It", "slept", "."]]
    assert pairs().tokens(("A dog.", "It slept.")) == [["A", "dog", "."], ["It", "slept", "."]]


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
        [random_words(500)],
        [random_words(3, i) for i in range(1000)],
        [random_words(500), random_words(1)],
    ]
    told = []
    found = model.parse(texts, progress=lambda what, n: told.append((what, n)))
    assert {what for what, _ in told} == {"texts"}
    assert sum(n for _, n in told) == len(texts)
    assert [len(p.sentences) for p in found] == [1, 1, 1, 1, 1000, 2]
    assert [len(s.words) for s in found[5].sentences] == [500, 1]
    if kind in TREES:
        assert found[0].sentences[0].tree.heads == (-1,)
        assert len(found[3].sentences[0].tree) == 500
        assert len(found[4].tree) == 1000
    assert all(0 < p.probability <= 1 for p in found)


def test_projective_trees_of_many_sentences():
    model = documents({"attention": "none"}, {"attention": "projective"})
    [found] = model.parse([[random_words(2, i) for i in range(300)]])
    assert found.tree.projective


def test_many_words_are_scored_in_several_batches():
    model, texts = documents(), [[random_words(n)] for n in (5, 30, 2, 9, 40, 1)]
    expected = model.predict(texts)
    ran = list(model.run(Texts.from_words(texts), most_words=10))
    assert [text for some, _, _ in ran for text in some] == [5, 2, 0, 3, 1, 4], "by length"
    assert [sum(len(texts[text][0]) for text in some) for some, _, _ in ran] == [8, 9, 30, 40]
    assert len(list(model.run(Texts.from_words(texts), most_words=None))) == 1
    for some, batch, output in ran:
        assert batch.rows.tolist() == some
        for text, probabilities in zip(some, output.logits.softmax(-1).tolist(), strict=True):
            assert probabilities == pytest.approx(list(expected[text].probabilities.values()), abs=1e-6)


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_running_skips_texts_without_words_and_tells_of_them(batch_size):
    told = []
    texts = Texts.from_words([[["a"]], [], [["a", "dog"], ["it"]], [["film"]]])
    model = documents().train()
    running = model.run(
        texts, batch_size, progress=lambda what, n: told.append((what, n)), doing="counting", marginals={}
    )
    for some, _, output in running:
        assert len(some) <= batch_size
        assert output.logits.is_inference()
        assert not model.training
    assert model.training
    assert told[0] == ("counting", 1)
    assert sum(n for _, n in told) == 4


def test_running_with_other_marginals():
    model = documents()
    texts = Texts.from_words(TEXTS)
    [own], [other] = (list(model.run(texts, marginals=marginals)) for marginals in (None, {"words": uniform}))
    with torch.inference_mode():
        torch.testing.assert_close(other.output.logits, model(other.batch, {"words": uniform}).logits)
    assert not torch.allclose(own.output.logits, other.output.logits)


def test_tokens_are_respected():
    model = documents()
    cut = [["The", "well-known", "dog", "don't"], ["Slept", ". ."]]
    [found] = model.parse([cut])
    assert [s.words for s in found.sentences] == cut
    [found] = model.parse([["The dog. It slept.", "Good."]])
    assert [s.words for s in found.sentences] == [["The", "dog", ".", "It", "slept", "."], ["Good", "."]]
    [found] = model.parse(["The dog. It slept."])
    assert [s.words for s in found.sentences] == [["The", "dog", "."], ["It", "slept", "."]]
    tokenizer = Tokenizer("en", lowercase=False, tokenized=True)
    cased = StructuredDocuments(model.settings, ["a", "b"], tokenizer, vocabulary=vocabulary())
    [found] = cased.parse(["The dog.\nIt slept ."])
    assert [s.words for s in found.sentences] == [["The", "dog."], ["It", "slept", "."]]


def test_words_come_back_as_typed_and_are_read_in_lower_case():
    """From raw text and from words: the same answer for any capitals."""
    model = documents()
    typed, lower = "The DOG slept. IT was Good.", "the dog slept. it was good."
    [mine], [theirs] = model.parse([typed]), model.parse([lower])
    assert [s.words for s in mine.sentences] == [["The", "DOG", "slept", "."], ["IT", "was", "Good", "."]]
    assert mine.prediction == theirs.prediction
    assert [s.tree for s in mine.sentences] == [s.tree for s in theirs.sentences]
    cut = model.tokens(typed)
    assert model.read([cut]).lexicon == ["the", "dog", "slept", ".", "it", "was", "good"]
    assert model.predict_tokens([cut]) == model.predict([cut]) == model.predict([lower])
    assert model.parse_tokens([cut])[0].sentences[0].words == cut[0]
    tokenizer = Tokenizer("en", lowercase=False)
    cased = StructuredDocuments(model.settings, model.labels, tokenizer, vocabulary=vocabulary())
    assert cased.read([cut]).lexicon == ["The", "DOG", "slept", ".", "IT", "was", "Good"]
    assert cased.predict([typed]) != cased.predict([lower])


@pytest.mark.parametrize("text", [5, None, b"bytes", [5], [["a", 5]], [None], {"a": 1}, [[["a"]]]])
def test_what_is_no_document(text):
    with pytest.raises(TypeError, match=r"^texts\[1\]: expected a string, a list of sentences or a list of lists"):
        documents().predict(["a dog", text])


@pytest.mark.parametrize("text", ["ab", ["a"], ("a", "b", "c"), 5, None, (1, 2), ["a", [1]]])
def test_what_is_no_pair(text):
    with pytest.raises(TypeError, match=r"^texts\[1\]: expected two sentences, each a string or a list of words, got"):
        pairs().predict([("a dog", "a cat"), text])


def test_half_of_a_pair_has_vectors_of_zeros():
    """As many as it has sentences and words, like every text."""
    [half] = pairs().encode([("a dog", "")], levels=True)
    assert (half.sentences.shape, [words.shape for words in half.words]) == ((1, 8), [(2, 8)])
    assert not any(part.any() for part in (half.text, half.sentences, half.words[0]))


def test_without_vectors_of_texts_nothing_is_encoded():
    model = Majority(MajoritySettings(), ["a", "b"])
    assert model.vector_size is None
    line = "majority: a model without text vectors; expected one that has them, such as structured-documents"
    with pytest.raises(BadInput, match=f"^{line}$"):
        model.encode(["some words"])


def test_other_wrong_arguments():
    model = documents()
    for method in (model.predict, model.parse, model.encode):
        with pytest.raises(TypeError, match="texts: expected a list of texts, got a string"):
            method("a dog")
        with pytest.raises(ValueError, match="batch_size: expected 1 or more, got 0"):
            method(["a dog"], batch_size=0)
    with pytest.raises(ValueError, match="decode: expected marginals, log-marginals or scores, got 'best'"):
        model.parse(["a dog"], decode="best")
    with pytest.raises(BadInput, match=r"texts\[0\]: text: .*half a surrogate pair"):
        model.predict(["\ud800"])


def test_wrong_models():
    settings = StructuredDocumentsSettings(embedding=4)
    for labels in ([], ["a"], ["a", "a"]):
        with pytest.raises(ValueError, match="labels: expected two or more different classes"):
            StructuredDocuments(settings, labels, vocabulary=vocabulary())
    with pytest.raises(ValueError, match="prior: expected 2 probabilities, one for each label, got 1"):
        StructuredDocuments(settings, ["a", "b"], vocabulary=vocabulary(), prior=[1.0])


def test_without_a_prior_all_classes_are_equally_likely():
    model = StructuredDocuments(StructuredDocumentsSettings(embedding=4), ["a", "b"], vocabulary=vocabulary())
    assert model.predict([""])[0].probabilities == {"a": 0.5, "b": 0.5}
    assert model.about == {}


def test_the_model_stays_in_training_mode():
    model = documents().train()
    model.predict(["a dog"])
    assert model.training
    assert model.predict(TEXTS) == model.eval().predict(TEXTS), "but dropout is off"


def test_a_failure_in_the_middle_leaves_the_training_mode():
    model = documents().train()
    running = model.run(Texts.from_words(TEXTS), 1)
    next(running)
    running.close()
    assert model.training


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_untrained(dtype):
    """As the seed of the recipe drew the weights, whatever was trained since."""
    first = documents(grow=False)  # with the seed 0
    model = documents().to(dtype)
    for about in ({}, {"seed": 0}):
        model.about = about
        assert_same_bits(model.untrained(), first.to(dtype))
    model.about = {"seed": 1}
    assert not torch.equal(model.untrained().classifier[1].weight, first.classifier[1].weight)
    assert model.untrained().prior == model.prior


def test_untrained_without_weights():
    model = Majority(MajoritySettings(), ["a", "b"], prior=[0.9, 0.1])
    assert model.untrained().predict(["words"]) == model.predict(["words"])


def test_where_a_model_computes():
    assert documents().device == torch.device("cpu")
    assert documents().to("meta").device == torch.device("meta")
    assert Majority(MajoritySettings(), ["a", "b"]).device == torch.device("cpu")


def test_what_a_model_has_if_it_says_nothing():
    """No word table, no level, no tree."""
    model = Majority(MajoritySettings(), ["a", "b"])
    assert (model.trees, model.levels_with_trees, list(model.known_words), model.parts()) == ({}, [], [], {})
    assert model.word_ids(["some", "words"]).tolist() == [0, 1]
    assert model.word_ids([]).tolist() == [0]
    assert model.facts() == {"Parameters": "0"}
    assert not model.uses_gold
    assert Model.files == ()
    [parsed] = model.parse(["Some words. More."])
    assert [sentence.words for sentence in parsed.sentences] == [["Some", "words", "."], ["More", "."]]
    assert parsed.tree is parsed.weights is parsed.sentences[0].tree is None
