import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetext.data import BadInput, Encoded, EncodedWriter, Example, Tokenizer, encode, encoded, word2vec
from treetext.data.document import REDUCE, SHIFT, UNKNOWN

AS_IS = Tokenizer(lowercase=False, tokenized=True)
WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1).filter(str.strip)
DOCUMENTS = st.lists(st.lists(st.lists(WORD, min_size=1)))
PET = Example([["a", "cat"], ["yes"]], "pet", "pets.csv, row 2", heads=[[1, -1], [-1]], sentence_heads=[-1, 0])
NONE = Example("  ", None, "pets.csv, row 3")
DOG = Example([["a", "dog", "a"]], "other", "pets.csv, row 4")


@pytest.fixture
def pets(tmp_path):
    return encode([("train", PET), ("test", NONE), ("train", DOG)], AS_IS, tmp_path / "pets.arrow")


@settings(deadline=None, max_examples=50)
@given(DOCUMENTS, st.integers(1, 9), st.integers(1, 3))
def test_words_come_back(tmp_path_factory, documents, most_words, most_rows):
    path = tmp_path_factory.mktemp("encoded") / "corpus.arrow"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoded, "MOST_WORDS", most_words)
        patch.setattr(encoded, "MOST_ROWS", most_rows)
        corpus = encode((("all", Example(document)) for document in documents), AS_IS, path)
    assert [corpus.document(row) for row in range(len(corpus))] == documents
    assert corpus.sizes.tolist() == [sum(map(len, document)) for document in documents]
    assert corpus.sentence_counts.tolist() == list(map(len, documents))
    assert list(corpus.sentences(range(len(corpus)))) == [sentence for document in documents for sentence in document]
    words = [word for document in documents for sentence in document for word in sentence]
    assert corpus.lexicon == list(dict.fromkeys(words))
    assert corpus.counts(range(len(corpus))).tolist() == [words.count(word) for word in corpus.lexicon]


def test_a_row_has_all_of_its_example(pets):
    assert len(pets) == 3
    assert pets.lexicon == ["a", "cat", "yes", "dog"]
    assert [pets.words(row).tolist() for row in range(3)] == [[0, 1, 2], [], [0, 3, 0]]
    assert [pets.lengths(row).tolist() for row in range(3)] == [[2, 1], [], [3]]
    assert pets.words(0).dtype == pets.lengths(0).dtype == np.int32
    assert [pets.label(row) for row in range(3)] == ["pet", None, "other"]
    assert (pets.labels.tolist(), pets.label_names) == ([0, -1, 1], ["pet", "other"])
    assert (pets.splits.tolist(), pets.split_names) == ([0, 1, 0], ["train", "test"])
    assert [pets.where(row) for row in range(3)] == ["pets.csv, row 2", "pets.csv, row 3", "pets.csv, row 4"]


def test_gold_trees_are_kept_where_known(pets):
    assert pets.heads(0).tolist() == [1, -1, -1]
    assert pets.sentence_heads(0).tolist() == [-1, 0]
    assert pets.heads(2) is pets.sentence_heads(2) is None


def test_some_heads_may_be_unknown(tmp_path):
    example = Example([["a", "b"], ["c"]], heads=[[UNKNOWN, 0], [UNKNOWN]], sentence_heads=[UNKNOWN, 0])
    corpus = encode([("all", example)], AS_IS, tmp_path / "some.arrow")
    assert corpus.heads(0).tolist() == [UNKNOWN, 0, UNKNOWN]
    assert corpus.sentence_heads(0).tolist() == [UNKNOWN, 0]


def test_binary_parses_are_kept_where_known(tmp_path):
    parses = [[SHIFT], [SHIFT, SHIFT, REDUCE, SHIFT, SHIFT, REDUCE, REDUCE]]
    parsed = Example([["one"], ["a", "cat", "is", "here"]], parses=parses)
    corpus = encode([("all", parsed), ("all", DOG)], AS_IS, tmp_path / "parsed.arrow")
    assert corpus.parses(0).tolist() == [0, 0, 0, 1, 0, 0, 1, 1]
    assert corpus.parses(1) is None


def test_empty_documents_are_kept_and_counted(pets):
    assert pets.empty == 1
    assert pets.document(1) == []


def test_counts_are_of_the_rows_asked_for(pets):
    assert pets.counts([2]).tolist() == [2, 0, 0, 1]
    assert pets.counts([2, 2, 0]).tolist() == [5, 1, 1, 2]
    assert pets.counts([]).tolist() == [0, 0, 0, 0]
    assert pets.counts([2]).dtype == np.int64


def test_arrays_are_views_of_the_file(pets):
    assert not pets.words(0).flags.writeable
    assert not pets.words(0).flags.owndata


def test_a_worker_process_gets_the_path_only(pets):
    sent = pickle.dumps(pets)
    assert len(sent) < 1000
    assert pickle.loads(sent).document(0) == PET.text


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_refused(pets, row):
    for method in (pets.words, pets.lengths, pets.label, pets.where, pets.heads):
        with pytest.raises(IndexError, match=f"^row: expected one of 0 to 2, got {row}$"):
            method(row)


def test_an_empty_corpus(tmp_path):
    corpus = encode([], AS_IS, tmp_path / "none.arrow")
    assert (len(corpus), corpus.empty, corpus.lexicon, corpus.label_names) == (0, 0, [], [])
    assert corpus.counts([]).tolist() == []


def test_a_very_long_sentence(tmp_path):
    words = [f"w{i % 1000}" for i in range(1_000_000)]
    corpus = encode([("all", Example([words])), ("all", DOG)], AS_IS, tmp_path / "long.arrow")
    assert corpus.document(0) == [words]
    assert corpus.document(1) == DOG.text


def test_nuls_and_any_script_survive(tmp_path):
    document = [["\0", "a\0", "žluť", "猫", "👩\u200d👧", "e\u0301", "é", "New York", "\x85a"]]
    corpus = encode([("all", Example(document, "a\0b", "\0.txt"))], AS_IS, tmp_path / "odd.arrow")
    assert (corpus.document(0), corpus.label(0), corpus.where(0)) == (document, "a\0b", "\0.txt")


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        (Example("a \ud800 b"), r"text: '\\ud800' \(character 3\) is half a surrogate pair; expected text"),
        (Example([["fine", "b\udcff"]]), r"word 'b\\udcff': '\\udcff' \(character 2\) is half"),
        (Example([["fine"]], "\ud800"), r"label: '\\ud800' \(character 1\) is half"),
        (Example([["two\nlines"]]), r"word 'two\\nlines': expected no line break within a word"),
        (Example([["a", "b"]], heads=[[-1]]), r"heads: trees over \[1\] words; expected \[2\], the words of each"),
        (Example([["a", " "]], heads=[[-1, 0]]), r"heads: trees over \[2\] words; expected \[1\]"),
        (Example([["a", "b"]], heads=[[-1, 2]]), r"heads\[0\]: a head of 2; expected -1 for a root, or one of 0 to 1"),
        (Example([["a", "b"]], heads=[[-2, 0]]), r"heads\[0\]: a head of -2; expected -1"),
        (Example([["a"], []], sentence_heads=[-1, 0]), "sentence_heads: 2 heads; expected 1, as many as"),
        (Example([["a"]], sentence_heads=[1]), "sentence_heads: a head of 1; expected -1"),
        (Example([["a"], ["b"]], parses=[[0]]), "parses: 1 parses; expected 2, one for each sentence"),
        (Example([["a", "b"]], parses=[[0, 0]]), r"parses\[0\]: no binary parse of 2 words; expected 3 transitions"),
        (Example([["a", "b"]], parses=[[0, 1, 0]]), r"parses\[0\]: no binary parse of 2 words"),
        (Example([["a", "b"]], parses=[[0, 0, 1, 0, 1]]), r"parses\[0\]: no binary parse of 2 words"),
        (Example([["a"], ["a", "b"]], parses=[[0], [0, 0, 2]]), r"parses\[1\]: no binary parse of 2 words"),
        (Example([["a", "b"]], parses=[[]]), r"parses\[0\]: no binary parse of 2 words"),
    ],
)
def test_bad_input_is_refused_with_its_place(tmp_path, example, problem):
    bad = example._replace(where="pets.csv, row 9")
    with pytest.raises(BadInput, match=rf"^pets.csv, row 9: {problem}[^\n]*$"):
        encode([("all", PET), ("all", bad)], Tokenizer(), tmp_path / "corpus.arrow")
    assert list(tmp_path.iterdir()) == []


def test_a_path_of_any_bytes_can_be_named(tmp_path):
    corpus = encode([("all", Example("a", where="\udcff.txt"))], AS_IS, tmp_path / "corpus.arrow")
    assert corpus.where(0) == r"\udcff.txt"


def test_a_writer_goes_on_after_bad_input(tmp_path):
    path = tmp_path / "corpus.arrow"
    with EncodedWriter(path) as writer:
        with pytest.raises(BadInput):
            writer.add(Example(""), [["new", "b\udcff"]], "all")
        with pytest.raises(ValueError, match=r"^sentences\[1\]: expected at least one word, got none"):
            writer.add(Example(""), [["a"], []], "all")
        writer.add(Example(""), [["b", "new"]], "all")
    assert Encoded(path).document(0) == [["b", "new"]]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError])
def test_the_old_file_survives_trouble(pets, trouble):
    def examples():
        yield "train", DOG
        raise trouble

    with pytest.raises(trouble):
        encode(examples(), AS_IS, pets.path)
    assert [file.name for file in pets.path.parent.iterdir()] == ["pets.arrow"]
    assert Encoded(pets.path).document(0) == PET.text


def test_the_old_file_survives_a_full_disk(pets):
    resource = pytest.importorskip("resource", reason="the size of files cannot be limited here")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="writing"):
            encode((("all", DOG) for _ in range(20_000)), AS_IS, pets.path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [file.name for file in pets.path.parent.iterdir()] == ["pets.arrow"]
    assert Encoded(pets.path).document(0) == PET.text


def test_an_open_corpus_survives_being_written_anew(pets):
    again = encode([("all", DOG)], AS_IS, pets.path)
    assert (len(pets), len(again)) == (3, 1)
    assert pets.document(0) == PET.text


@pytest.mark.parametrize("size", [0, 10, 1000])
def test_a_truncated_file_is_refused(pets, size):
    pets.path.write_bytes(pets.path.read_bytes()[:size])
    with pytest.raises(BadInput, match=r"pets.arrow: not a whole encoded corpus: [^\n]*; encode the texts again$"):
        Encoded(pets.path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"none.arrow: not a whole encoded corpus: [^\n]*; encode"):
        Encoded(tmp_path / "none.arrow")


def test_a_file_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "corpus.arrow"
    encode([("all", PET)], AS_IS, path)
    monkeypatch.setattr(encoded, "FORMAT", b"0")
    with pytest.raises(BadInput, match=r"corpus.arrow: format b'4', expected b'0', that of this version; encode"):
        Encoded(path)


def test_progress_is_told_of_every_document(tmp_path):
    told = []
    encode((("all", DOG) for _ in range(250)), AS_IS, tmp_path / "corpus.arrow", told.append)
    assert told == [100, 100, 50]


def test_word2vec_reads_an_encoded_corpus(pets):
    vectors = word2vec(pets.sentences([0, 2]), 4, words=["<pad>", "<unk>", "a", "dog"])
    assert vectors.shape == (4, 4)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_memory_stays_flat(tmp_path):
    """A corpus of 300,000 documents, 20 million words."""

    def peak():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

    random = np.random.default_rng(0)
    words = [f"word{i}" for i in range(30_000)]

    def examples(n):
        for row in range(n):
            ids = random.zipf(1.3, (5, 14)) % len(words)
            yield "all", Example([[words[i] for i in sentence] for sentence in ids], "yes", f"row {row}")

    encode(examples(20_000), AS_IS, tmp_path / "small.arrow")
    before = peak()
    encode(examples(300_000), AS_IS, tmp_path / "large.arrow")
    assert peak() - before < 100  # MiB
