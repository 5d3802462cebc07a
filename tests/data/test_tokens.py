import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from treetext.data import BadInput, Tokenizer

ENGLISH, CZECH, ANY = Tokenizer("en"), Tokenizer("cs"), Tokenizer("xx", lowercase=False)
TEXTS = [
    "",
    "The cat sat. It slept!",
    ["One. Two.", "", "Three"],
    [["Already", "split", " ", ""], [], ["\t"], ["Yes", "!"]],
]


def test_raw_text_is_cut_into_sentences_and_words():
    assert ENGLISH("The cat didn't move. It slept!") == [
        ["the", "cat", "did", "n't", "move", "."],
        ["it", "slept", "!"],
    ]


def test_raw_sentences_are_not_cut_further():
    assert ENGLISH(["One. Two.", "Three"]) == [["one", ".", "two", "."], ["three"]]


def test_words_are_respected():
    assert ENGLISH([["Don't", "cut.This", "New York"]]) == [["don't", "cut.this", "new york"]]


def test_case_can_be_kept():
    assert Tokenizer("en", lowercase=False)("The Cat") == [["The", "Cat"]]


@pytest.mark.parametrize("text", [*TEXTS, "Σ ΑΣ İ Straße. NASA's"])
def test_words_as_typed_and_as_read(text):
    for language in ("en", "cs"):
        typed = Tokenizer(language).split(text)
        assert typed == Tokenizer(language, lowercase=False)(text)
        assert Tokenizer(language)(text) == [[word.lower() for word in sentence] for sentence in typed]
        assert Tokenizer(language).read(typed) == Tokenizer(language)(text)
        assert Tokenizer(language, lowercase=False).read(typed) == typed


@pytest.mark.parametrize("text", ["", " ", "\n\n \t", [], ["", " "], [[], [" "], [""]]])
def test_without_words_a_document_is_empty(text):
    assert ENGLISH(text) == []
    assert Tokenizer(tokenized=True)(text) == []


def test_white_space_is_no_word():
    assert ENGLISH("One.  \n\n  Two\u3000three\t.") == [["one", "."], ["two", "three", "."]]


def test_tokenized_text_is_cut_at_white_space_and_line_breaks_only():
    tokenizer = Tokenizer(tokenized=True)
    assert tokenizer("It 's here . Now\r\n\nDon't  ask\u2028me\n") == [
        ["it", "'s", "here", ".", "now"],
        ["don't", "ask", "me"],
    ]
    assert tokenizer(["a b.", "c\nd"]) == [["a", "b."], ["c", "d"]]


def test_czech():
    assert CZECH("Žluťoučký kůň PĚL ódy. Příšerně!") == [["žluťoučký", "kůň", "pěl", "ódy", "."], ["příšerně", "!"]]


def test_chinese():
    assert Tokenizer("zh")("猫睡了。狗没睡！") == [["猫", "睡", "了", "。"], ["狗", "没", "睡", "！"]]


def test_characters_outside_the_basic_plane_and_combining_marks_are_kept():
    text = "Cafe\u0301 👩\u200d👩\u200d👧 𝔘𝔫𝔦 a\u0000b"
    assert "".join(Tokenizer(lowercase=False)(text)[0]) == text.replace(" ", "")


def test_a_very_long_text():
    sentences = ENGLISH("word " * 300_000 + ". End")  # more than spaCy's own limit of a million characters
    assert [len(sentence) for sentence in sentences] == [300_001, 1]


@pytest.mark.parametrize("text", ["a \ud800 b", ["fine", "a \ud800 b"]])
def test_half_a_surrogate_pair_is_refused(text):
    with pytest.raises(BadInput, match=r"^text: '\\ud800' \(character 3\) is half a surrogate pair; expected"):
        ENGLISH(text)


def test_an_unknown_language_is_refused_at_once():
    with pytest.raises(
        BadInput, match=r"^language: expected one of af, .*en, .*zh \(xx for any other\), got 'english'$"
    ):
        Tokenizer("english")


def test_a_language_whose_library_is_missing_says_so():
    pytest.importorskip("spacy.lang.ja")
    try:
        import sudachipy  # noqa: F401
    except ImportError:
        with pytest.raises(BadInput, match=r"^language: 'ja' needs a package that is not installed: [^\n]+$"):
            Tokenizer("ja")("猫")
    else:
        pytest.skip("the library is installed")


def test_many_texts_are_as_each_alone():
    assert list(ENGLISH.many(iter(TEXTS))) == [ENGLISH(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [(Tokenizer("en"), True), (Tokenizer("xx"), True), (Tokenizer("zh"), False), (Tokenizer(tokenized=True), False)],
)
def test_by_rules(tokenizer, expected):
    assert tokenizer.by_rules is expected


@pytest.fixture
def kept(monkeypatch):
    """Says whether the pipeline that spaCy made last still has a string."""
    pipelines, blank = [], spacy.blank

    def noted(language):
        pipelines.append(blank(language))
        return pipelines[-1]

    monkeypatch.setattr(spacy, "blank", noted)
    return lambda word: word in pipelines[-1].vocab.strings


def test_a_memory_zone_forgets_its_words(kept):
    tokenizer = Tokenizer("en")
    with tokenizer.memory_zone():
        assert tokenizer("An unheardofword.") == [["an", "unheardofword", "."]]
        assert kept("unheardofword")
    assert not kept("unheardofword")
    assert tokenizer("An unheardofword.") == [["an", "unheardofword", "."]]
    assert kept("unheardofword")
    with Tokenizer(tokenized=True).memory_zone():
        assert Tokenizer(tokenized=True)("a b") == [["a", "b"]]


def test_warm_words_outlive_a_memory_zone(kept):
    tokenizer = Tokenizer("en")
    tokenizer.warm_up(["unheardofword"])
    with tokenizer.memory_zone():
        tokenizer("An unheardofword.")
    assert kept("unheardofword")
    assert kept("Unheardofword")
    other = Tokenizer("zh")
    other.warm_up(["unheardofword"])
    assert not kept("unheardofword"), "it has no rules to warm up"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_character_is_lost_but_white_space(text):
    sentences = ANY(text)
    assert "".join(word for sentence in sentences for word in sentence) == "".join(text.split())
    assert all(sentences)
