import gzip
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st

from treetext.data import BadInput, piece_vectors, read_vectors, word2vec

DATA = os.environ.get("TREETEXT_DATA")
SENTENCES = [f"the {noun} {verb} here".split() for noun in ("cat", "dog", "owl") for verb in ("sat", "ran")] * 50
WORDS = ["<pad>", "<unk>", "the", "cat", "dog", "unseen"]
VECTORS = {"the": [0.5, -1.25, 3.0], "kůň": [1.0, 2.0, 3.5], "猫": [0.25, 0.0, -2.0]}


def test_word2vec_gives_each_word_its_row():
    vectors = word2vec(SENTENCES, 8, words=WORDS)
    assert vectors.shape == (6, 8)
    assert vectors.dtype == np.float32
    assert not vectors[0].any()
    assert (np.abs(vectors[1:]).max(axis=1) > 0).all()
    assert len(np.unique(vectors, axis=0)) == 6


@pytest.mark.parametrize("skip_gram", [False, True])
def test_word2vec_finds_words_in_like_places(skip_gram):
    sentences = [[*left, middle] for left, pair in (("ab", "xy"), ("cd", "uv")) for middle in pair for _ in range(300)]
    vectors = word2vec(sentences, 16, words=list("xyuvabcd"), skip_gram=skip_gram, epochs=30)
    x, y, u, *_ = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert x @ y > x @ u


def test_word2vec_depends_on_the_seed_alone():
    code = f"""
from treetext.data import word2vec
print(word2vec({SENTENCES!r}, 8, words={WORDS!r}, seed=1).tobytes().hex())
"""
    other_process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    vectors = word2vec(SENTENCES, 8, words=WORDS, seed=1)
    assert vectors.tobytes().hex() == other_process.strip()
    assert not np.array_equal(vectors, word2vec(SENTENCES, 8, words=WORDS, seed=2))


def test_word2vec_leaves_out_rare_words():
    rare = word2vec([*SENTENCES, ["unseen", "the"]], 8, words=WORDS, min_count=2)
    none = word2vec([*SENTENCES, ["the"]], 8, words=WORDS, min_count=2)
    assert np.array_equal(rare[-1], none[-1])  # random, of the seed
    assert not np.array_equal(rare[-1], word2vec([*SENTENCES, ["unseen", "the"]], 8, words=WORDS)[-1])


def test_word2vec_without_known_words():
    vectors = word2vec([["other"]], 8, words=WORDS)
    assert not vectors[0].any()
    assert 0 < np.abs(vectors[1:]).max() < 1


def test_word2vec_reads_all_of_a_long_sentence():
    long = ["the", "cat"] * 5_000 + ["dog", "owl"] * 100  # gensim would stop at 10,000 words
    in_pieces = [long[:10_000], long[10_000:]]
    assert np.array_equal(word2vec([long], 8, words=WORDS), word2vec(in_pieces, 8, words=WORDS))


def test_word2vec_tells_its_progress():
    told = []
    word2vec([["the", "cat"]] * 1500, 4, words=WORDS, epochs=2, progress=told.append)
    assert told == [1000, 500] * 3


def test_word2vec_refuses_what_can_be_read_only_once():
    with pytest.raises(
        TypeError, match=r"^sentences: expected a list or the like, to be read many times, got an iterator"
    ):
        word2vec(iter(SENTENCES), 8, words=WORDS)


def as_glove(vectors):
    return "".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in vectors.items()).encode()


def as_word2vec(vectors):
    return b"%d 3\n" % len(vectors) + as_glove(vectors)


def as_fasttext(vectors):
    return as_word2vec(vectors).replace(b"\n", b" \n").replace(b" \n", b"\n", 1)


def as_binary(vectors, end=b"\n"):
    rows = (word.encode() + b" " + np.array(numbers, "<f4").tobytes() + end for word, numbers in vectors.items())
    return b"%d 3\n" % len(vectors) + b"".join(rows)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "write", [as_glove, as_word2vec, as_fasttext, as_binary, lambda vectors: as_binary(vectors, end=b"")]
)
def test_every_format_is_read(tmp_path, write, pack):
    path = tmp_path / "vectors"
    path.write_bytes(pack(write(VECTORS)))
    vectors, found = read_vectors(path, ["<pad>", "猫", "missing", "the"], size=3)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[0, 0, 0], VECTORS["猫"], [0, 0, 0], VECTORS["the"]]
    assert found.tolist() == [False, True, False, True]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1), unique=True, min_size=1),
    st.integers(8, 12),
    st.booleans(),
    st.integers(0, 99),
)
def test_what_gensim_writes_is_read(tmp_path_factory, words, size, binary, seed):
    path = tmp_path_factory.mktemp("vectors") / "vectors"
    written = KeyedVectors(size)
    written.add_vectors(words, np.random.default_rng(seed).standard_normal((len(words), size), np.float32))
    written.save_word2vec_format(str(path), binary=binary)
    vectors, found = read_vectors(path, words)
    assert found.all()
    assert np.array_equal(vectors, written.vectors)


def test_padding_stays_zero(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(as_glove({"<pad>": [1, 1, 1], "<unk>": [2, 2, 2]}))
    assert read_vectors(path, ["<pad>", "<unk>"])[0].tolist() == [[0, 0, 0], [2, 2, 2]]


def test_the_first_of_two_vectors_counts(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"a 1 2\nb 3 4\na 5 6\n")
    assert read_vectors(path, ["a"])[0].tolist() == [[1, 2]]


def test_words_with_odd_spaces(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes("a 1 2\r\n. . . 3 4\nnew\u00a0york 5 6\n 7 8\n\u2028\x85 9 10".encode())
    words = [". . .", "new\u00a0york", "", "\u2028\x85", "a"]
    assert read_vectors(path, words)[0].tolist() == [[3, 4], [5, 6], [7, 8], [9, 10], [1, 2]]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", ", line 1: expected a word and its numbers, or how many vectors of what size there are, got ''"),
        (b"some text\nand more", ", line 1: expected a word and its numbers, .* got 'some text'"),
        (b"PK\x03\x04rest", ", line 1: expected a word and its numbers"),
        (b"a 1 2\nb 1\n", ", line 2: 1 numbers; expected 2"),
        (b"a 1 2\nb 1 2 3\n", ", line 2: 3 numbers; expected 2"),
        (b"a 1 2\n\n", ", line 2: 0 numbers; expected 2"),
        (b"2 2\na 1 2\nb 1\n", ", line 3: 1 numbers; expected 2"),
        (b"a 1 2\nb 1 x\n", ", line 2: number 2 is 'x'; expected a finite number"),
        (b"2 2\nb x 1\nc 1 2\n", ", line 2: number 1 is 'x'; expected a finite number"),
        (b"a 1 2\nb nan 2\n", ", line 2: number 1 is 'nan'; expected a finite number"),
        (b"a 1 2\nb 1e39 2\n", ", line 2: number 1 is '1e39'; expected a finite number"),
        (b"a 1 2\n\xff 1 2\n", ", line 2: 'utf-8' codec can't decode byte 0xff"),
        (b"3 2\na 1 2\nb 1 2\n", ": 2 vectors; expected 3, as its first line says"),
        (b"1 2\na 1 2\nb 1 2\n", ": 2 vectors; expected 1, as its first line says"),
        (as_binary(VECTORS)[:-3], ", vector 3: the file ends within it; expected a word and 3 numbers"),
        (as_binary(VECTORS)[:-14], ", vector 3: the file ends within it; expected a word and 3 numbers"),
        (as_binary(VECTORS | {"b": [1, np.inf, 1]}), ", vector 4: number 2 is inf; expected a finite number"),
        (as_binary(VECTORS).replace(b"3", b"4", 1), ": 3 vectors; expected 4, as its first line says"),
        (gzip.compress(as_glove(VECTORS), mtime=0)[:-1], ": Compressed file ended before the end-of-stream marker"),
        (gzip.compress(as_glove(VECTORS), mtime=0)[:-8] + b"damaged!", ": CRC check failed"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path, data, problem):
    path = tmp_path / "vectors.txt"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=rf"vectors.txt{problem}[^\n]*$"):
        read_vectors(path, ["b"])


def test_a_gzip_file_cut_in_the_middle_names_the_line(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    numbers = np.random.default_rng(0).random((3000, 50)).round(4).astype(str)
    data = gzip.compress("".join(f"w{i} {' '.join(row)}\n" for i, row in enumerate(numbers)).encode())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(BadInput, match=r"vectors.txt.gz, after line \d{3,4}: Compressed file ended before"):
        read_vectors(path, ["w1"])


def test_only_the_rows_of_words_in_use_are_parsed(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"a 1 2\nunused x y\nb 3 4\n")
    assert read_vectors(path, ["b"])[0].tolist() == [[3, 4]]


def test_another_size_than_asked_for_is_refused(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(as_glove(VECTORS))
    with pytest.raises(BadInput, match=r"vectors: vectors of 3 numbers; expected 300, the size asked for$"):
        read_vectors(path, ["the"], size=300)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(
        BadInput, match=r"none: No such file or directory; expected a file of word vectors, plain or gzipped$"
    ):
        read_vectors(tmp_path / "none", ["a"])


@pytest.mark.skipif(not DATA, reason="TREETEXT_DATA is not set: a folder with vectors/glove.6B.100d.txt.gz")
@pytest.mark.parametrize(("name", "size"), [("glove.6B.100d", 100), ("spacy-md.300d", 300)])
def test_published_vectors(name, size):
    words = ["the", "king", "queen", "banana", "nosuchword"]
    vectors, found = read_vectors(Path(DATA, "vectors", f"{name}.txt.gz"), words, size)
    assert found.tolist() == [True, True, True, True, False]
    _, king, queen, banana = vectors[:4] / np.linalg.norm(vectors[:4], axis=1, keepdims=True)
    assert king @ queen > 0.5 > king @ banana


english = pytest.mark.skipif(
    not (find_spec("wordllama") and find_spec("tokenizers")), reason="needs pip install 'treetext[english]'"
)


@english
def test_vectors_of_word_pieces():
    words = ["<pad>", "good", "great", "carburettor", "antidisestablishmentarianism", ""]
    vectors, pieces = piece_vectors(words, 256)
    assert (vectors.dtype, vectors.shape) == (np.float32, (6, 256))
    assert pieces[0] == pieces[5] == 0
    assert pieces[1] == pieces[2] == 1
    assert pieces[4] > 2
    assert not vectors[0].any()
    assert not vectors[5].any()
    good, great, part = vectors[1:4] / np.linalg.norm(vectors[1:4], axis=1, keepdims=True)
    assert good @ great > 0.3 > good @ part
    shorter, same = piece_vectors(words, 32)
    np.testing.assert_array_equal(shorter, vectors[:, :32])
    np.testing.assert_array_equal(same, pieces)


@english
def test_vectors_of_word_pieces_are_no_larger():
    with pytest.raises(
        BadInput, match=r"^wordllama: vectors of 256 numbers; expected model\.embedding of at most that$"
    ):
        piece_vectors(["good"], 257)


@pytest.mark.parametrize("package", ["wordllama", "tokenizers"])
def test_word_pieces_without_their_packages(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(BadInput) as caught:
        piece_vectors(["good"], 8)
    assert str(caught.value) == f"{package} is not installed; expected pip install 'treetext[english]'"
