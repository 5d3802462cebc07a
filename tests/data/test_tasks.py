"""What one input of a model is."""

import json

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from treetext.data import DOCUMENTS, PAIRS, BadInput, Example, Tokenizer, encode
from treetext.data.tasks import TASKS

ENGLISH, AS_IS = Tokenizer("en"), Tokenizer(lowercase=False, tokenized=True)
TWO_SENTENCES = [["Hot", "tea", "."], ["More", "!"]]


def test_tasks_by_name():
    assert TASKS == {"documents": DOCUMENTS, "pairs": PAIRS}
    assert [str(task) for task in TASKS.values()] == list(TASKS)


@pytest.mark.parametrize("text", ["Hot tea. More!", ["Hot tea.", "More!"], [["Hot", "tea", "."], ["More", "!"]]])
def test_documents_come_in_many_ways(text):
    assert DOCUMENTS.tokens(text, ENGLISH) == TWO_SENTENCES
    if not isinstance(text, str):
        assert DOCUMENTS.tokens(tuple(text), ENGLISH) == PAIRS.tokens(text, ENGLISH) == TWO_SENTENCES
        assert PAIRS.tokens(tuple(text), ENGLISH) == TWO_SENTENCES


def test_sentences_without_words_are_left_out():
    assert DOCUMENTS.tokens(["Tea", " ", ""], ENGLISH) == [["Tea"]]
    assert DOCUMENTS.tokens("", ENGLISH) == DOCUMENTS.tokens([], ENGLISH) == []
    assert PAIRS.tokens(["Tea", " "], ENGLISH) == [["Tea"]]
    assert PAIRS.tokens([[], ["Tea"]], ENGLISH) == [["Tea"]]


@pytest.mark.parametrize("text", [None, 3, b"tea", {"text": "tea"}, [1, 2], [["tea", 3]], [[["tea"]]], {"tea"}])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(TypeError, match=r"^expected a string, a list of sentences or a list of lists of words, got "):
        DOCUMENTS.tokens(text, ENGLISH)


@pytest.mark.parametrize("text", ["Tea. More.", ["Tea."], ["Tea.", "More.", "Less."], [], None, ["Tea.", 3], [["a"]]])
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(TypeError, match=r"^expected two sentences, each a string or a list of words, got "):
        PAIRS.tokens(text, ENGLISH)


def test_long_input_is_not_repeated_in_full():
    with pytest.raises(TypeError) as caught:
        PAIRS.tokens("tea " * 1000, ENGLISH)
    assert len(str(caught.value)) < 120


def test_when_an_input_is_whole():
    sentences = np.array([0, 1, 2, 3])
    assert DOCUMENTS.is_whole(sentences).tolist() == [False, True, True, True]
    assert PAIRS.is_whole(sentences).tolist() == [False, False, True, False]
    assert [DOCUMENTS.is_whole(n) for n in (0, 1)] == [PAIRS.is_whole(n) for n in (1, 2)] == [False, True]


def test_lengths(tmp_path):
    texts = [[["a"] * 3, ["b"] * 4], [["a"], ["b"] * 9], [["a"] * 5, ["b"]]]
    encoded = encode((("all", Example(text)) for text in texts), AS_IS, tmp_path / "texts.arrow")
    rows = np.array([2, 0])
    for task, expected in ((DOCUMENTS, [[2, 2], [6, 7]]), (PAIRS, [[5, 3], [1, 4]])):
        assert [lengths.tolist() for lengths in task.lengths(encoded, rows)] == expected
        assert [lengths.tolist() for lengths in task.lengths(encoded, rows[:0])] == [[], []]


def test_lines():
    assert DOCUMENTS.from_line("Hot\ttea.", "teas.txt, line 1") == "Hot\ttea."
    assert PAIRS.from_line("Hot tea.\tMore!", "teas.txt, line 1") == ["Hot tea.", "More!"]
    assert PAIRS.from_line(" ", "teas.txt, line 1") == ["", ""]
    for line, fields in (("tea", "1 field"), ("a\tb\tc", "3 fields")):
        expected = f"^teas.txt, line 7: {fields}; expected two sentences with a tab in between$"
        with pytest.raises(BadInput, match=expected):
            PAIRS.from_line(line, "teas.txt, line 7")


@pytest.mark.parametrize("sizes", [[], [1], [2], [3], [1, 2], [4, 1, 2], [1, 1, 1]])
def test_inputs_from_sentences(sizes):
    words = iter("abcdefgh")
    documents = [[[next(words)] for _ in range(size)] for size in sizes]
    sentences = [sentence for document in documents for sentence in document]
    assert DOCUMENTS.from_sentences(documents) == documents
    pairs = PAIRS.from_sentences(documents)
    assert all(len(pair) == 2 for pair in pairs)
    assert [sentence for pair in pairs for sentence in pair][: len(sentences)] == sentences
    assert len(pairs) == -(-len(sentences) // 2)


def test_types_in_json():
    assert TypeAdapter(DOCUMENTS.json_type(str)).validate_python("tea") == "tea"
    pair = TypeAdapter(PAIRS.json_type(str))
    assert pair.validate_python(["a", "b"]) == ["a", "b"]
    for wrong in ("ab", ["a"], ["a", "b", "c"], ["a", 3]):
        with pytest.raises(ValidationError):
            pair.validate_python(wrong)


@pytest.mark.parametrize("task", TASKS.values(), ids=str)
def test_samples_are_what_the_task_takes(task):
    sample = task.sample
    assert task.tokens(sample.text, ENGLISH) == sample.sentences
    assert task.is_whole(len(sample.sentences))
    assert [len(heads) for heads in sample.heads] == [len(sentence) for sentence in sample.sentences]
    assert all(heads.count(-1) == 1 for heads in sample.heads)
    assert sample.sentence_heads is None or len(sample.sentence_heads) == len(sample.sentences)
    assert TypeAdapter(task.json_type(str)).validate_json(json.dumps(sample.text)) == sample.text
    assert len(task.columns) == (2 if task is PAIRS else 1)
    assert task.tokens(eval(task.python), ENGLISH)  # a literal
