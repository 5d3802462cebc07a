"""N-grams: against a slow reference, and against scikit-learn where it does the same."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from treetext.data import BadInput
from treetext.data.ngrams import KINDS, MOST_CHARACTERS, MOST_NEW, Ngrams, character_ngrams, pair_ngrams

WORD = st.text("abé ,\u2028\t\r\"'\\", min_size=1, max_size=4)
SENTENCES = st.lists(st.lists(WORD, min_size=1, max_size=6), min_size=1, max_size=3)
PAIR = st.lists(st.lists(WORD, min_size=1, max_size=6), min_size=2, max_size=2)


def in_text(sentences, characters):
    """The n-grams of a document by their definition."""
    names = []
    for words in sentences:
        names += [f"w {word}" for word in words]
        names += [f"w {words[i]} {words[i + 1]}" for i in range(len(words) - 1)]
        for word in words if characters else ():
            padded = f" {word} "
            names += [f"c {padded[i:j]}" for i in range(len(padded)) for j in range(i + 2, min(len(padded), i + 5) + 1)]
    return Counter(names)


def in_pair(first, second):
    """The n-grams of a pair by their definition."""
    one, two = (Counter(name[2:] for name in in_text([words], False).elements()) for words in (first, second))
    only, new = ([w for w in words if w not in other] for words, other in ((first, two), (second, one)))
    common = len(second) - len(new)
    names = Counter({f"1 {gram}": n for gram, n in one.items()})
    names.update({f"2 {gram}": n for gram, n in two.items()})
    names.update({f"= {gram}": n for gram, n in two.items() if gram in one})
    names.update({f"< {gram}": n for gram, n in one.items() if gram not in two})
    names.update({f"> {gram}": n for gram, n in two.items() if gram not in one})
    names.update(f"x {word} {other}" for word in set(only) for other in set(new))
    names[f"n {math.floor(10 * common / len(second))} of 10 words in common"] += 1
    names[f"n {min(10, len(new))} words of the second only"] += 1
    names[f"n {min(20, len(second))} words in the second"] += 1
    names[f"n {max(-20, min(20, len(second) - len(first)))} words more in the second"] += 1
    return names


def expected(texts, text, min_count):
    """The weight of each n-gram of a text (all as counters), if these are the training texts."""
    found = Counter(name for each in texts for name in each)
    weights = {
        name: (1 + math.log(n)) * (math.log((1 + len(texts)) / (1 + found[name])) + 1)
        for name, n in text.items()
        if found[name] >= min_count
    }
    norms = {kind: math.hypot(*(w for name, w in weights.items() if name[0] == kind)) for kind in KINDS}
    return {name: KINDS[name[0]].norm * weight / norms[name[0]] for name, weight in weights.items()}


def weights(ngrams, text):
    columns, values = ngrams.bag(text)
    assert columns.tolist() == sorted(set(columns.tolist()))
    assert values.dtype == np.float32
    return {ngrams.names[i]: value for i, value in zip(columns.tolist(), values.tolist(), strict=True)}


@settings(deadline=None, max_examples=60)
@given(st.lists(SENTENCES, min_size=1, max_size=5), SENTENCES, st.integers(1, 2), st.booleans())
def test_documents_as_defined(texts, other, min_count, characters):
    ngrams = Ngrams.of(texts, min_count, characters)
    counted = [in_text(text, characters) for text in texts]
    kept = {name for each in counted for name in each if sum(name in text for text in counted) >= min_count}
    assert ngrams.names == sorted(kept)
    assert not ngrams.pair
    for text in [*texts, other]:
        found = weights(ngrams, text)
        assert found == pytest.approx(expected(counted, in_text(text, characters), min_count), rel=1e-5)


@settings(deadline=None, max_examples=60)
@given(st.lists(PAIR, min_size=1, max_size=5), PAIR, st.integers(1, 2))
def test_pairs_as_defined(texts, other, min_count):
    ngrams = Ngrams.of(texts, min_count, pair=True)
    counted = [in_pair(*text) for text in texts]
    assert ngrams.pair == bool(ngrams.names)
    assert not ngrams.characters
    for text in [*texts, other]:
        assert weights(ngrams, text) == pytest.approx(expected(counted, in_pair(*text), min_count), rel=1e-5)


def random_texts(n, seed=0):
    """Texts of one sentence, with frequent and rare words."""
    random = np.random.default_rng(seed)
    return [[[f"wo{int(i)}rd" for i in random.pareto(1, random.integers(1, 30))]] for _ in range(n)]


@pytest.mark.parametrize("min_count", [1, 3])
def test_as_scikit_learn(min_count):
    texts, others = random_texts(60), random_texts(20, seed=1)
    ngrams = Ngrams.of(texts, min_count)
    options = {"min_df": min_count, "sublinear_tf": True, "lowercase": False, "dtype": np.float32}
    for kind, vectorizer in (
        ("w", TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), **options)),
        ("c", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **options)),
    ):
        vectorizer.fit([" ".join(text[0]) for text in texts])
        columns = [i for i, name in enumerate(ngrams.names) if name[0] == kind]
        names = vectorizer.get_feature_names_out().tolist()
        assert sorted(ngrams.names[i][2:] for i in columns) == sorted(names)
        for some in (texts, others):
            theirs = vectorizer.transform([" ".join(text[0]) for text in some])
            theirs = theirs[:, [vectorizer.vocabulary_[ngrams.names[i][2:]] for i in columns]]
            np.testing.assert_allclose(ngrams.vectors(some)[:, columns].toarray(), theirs.toarray(), atol=1e-6)


def test_vectors_are_the_bags_in_rows():
    texts = [*random_texts(9), [["unheard"]], []]
    ngrams = Ngrams.of(texts[:9], characters=False)
    vectors = ngrams.vectors(iter(texts))
    assert vectors.shape == (11, len(ngrams))
    assert vectors.dtype == np.float32
    for i, text in enumerate(texts):
        columns, values = ngrams.bag(text)
        assert np.array_equal(vectors[[i]].indices, columns)
        assert np.array_equal(vectors[[i]].data, values)
    assert not vectors[[9, 10]].nnz
    assert ngrams.vectors([]).shape == (0, len(ngrams))


def test_no_texts_and_no_ngrams():
    for ngrams in (Ngrams.of([]), Ngrams.of([[["alone"]]]), Ngrams.of([[["a"], ["b"]]], pair=True)):
        assert len(ngrams) == 0
        assert ngrams.bag([["alone"], ["b"]]).columns.tolist() == []
        assert ngrams.vectors([[["alone"]]] * 3).shape == (3, 0)


def test_pairs_without_words_in_common_between_texts():
    """The n-grams are of pairs, even if only numbers of words are known."""
    ngrams = Ngrams.of([[["a"], ["b"]], [["c"], ["d"]]], pair=True)
    assert {name[0] for name in ngrams.names} == {"n"}
    assert len(ngrams.bag([["e"], ["f"]]).columns) == 4


def test_a_text_of_another_task_has_no_ngrams():
    """Such as a pair with one sentence."""
    ngrams = Ngrams.of([[["a"], ["b"]]] * 2, pair=True)
    assert len(ngrams.bag([["a"]]).columns) == 0


def test_long_texts_have_bounded_numbers_of_ngrams():
    assert character_ngrams("y" * 10_000) == character_ngrams("y" * MOST_CHARACTERS)
    words, others = ([f"{letter}{i}" for i in range(500)] for letter in "ab")
    crossed = [name for name in pair_ngrams(words, others) if name[0] == "x"]
    assert len(crossed) == len(set(crossed)) == MOST_NEW**2


ODD = ["\u2028", "\r", "\t", "\x85", '"', "'", "\\n", " ", "a b", "ß", "\U0001f600", "\x00", "<unk>"]


@pytest.mark.parametrize("pair", [False, True])
def test_a_saved_file_is_the_same(tmp_path, pair):
    texts = [[ODD, list(reversed(ODD))], [["a", "b", *ODD], ["and"]]] * 2
    ngrams = Ngrams.of(texts, pair=pair)
    path = tmp_path / "ngrams.txt"
    ngrams.save(path)
    found = Ngrams.load(path)
    assert (found.names, found.index) == (ngrams.names, ngrams.index)
    assert (found.pair, found.characters) == (ngrams.pair, ngrams.characters) == (pair, not pair)
    assert found.idf.dtype == ngrams.idf.dtype == np.float32
    assert np.array_equal(found.idf, ngrams.idf)
    assert all(np.array_equal(x, y) for x, y in zip(found.bag(texts[0]), ngrams.bag(texts[0]), strict=True))
    found.save(tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == path.read_bytes()


def test_line_breaks_are_left_out(tmp_path):
    """The file has one n-gram per line. What has no line break in it stays."""
    ngrams = Ngrams.of([[["two\nlines", "one"]]] * 2)
    assert "w one" in ngrams.names
    assert "c  two" in ngrams.names
    assert not any("\n" in name for name in ngrams.names)
    ngrams.save(tmp_path / "ngrams.txt")
    assert Ngrams.load(tmp_path / "ngrams.txt").names == ngrams.names


def test_no_ngrams_are_saved_too(tmp_path):
    Ngrams.of([]).save(tmp_path / "ngrams.txt")
    assert len(Ngrams.load(tmp_path / "ngrams.txt")) == 0


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"1.5 w wor", "line 1 does not end: expected a whole file"),
        (b"1.5 w a\nmany w b\n", "could not convert string to float: 'many'"),
        (b"1.5 w \xff\n", "'utf-8' codec"),
        (b"1.5\n", r"names\[0\]: expected a letter of wc12=<>xn, a space and a line, got ''"),
        (b"1.5 w a\n1.5 q b\n", r"names\[1\]: expected a letter of .*, got 'q b'"),
        (b"1.5 word\n", r"names\[0\]: expected a letter of .*, got 'word'"),
        (b"1.5 w a\n1.2 w a\n", "names: expected each n-gram once"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, data, problem):
    path = tmp_path / "ngrams.txt"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=rf"ngrams.txt: not a list of n-grams with their idf: .*{problem}"):
        Ngrams.load(path)
