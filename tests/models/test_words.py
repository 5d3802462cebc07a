"""Models with a word table: its vocabulary, where its vectors start, and smaller tables."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

from tests.models.building import WORDS, documents, pairs, vocabulary
from tests.models.toy import toy_corpus
from treetext.data import DOCUMENTS, BadInput
from treetext.models import (
    StructuredDocuments,
    StructuredDocumentsSettings,
    VocabularySettings,
    load_model,
    save_model,
    shrink,
)
from treetext.models.words import corpus_vocabulary, first_vectors


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(DOCUMENTS, tmp_path)


@pytest.mark.parametrize("make", [documents, pairs])
def test_fewer_words_change_nothing_for_those_that_stay(make, tmp_path):
    model = make()
    small = shrink(model, 10)
    assert small.vocabulary.words == ["<pad>", "<unk>", *WORDS[:8]]
    assert small.size == model.size
    assert not small.training
    kept, gone = ["the dog was a cat", "a film is the plot"], ["very good", "i slept"]
    assert small.predict([kept]) == model.predict([kept])
    [[mine], [theirs]] = model.parse([kept]), small.parse([kept])
    assert [sentence.tree for sentence in mine.sentences] == [sentence.tree for sentence in theirs.sentences]
    assert small.predict([gone]) == model.predict([["unheard of", "nor that"]]) != model.predict([gone])
    save_model(small, tmp_path / "small")
    assert load_model(tmp_path / "small").predict([kept]) == model.predict([kept])
    assert len(model.vocabulary) == len(WORDS) + 2, "the model itself is as it was"


@pytest.mark.parametrize("words", [-1, 2, 100])
def test_as_many_words_as_there_are(words):
    with pytest.raises(ValueError, match=f"words: expected 3 to 21, .*got {words}"):
        shrink(documents(), words)


def test_the_size_is_without_the_word_vectors():
    model = documents()
    total = sum(p.numel() for p in model.parameters())
    assert model.size == total - model.embedding.weight.numel()
    assert model.facts()["Parameters, without word vectors"] == f"{model.size:,}"
    assert model.facts()["Vocabulary"] == "21 words"


def test_ids_of_words():
    model = documents()
    assert model.word_ids(["the", "unheard", "dog", "<pad>"]).tolist() == [2, 1, 4, 1]
    assert model.word_ids([]).tolist() == [1]
    assert list(model.known_words) == vocabulary().words


def test_the_words_of_the_training_data(corpus):
    counts = {}
    for row in corpus.rows["train"].tolist():
        for sentence in corpus.encoded.document(row):
            for word in sentence:
                counts[word] = counts.get(word, 0) + 1
    for least in (1, 12, 30):
        kept = [word for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n >= least]
        assert corpus_vocabulary(corpus, least).words == ["<pad>", "<unk>", *kept]


def start(corpus, seed=3, **settings):
    """The first vectors of a vocabulary, and what is said of them."""
    words = corpus_vocabulary(corpus, 1)
    return first_vectors(corpus, VocabularySettings(min_count=1, **settings), words, 8, seed)


def test_random_vectors(corpus):
    assert start(corpus, vectors="random") == (None, None)
    vectors, note = start(corpus, vectors="random", deviation=2.0)
    assert note is None
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(corpus_vocabulary(corpus, 1)), 8))
    assert vectors.std() == pytest.approx(2, rel=0.2)
    np.testing.assert_array_equal(vectors, start(corpus, vectors="random", deviation=2.0)[0])
    assert not np.array_equal(vectors, start(corpus, seed=4, vectors="random", deviation=2.0)[0])


@pytest.mark.parametrize("skip_gram", [False, True])
def test_word2vec(corpus, skip_gram):
    told = []
    words, settings = corpus_vocabulary(corpus, 1), VocabularySettings(min_count=1, skip_gram=skip_gram, epochs=2)
    vectors, note = first_vectors(corpus, settings, words, 8, 3, lambda what, n: told.append((what, n)))
    assert note is None
    assert vectors.shape == (len(words), 8)
    assert vectors[2:].any(1).all()
    assert not vectors[0].any()
    assert {what for what, _ in told} == {"word2vec: sentences"}
    scaled, _ = start(corpus, skip_gram=skip_gram, epochs=2, deviation=0.5)
    assert scaled[1:].std() == pytest.approx(0.5, rel=1e-4)


def test_vectors_of_a_file(corpus, tmp_path):
    (tmp_path / "vectors.txt").write_text("good 1 2 3 4 5 6 7 8\nother 1 1 1 1 1 1 1 1\n")
    vectors, note = start(corpus, vectors=str(tmp_path / "vectors.txt"))
    words = corpus_vocabulary(corpus, 1)
    assert note == f"{tmp_path / 'vectors.txt'} has vectors for 1 of {len(words)} words"
    assert vectors[words.index["good"]].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert vectors[words.index["bad"]].std() == pytest.approx(0.1, abs=0.1)
    settings = StructuredDocumentsSettings(
        embedding=8, vocabulary={"min_count": 1, "vectors": str(tmp_path / "vectors.txt")}
    )
    said = []
    model = StructuredDocuments.for_corpus(settings, corpus, seed=3, say=said.append)
    assert said == [note]
    torch.testing.assert_close(model.embedding.weight[2:].detach(), torch.from_numpy(vectors[2:]), rtol=0, atol=0)
    assert not model.embedding.weight[0].any(), "that of the padding is 0"
    with pytest.raises(BadInput):
        start(corpus, vectors=str(tmp_path / "nothing.txt"))


def test_wrong_vectors():
    with pytest.raises(ValueError, match=r"vectors: expected 21 vectors of 4 numbers, .*got \(1, 4\)"):
        StructuredDocuments(
            StructuredDocumentsSettings(embedding=4),
            ["a", "b"],
            vocabulary=vocabulary(),
            vectors=np.zeros((1, 4), np.float32),
        )


def test_shrinking_keeps_the_temperature():
    model = documents()
    model.temperature = 2.0
    assert shrink(model, 10).temperature == 2.0


@pytest.mark.skipif(find_spec("wordllama") is None, reason="needs pip install 'treetext[english]'")
def test_pretrained_vectors_of_english(corpus):
    vectors, note = start(corpus, vectors="wordllama")
    words = corpus_vocabulary(corpus, 1)
    assert note == f"wordllama has vectors for {len(words) - 1} of {len(words) - 1} words"
    assert not vectors[0].any()
    assert vectors[1:].std() == pytest.approx(0.5, rel=1e-3)
    assert start(corpus, vectors="wordllama", deviation=2.0)[0] == pytest.approx(4 * vectors, abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_shrinking_keeps_the_type_of_the_weights(dtype):
    small = shrink(documents().to(dtype), 10)
    assert {values.dtype for values in small.state_dict().values()} == {dtype}
