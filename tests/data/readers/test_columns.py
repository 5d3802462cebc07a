"""The columns of a table are recognised by their names, else by what is in them."""

import json

import pytest

from tests.data.readers.writing import write, write_rows
from treetext.data import DOCUMENTS, PAIRS, BadInput, open_corpus, reader
from treetext.data.readers import columns, tables

LONG = ["The tea was hot and sweet.", "I left before the tea came.", "Nobody drinks this twice.", "A fine cup of tea."]


@pytest.fixture(autouse=True)
def _cached(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path / "cache"))


def table(**names):
    """Twenty rows: what is in a column is said by a word."""
    kinds = {
        "text": lambda i: f"{LONG[i % 4]} Cup number {i}.",
        "short": lambda i: f"cup number {i}",
        "word": lambda i: ["hot", "cold", "sweet", "bitter", "weak"][i % 5] + "ly" * (i // 5),
        "class": lambda i: "xy"[i % 2],
        "stars": lambda i: 1 + i % 5,
        "id": lambda i: f"{i * 7919:032x}",
        "number": lambda i: i * 1.5,
        "date": lambda i: f"2026-11-{1 + i % 3:02} 10:00:00",
        "constant": lambda _: "en",
    }
    return [{name: kinds[kind](i) for name, kind in names.items()} for i in range(20)]


NOTHING = {"text": None, "second": None, "label": None}


def recognised(rows, task=None, labels=True, **given):
    return tuple(columns.recognise("teas.csv", rows, NOTHING | given, task, labels).values())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"text": "text", "label": "class"}, ("text", "label")),
        ({"review": "text", "stars": "stars"}, ("review", "stars")),
        ({"stars": "stars", "Review Text": "text"}, ("Review Text", "stars")),
        ({"review_id": "id", "reviewText": "text", "star_rating": "stars"}, ("reviewText", "star_rating")),
        ({"gold_label": "class", "body": "text", "tokens": "number"}, ("body", "gold_label")),
        ({"text": "text", "review": "text", "label": "class", "label_text": "class"}, ("text", "label")),
        ({"comment": "text", "message": "short", "target": "class"}, ("comment", "target")),
        ({"a": "id", "b": "text", "c": "short", "d": "stars"}, ("b", "d")),
        ({"Unnamed: 0": "number", "x": "text", "z": "class"}, ("x", "z")),
        ({"user_id": "class", "when": "date", "said": "text", "class": "class"}, ("said", "class")),
        ({"hash": "id", "word": "word", "kind": "class"}, ("word", "kind")),
        ({"said": "text", "sorted": "constant"}, ("said", "sorted")),
        ({"said": "text", "language": "constant", "mood": "class"}, ("said", "mood")),
        ({"label": "text", "post": "text", "y": "class"}, ("post", "label")),
        ({"text": "text", "category": "id", "split": "class", "mood": "class"}, ("text", "mood")),
    ],
    ids=str,
)
def test_names_and_contents(names, expected):
    assert recognised(table(**names)) == (expected[0], None, expected[1])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("premise", "hypothesis"),
        ("sentence1", "sentence2"),
        ("question1", "question2"),
        ("text_a", "text_b"),
        ("Sentence 1", "Sentence 2"),
        ("sentenceA", "sentenceB"),
        ("text1", "text2"),
    ],
)
def test_pairs(one, two):
    rows = table(id="id", **{two: "text", one: "text"}, same="class")
    assert recognised(rows) == (one, two, "same")
    assert recognised(rows, PAIRS) == (one, two, "same")
    with pytest.raises(BadInput, match=r"may each be the text; expected one of them by --set data\.text=…$"):
        recognised(rows, DOCUMENTS)


def test_pairs_by_their_contents():
    rows = table(claimed="text", seen="text", label="class")
    assert recognised(rows, PAIRS) == ("claimed", "seen", "label")
    with pytest.raises(
        BadInput, match=r"^teas\.csv: 'claimed', 'seen' may each be the text; .*, for pairs also data\.sec"
    ):
        recognised(rows)
    with pytest.raises(
        BadInput, match=r"^teas\.csv: which columns have the two sentences\? expected --set data\.text=… "
    ):
        recognised(table(text="text", label="class"), PAIRS)
    assert recognised(rows, PAIRS, second="seen") == ("claimed", "seen", "label")
    assert recognised(table(text="text", s1="text", s2="text", label="class")) == ("text", None, "label")


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (
            {"review": "text", "comment": "text", "stars": "stars"},
            "'review', 'comment' may each be the text; expected one",
        ),
        (
            {"text": "text", "rating": "stars", "sentiment": "class"},
            "'rating', 'sentiment' may each be the label; expe",
        ),
        (
            {"text": "text", "a": "stars", "b": "class"},
            "'a', 'b' may each be the label; expected one of them by --set da",
        ),
        (
            {"text": "text", "a": "id"},
            "no column looks like the label; expected its name by --set data.label=…, among 'a'$",
        ),
        ({"text": "text"}, "no column looks like the label; expected its name by --set data.label=…, among none$"),
        (
            {"a": "number", "label": "class"},
            "no column looks like the text; expected its name by --set data.text=…, am",
        ),
        ({"a": "number", "b": "date"}, "no column looks like the text"),
    ],
    ids=str,
)
def test_what_is_not_clear_is_refused(names, complaint):
    with pytest.raises(BadInput, match=rf"^teas\.csv: {complaint}") as caught:
        recognised(table(**names))
    assert "\n" not in str(caught.value)


def test_given_columns_stay():
    rows = table(review="text", comment="text", stars="stars", mood="class")
    assert recognised(rows, text="comment", label="mood") == ("comment", None, "mood")
    assert recognised(rows, text="comment") == ("comment", None, "stars")
    assert recognised(rows, text="comment", labels=False) == ("comment", None, None)
    with pytest.raises(BadInput, match="may each be the text"):
        recognised(rows, label="mood")


def test_texts_of_other_scripts_and_lists():
    rows = [{"n": f"id-{i}-{i}", "said": "茶很热" * (1 + i % 3), "mood": "xy"[i % 2]} for i in range(20)]
    assert recognised(rows) == ("said", None, "mood")
    rows = [{"n": f"id {i}", "said": [["hot", "tea"], ["yes"]], "mood": "xy"[i % 2]} for i in range(20)]
    assert recognised(rows) == ("said", None, "mood")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_reader_recognises_its_columns_and_says_so(tmp_path, kind):
    rows = [(f"n{i}", f"Tea number {i}.", 1 + i % 2) for i in range(20)]
    path = write_rows(tmp_path / f"teas.{kind}", rows, ("id", "review", "stars"))
    corpus = open_corpus(reader(kind, path=path))
    assert (corpus.data.text, corpus.data.second, corpus.data.label) == ("review", None, "stars")
    assert corpus.notes == [f"{path}: text in column 'review', label in column 'stars'"]
    given = open_corpus(reader(kind, path=path, text="review", label="stars"))
    assert (given.fingerprint, given.notes) == (corpus.fingerprint, [])
    assert "review" in corpus.data.model_dump(exclude_unset=True).values(), "explicit where it is saved"


def test_the_usual_names_are_said_too_unless_given(tmp_path):
    path = write_rows(tmp_path / "teas.csv", [(f"Tea {i}.", "xy"[i % 2]) for i in range(9)])
    corpus = open_corpus(reader("csv", path=path))
    assert (corpus.data.text, corpus.data.label) == ("text", "label")
    assert corpus.notes == [f"{path}: text in column 'text', label in column 'label'"]
    assert open_corpus(reader("csv", path=path, text="text", label="label")).notes == []


TEXT = "I bought this tea for my sister, and she has not stopped talking about it since."
FIRST_ROWS = [
    ("great tea", "good"),
    ("great tea", " good "),
    ("这茶很好喝", "good"),
    (TEXT, "good"),
    (TEXT, "rare"),
    (TEXT, "5"),
]
HEADERS = [
    ("review text", "Sentiment"),
    ("review text", "star rating (1-5)"),
    ("Tweet content", "good"),
    ("What did you like or dislike about our tea? Say it in your own words.", "Overall rating (1 to 5)"),
    ("What did you like or dislike about our tea? Say it in your own words.", "How was it"),
    ("said", "good"),
    ("what they said", "mood"),
]


@pytest.mark.parametrize(("names", "refused"), [(n, True) for n in FIRST_ROWS] + [(n, False) for n in HEADERS])
def test_tables_without_a_header(tmp_path, names, refused):
    rows = [(f"Tea number {i} was hot.", ("good", "bad", "5")[i % 3]) for i in range(30)]
    path = write_rows(tmp_path / "teas.csv", rows, names)
    if not refused:
        assert (open_corpus(reader("csv", path=path)).data.text) == names[0]
        return
    with pytest.raises(
        BadInput, match=r"teas\.csv: it seems to have no header: .* look like data; expected names such"
    ):
        open_corpus(reader("csv", path=path))
    assert open_corpus(reader("csv", path=path, label=names[1].strip())).data.text == names[0]


def test_only_the_head_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "HEAD", 3)
    lines = [json.dumps({"said": f"Tea number {i}.", "mood": "xy"[i % 2]}) for i in range(3)]
    path = write(tmp_path / "teas.jsonl", "\n".join([*lines, "no JSON"]))
    known = reader("jsonl", path=path).recognised(print)
    assert (known.text, known.label) == ("said", "mood")
    with pytest.raises(BadInput, match=r"teas\.jsonl, line 4: not JSON"):
        list(known.read())
    monkeypatch.setattr(tables, "MOST_CHARACTERS", 10)
    assert len(known.head()) == 1


def test_rows_of_jsonl_may_have_other_fields_first(tmp_path):
    path = write(tmp_path / "teas.jsonl", '{"note": 1}\n{"text": "tea", "label": "x"}\n')
    with pytest.raises(BadInput, match="line 1: no column called 'text'; expected one, and there are 'note'"):
        list(reader("jsonl", path=path).read())
