"""The vocabulary and the initial word vectors of a model."""

import pytest
import torch

from tests.training.small import reviews, tiny
from treetext.data import BadInput, open_corpus
from treetext.training import load_recipe, new_model, train


def test_vectors_from_a_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("good 1 2 3 4 5 6 7 8\nelsewhere 1 1 1 1 1 1 1 1\nbad -1 -2 -3 -4 -5 -6 -7 -8\n")
    recipe, lines = tiny(reviews(tmp_path), model__vocabulary__vectors=str(path)), []
    corpus = open_corpus(recipe.data)
    model = new_model(recipe, corpus, say=lines.append)
    table, index = model.embedding.weight.detach(), model.vocabulary.index
    assert table[index["good"]].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert table[index["bad"]].tolist() == [-1, -2, -3, -4, -5, -6, -7, -8]
    assert table[0].tolist() == [0] * 8
    others = table[[index["film"], index["so"]]]
    assert not torch.equal(others[0], others[1])
    assert 0 < others.abs().max() < 1
    scaled = new_model(
        load_recipe(recipe, {"model.vocabulary.deviation": 0.5}), open_corpus(recipe.data)
    ).embedding.weight
    known = scaled.detach()[[index["good"], index["bad"]]]
    assert float(known.std(correction=0)) == pytest.approx(0.5)
    assert torch.allclose(known / known[0, 0], table[[index["good"], index["bad"]]]), "all by the same factor"
    assert lines[0].endswith("train.csv: text in column 'text', label in column 'label'")
    assert lines[1:-1] == [*corpus.remarks, f"{path} has vectors for 2 of {len(model.vocabulary)} words"]
    with pytest.raises(BadInput, match="vectors of 8 numbers; expected 9"):
        train(load_recipe(recipe, {"model.embedding": 9}), tmp_path / "model")
    with pytest.raises(BadInput, match=r"nowhere\.txt"):
        train(load_recipe(recipe, {"model.vocabulary.vectors": "nowhere.txt"}), tmp_path / "model")


@pytest.mark.parametrize("word", ["good", "elsewhere"])
def test_vectors_without_a_deviation_stay_as_they_are(tmp_path, word):
    """If all are alike, or none belongs to a word of the data."""
    path = tmp_path / "vectors.txt"
    path.write_text(f"{word} 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1\n")
    recipe = tiny(reviews(tmp_path), model__vocabulary__vectors=str(path))
    plain, scaled = (
        new_model(each, open_corpus(each.data)).embedding.weight.detach()
        for each in (recipe, load_recipe(recipe, {"model.vocabulary.deviation": 0.5}))
    )
    assert torch.equal(plain, scaled)


@pytest.mark.parametrize("vectors", ["random", "word2vec"])
def test_vectors_of_a_deviation(tmp_path, vectors):
    recipe = tiny(
        reviews(tmp_path), model__vocabulary__vectors=vectors, model__vocabulary__deviation=2.0, model__embedding=100
    )
    table = new_model(recipe, open_corpus(recipe.data)).embedding.weight.detach()
    assert float(table[1:].std(correction=0)) == pytest.approx(2, rel=0.1 if vectors == "random" else 1e-5)
    assert table[0].tolist() == [0] * 100


def test_vectors_by_word2vec(tmp_path):
    recipe = tiny(reviews(tmp_path, dev=[("good unseen", "good")]), model__vocabulary__vectors="word2vec")
    corpus = open_corpus(recipe.data)
    one, two = (new_model(recipe, corpus).embedding.weight.detach() for _ in range(2))
    assert torch.equal(one, two)
    other = new_model(load_recipe(recipe, {"model.vocabulary.skip_gram": True}), corpus).embedding.weight.detach()
    assert not torch.equal(one, other)
    assert "unseen" not in new_model(recipe, corpus).vocabulary.index, "the words are those of train alone"


def test_min_count(tmp_path):
    data = reviews(tmp_path, train=[("often often rare", "good"), ("often", "bad")])
    words = {n: new_model(recipe, open_corpus(recipe.data)).vocabulary.words[2:]
             for n in (1, 2, 4) for recipe in [tiny(data, model__vocabulary__min_count=n)]}  # fmt: skip
    assert words == {1: ["often", "rare"], 2: ["often"], 4: []}
