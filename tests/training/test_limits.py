"""Long texts are cut: in training, in evaluation and in use."""

import json

import pytest

from tests.cli.running import invoke
from tests.training.small import reviews, tiny, write_table
from treetext.data import BadInput, Example, Tokenizer, encode, open_corpus, reader
from treetext.data.tokens import Limits
from treetext.models import load_model
from treetext.training import train

LONG = [["a", "b", "c"], ["d", "e"], ["f"]]


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({}, LONG),
        ({"words": 6}, LONG),
        ({"words": 5}, LONG[:2]),
        ({"words": 4}, [["a", "b", "c"], ["d"]]),
        ({"words": 1}, [["a"]]),
        ({"sentences": 2}, LONG[:2]),
        ({"sentences": 2, "words": 2}, [["a", "b"]]),
        ({"words": 2, "each": True}, [["a", "b"], ["d", "e"], ["f"]]),
    ],
)
def test_cut(limits, kept):
    tokenizer = Tokenizer(limits=Limits(**limits))
    assert tokenizer(LONG) == tokenizer.split(LONG) == kept
    assert tokenizer.whole(LONG) == LONG


def test_texts_beyond_the_limits_are_counted_and_lose_their_gold_trees(tmp_path):
    tree = Example([["a", "b"]], "x", heads=[[-1, 0]])
    cut = Tokenizer(limits=Limits(words=1000, sentences=1))
    corpus = encode([("all", tree), ("all", Example(LONG, heads=LONG))], cut, tmp_path / "some.arrow")
    assert corpus.cut.tolist() == [False, True]
    assert str(cut.limits) == "1,000 words or 1 sentence"
    assert str(Limits(words=1, sentences=2)) == "1 word or 2 sentences"
    assert corpus.document(1) == LONG[:1]
    assert corpus.heads(0).tolist() == [-1, 0]
    assert corpus.heads(1) is None


@pytest.fixture
def films(tmp_path):
    rows = [(f"Film{i} is {word} indeed. It is so long.", word) for i in range(10) for word in ("fine", "dull")]
    return write_table(tmp_path / "films.csv", rows)


def test_the_corpus_says_it_also_from_the_cache_and_has_another_fingerprint(films):
    for _ in range(2):
        corpus = open_corpus(reader("csv", path=films, max_words=3))
        assert corpus.remarks == [f"{films}: 20 of 20 texts with more than 3 words: the rest of each is left out"]
        assert corpus.cut("dev") == [f"{films}: 2 of 2 texts with more than 3 words: the rest of each is left out"]
        assert corpus.encoded.document(0) == [["film0", "is", "fine"]]
    prints = {reader("csv", path=films, **more).fingerprint() for more in ({}, {"max_words": 3}, {"max_sentences": 3})}
    assert len(prints) == 3


def test_a_limit_that_no_text_reaches_says_nothing(films):
    assert open_corpus(reader("csv", path=films, max_words=100)).remarks == []


def test_both_sentences_of_a_pair_stay(tmp_path):
    path = write_table(
        tmp_path / "p.csv", [("a b c", "d e f", "x"), ("a", "b", "y")], ("premise", "hypothesis", "label")
    )
    corpus = open_corpus(reader("csv", path=path, max_words=2, max_sentences=1))
    assert corpus.encoded.document(0) == [["a", "b"], ["d", "e"]]
    assert corpus.cut() == [f"{path}: 1 of 2 texts with more than 2 words in a sentence: the rest of each is left out"]


def test_a_model_cuts_texts_in_use_as_in_training(films, tmp_path):
    said = []
    recipe = tiny({"format": "csv", "path": films}, data__max_words=4, training__epochs=1)
    model = train(recipe, tmp_path / "model", say=said.append)
    assert f"{films}: 20 of 20 texts with more than 4 words: the rest of each is left out" in said
    loaded = load_model(tmp_path / "model")
    short, long = "It is fine indeed", "It is fine indeed and dull. So dull!"
    [one, other] = loaded.predict([short, long])
    assert one == other == model.predict([long])[0]
    assert [sentence.words for sentence in loaded.parse([long])[0].sentences] == [["It", "is", "fine", "indeed"]]
    done = invoke("evaluate", tmp_path / "model", "--data", films, "--json")
    assert "20 of 20 texts with more than 4 words" in done.stderr
    assert json.loads(done.stdout)["seen"] == 18


def test_models_without_limits_are_saved_as_before(tmp_path):
    train(tiny(reviews(tmp_path / "data"), training__epochs=1), tmp_path / "model")
    assert "limits" not in json.loads((tmp_path / "model" / "config.json").read_text())


@pytest.mark.parametrize("key", ["max_words", "max_sentences"])
def test_limits_below_one_are_refused(key, films):
    with pytest.raises(BadInput, match=f"{key}: Input should be greater than or equal to 1; got 0"):
        reader("csv", path=films, **{key: 0})
