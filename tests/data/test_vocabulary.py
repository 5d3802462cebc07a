import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetext.data import BadInput, Vocabulary
from treetext.data.vocabulary import PAD_ID, UNK_ID

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1)


def test_most_frequent_first_then_by_the_alphabet():
    vocabulary = Vocabulary.from_counts({"rare": 1, "b": 2, "a": 2, "often": 9}, min_count=2)
    assert vocabulary.words == ["<pad>", "<unk>", "often", "a", "b"]
    assert len(vocabulary) == 5


def test_unknown_words_have_the_id_of_unk():
    vocabulary = Vocabulary.from_counts({"a": 1}, min_count=1)
    assert vocabulary.ids(["a", "b", "<unk>", ""]) == [2, UNK_ID, UNK_ID, UNK_ID]


def test_no_word_of_a_text_is_padding():
    vocabulary = Vocabulary.from_counts({"<pad>": 9, "<unk>": 9, "a": 1}, min_count=1)
    assert vocabulary.words == ["<pad>", "<unk>", "a"]
    assert PAD_ID not in vocabulary.ids(["<pad>", "a"])


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(WORDS, st.integers(0, 3)))
def test_a_saved_vocabulary_is_the_same(tmp_path_factory, counts):
    vocabulary = Vocabulary.from_counts(counts, min_count=1)
    path = tmp_path_factory.mktemp("vocabulary") / "words.txt"
    vocabulary.save(path)
    assert Vocabulary.load(path).words == vocabulary.words
    assert Vocabulary.load(path).index == vocabulary.index


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "expected <pad> and <unk> first"),
        (b"a\nb\n", r"expected <pad> and <unk> first, got \['a', 'b'\]"),
        (b"<pad>\n<unk>\na\na\n", "each word once, got 'a' at 2 and at 3"),
        (b"<pad>\n<unk>\nwor", "line 3 does not end"),
        (b"<pad>\n<unk>\n\xff\n", "'utf-8' codec"),
        (b"<pad>\n<unk>\n\na\n", r"words\[2\]: expected a word without line breaks, got ''"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, data, problem):
    path = tmp_path / "words.txt"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=rf"words.txt: not a vocabulary with a word a line: .*{problem}"):
        Vocabulary.load(path)


@pytest.mark.parametrize("word", ["two\nlines", "\ud800"])
def test_words_that_no_file_can_hold_are_refused(word):
    with pytest.raises(ValueError, match=r"^words\[2\]: "):
        Vocabulary.from_counts({word: 1}, min_count=1)
