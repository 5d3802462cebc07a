"""The user's own tables, good and bad."""

import csv
import gzip
import json
import re
import tracemalloc

import pytest

from tests.data.readers.writing import ROWS, examples, texts, write, write_rows
from treetext.data import PAIRS, BadInput, reader
from treetext.data.readers import tables
from treetext.training import parse_overrides


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_rows_of_each_format(tmp_path, kind):
    path = tmp_path / f"teas.{kind}"
    write_rows(path, [(1, *row) for row in ROWS], ("id", "review", "stars"))
    settings = {"format": kind, "text": "review", "label": "stars"}
    found = texts(path=str(path), **settings)
    assert found == [("all", *row) for row in ROWS]
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    assert texts(path=str(path), **settings) == found, "what is gzipped is told by the bytes, not by the name"
    assert texts(path=str(path), format=kind) == found, "the columns are recognised"
    for wrong in ({"text": "body"}, {"text": "review", "label": "body"}):
        with pytest.raises(
            BadInput, match=rf"teas.{kind}.*: no column called 'body'; expected one, and there are 'id', 'review', 'st"
        ):
            examples(format=kind, path=str(path), **wrong)
    assert len(examples(format=kind, path=str(path), text="review", labels=False)) == 4


@pytest.mark.parametrize(
    ("kind", "row"), [("csv", "row 4"), ("tsv", "row 4"), ("jsonl", "line 3"), ("parquet", "row 3")]
)
@pytest.mark.parametrize("label", ["", " ", "nan", "NaN", None])
def test_a_row_without_a_label_is_named(tmp_path, kind, row, label):
    path = write_rows(tmp_path / f"teas.{kind}", [("a", "x"), ("b\nb", "x"), ("c", label), ("d", "x")])
    with pytest.raises(BadInput, match=rf"^{path}, {row}: no label; expected one for each text$"):
        examples(format=kind, path=path)
    assert texts(format=kind, path=path, labels=False)[2] == ("all", "c", None)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_pairs(tmp_path, kind):
    path = write_rows(tmp_path / f"teas.{kind}", [("Hot.", "Warm.", "yes")], ("one", "two", "label"))
    settings = {"format": kind, "path": path, "text": "one", "second": "two"}
    assert texts(**settings) == [("all", ["Hot.", "Warm."], "yes")]
    assert reader(**settings).task is PAIRS


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_files_for_each_split(tmp_path, kind):
    files = {name: write_rows(tmp_path / f"{name}.{kind}", [(name, "x")]) for name in ("test", "dev", "train")}
    expected = [("train", "train", "x"), ("dev", "dev", "x"), ("test", "test", "x")]
    assert texts(format=kind, **files) == expected
    assert texts(format=kind, test=files["test"]) == expected[2:]
    assert sorted(texts(format=kind, path=str(tmp_path))) == sorted(expected), "by the names in a directory"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "ss", "split", "snli"])
def test_bad_files(tmp_path, kind):
    none = str(tmp_path / f"none.{kind}")
    for settings in ({"path": none}, {"train": none}):
        with pytest.raises(BadInput, match=rf"^{none}: no such file or directory$"):
            examples(format=kind, **settings)
        with pytest.raises(BadInput, match=rf"^{none}: no such file or directory$"):
            reader(kind, **settings).fingerprint()
    with pytest.raises(BadInput, match=r"^a{300}: File name too long; expected a file that can be read$"):
        examples(format=kind, path="a" * 300)
    with pytest.raises(BadInput, match=rf"^{tmp_path}: a directory; expected a file$"):
        examples(format=kind, train=str(tmp_path))
    empty = write(tmp_path / f"empty.{kind}", b"")
    with pytest.raises(BadInput, match=rf"^{empty}: (empty; expected|not a Parquet file)[^\n]*$"):
        examples(format=kind, path=empty)
    cut = write(tmp_path / f"cut.{kind}", gzip.compress(b"tea " * 9999, mtime=0)[:-20])
    with pytest.raises(
        BadInput, match=rf"^{cut}: truncated or damaged; expected whole gzipped data, so fetch it again$"
    ):
        examples(format=kind, path=cut)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_without_rows(tmp_path, kind):
    path = write_rows(tmp_path / f"teas.{kind}", [])
    with pytest.raises(BadInput, match=rf"^{path}: empty; expected at least one text$"):
        examples(format=kind, path=path)


@pytest.mark.parametrize(
    ("kind", "content", "line", "expected"),
    [
        ("csv", b"text,label\ntea,x\n\xe8aj,x\n", 3, "cp1252"),
        ("csv", b"text,label\ntea,x\n\xe8aj,x\n\x81,x\n", 3, "latin-1"),
        ("tsv", b'text\tlabel\n"a\nb"\tx\n\xe8aj\tx\n', 4, "cp1252"),
        ("jsonl", b'{"text": "tea", "label": "x"}\n{"text": "\xe8aj", "label": "x"}\n', 2, "cp1252"),
        ("ss", b"u\t\tp\t\t5\t\ttea\nu\t\tp\t\t5\t\t\xe8aj\n", 2, None),
        ("split", b"1<split1>\xe8aj\n", 1, None),
    ],
)
def test_bytes_that_are_not_utf8(tmp_path, kind, content, line, expected):
    path = write(tmp_path / f"teas.{kind}", content)
    with pytest.raises(BadInput) as caught:
        examples(format=kind, path=path)
    start, end = str(caught.value).split(" of the line; ")
    assert re.fullmatch(rf"{path}, line {line}: not UTF-8 at byte \d+", start)
    if expected is None:
        assert end == "expected text in that encoding", "a format without the option does not name it"
        return
    assert end.startswith(f"expected UTF-8, or also --set data.encoding={expected} ")
    assert len(examples(format=kind, path=path, encoding=expected)) == len(content.splitlines()) - (kind != "jsonl") - (
        kind == "tsv"
    )


def test_mixed_encodings_name_the_line(tmp_path):
    path = write(tmp_path / "teas.csv", "text,label\nčaj,x\n".encode() + b"caf\xe9,x\n" + "thé,x\n".encode())
    with pytest.raises(
        BadInput, match=r"teas\.csv, line 3: not UTF-8 at byte 4 of the line; expected one encoding in t"
    ):
        examples(format="csv", path=path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_other_encodings(tmp_path, kind, encoding):
    rows = [("thé à la menthe\nêtre", "x"), ("tea", "é"), ("Ċ: its code has the byte of a newline", "x")]
    rows = rows[: None if encoding.startswith("utf") else 2]
    path = tmp_path / f"teas.{kind}"
    write_rows(path, rows)
    text = path.read_text()
    if kind == "jsonl":
        text = "".join(json.dumps(json.loads(line), ensure_ascii=False) + "\n" for line in text.splitlines())
    write(path, text.encode(encoding))
    assert texts(format=kind, path=str(path), encoding=encoding) == [("all", *row) for row in rows]
    same = reader(kind, path=str(path), encoding=encoding.replace("-", "_").upper())
    assert same == reader(kind, path=str(path), encoding=encoding)
    if encoding.startswith("utf-16"):
        with pytest.raises(BadInput, match=rf"teas\.{kind}: looks like {encoding}; .*--set data\.encoding={encoding}$"):
            examples(format=kind, path=str(path))
        write(path, path.read_bytes()[:-1])
        with pytest.raises(BadInput, match=rf", line \d+: not {encoding}; expected text in that encoding$"):
            examples(format=kind, path=str(path), encoding=encoding)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "ascii", "punycode"])
@pytest.mark.parametrize("fits", ["utf-8", "cp1252"])
def test_a_file_in_another_encoding(tmp_path, kind, encoding, fits):
    """The message names one that reads the file."""
    if fits == "cp1252" and encoding in ("utf-16-le", "utf-16-be"):
        pytest.skip("any bytes may be characters of these")
    path = tmp_path / f"teas.{kind}"
    write_rows(path, [("thé à la menthe", "x"), ("tea", "é")], columns=("téxt", "labél"))
    text = path.read_text()
    if kind == "jsonl":
        text = "".join(json.dumps(json.loads(line), ensure_ascii=False) + "\n" for line in text.splitlines())
    write(path, text.encode(fits))
    complaint = (
        rf"teas\.{kind}, line 1: not {encoding}.*; expected text in that encoding, or --set data\.encoding={fits}$"
    )
    columns = {"text": "téxt", "label": "labél"}
    with pytest.raises(BadInput, match=f"(?i){complaint}"):
        examples(format=kind, path=str(path), encoding=encoding, **columns)
    assert len(examples(format=kind, path=str(path), encoding=fits, **columns)) == 2


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_wide_encoding_whose_first_characters_have_no_zeros(tmp_path, encoding):
    path = write(tmp_path / "teas.csv", "文本,label\n茶,x\n".encode(encoding))
    with pytest.raises(BadInput, match=f"--set data.encoding={encoding}$"):
        examples(format="csv", path=path)
    assert texts(format="csv", path=path, encoding=encoding, text="文本", label="label") == [("all", "茶", "x")]


@pytest.mark.parametrize("encoding", ["undefined", "klingon", "rot13", "base64", ""])
def test_what_is_no_encoding(encoding):
    with pytest.raises(BadInput, match=f"csv: encoding: '{encoding}' is no encoding of text; expected one that P"):
        reader("csv", path="teas.csv", encoding=encoding)


@pytest.mark.parametrize("ending", ["xlsx", "XLS", "ods"])
def test_spreadsheets(tmp_path, ending):
    path = write(tmp_path / f"teas.{ending}", b"PK\x03\x04")
    with pytest.raises(
        BadInput, match=r"^[^\n]*: a spreadsheet; expected a CSV file: in your spread[^\n]*CSV \(UTF-8\)"
    ):
        examples(format="csv", path=path)


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(("delimiter", "setting"), [*((c, c) for c in ";|^~:#"), ("\t", r'"\t"')])
def test_other_delimiters(tmp_path, delimiter, setting, quote):
    path = write(
        tmp_path / "teas.csv", f"{quote}text{quote}{delimiter}{quote}label{quote}\nhot, sweet tea{delimiter}x\n"
    )
    for columns in ({}, {"text": "text", "label": "label"}):
        with pytest.raises(BadInput) as caught:
            examples(format="csv", path=path, **columns)
        assert str(caught.value).endswith(f"; expected also --set 'data.delimiter={setting}'")
    [option] = parse_overrides([f"data.delimiter={setting}"]).values()
    assert texts(format="csv", path=path, delimiter=option) == [("all", "hot, sweet tea", "x")]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("csv", ["text,label", '"tea",x']),
        ("tsv", ["text\tlabel", "tea\tx"]),
        ("jsonl", ['{"text": "tea", "label": "x"}']),
        ("split", ["x<split1>tea"]),
        ("ss", ["u\t\tp\t\tx\t\ttea"]),
    ],
)
def test_byte_order_marks_and_line_ends(tmp_path, bom, end, last, kind, lines):
    path = write(tmp_path / f"teas.{kind}", bom + end.join(lines) + end * last)
    assert texts(format=kind, path=path) == [("all", [["tea"]] if kind in ("ss", "split") else "tea", "x")]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("text,label\ntea,x\ntea,x,y\n", r"row 3 \(from line 3\): 3 fields; expected 2, as in the header$"),
        ('text,label\n"a\nb",x\ntea\n', r"row 3 \(from line 4\): 1 field; expected 2, as in the header$"),
        ('text,label\ntea,x\n"tea,x\ntea,x\n', r"row 3 \(from line 3\): unexpected end of data; expected quotes"),
        ('text,label\n"a" b,x\n', r"""row 2 \(from line 2\): ',' expected after '"'; expected quotes within quotes"""),
        ('"text,label\n', r"row 1 \(from line 1\): unexpected end of data"),
        ("text,label\rtea,x\r", r"row 1 \(from line 1\): new-line character seen"),
        (
            "text,label,text\ntea,x,tea\n",
            r": two columns called 'text'; expected one, and there are 'text', 'label', 't",
        ),
    ],
)
def test_bad_csv(tmp_path, content, complaint):
    path = write(tmp_path / "teas.csv", content)
    with pytest.raises(BadInput, match=complaint) as caught:
        examples(format="csv", path=path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


def test_delimiters_and_files_without_quoting(tmp_path):
    path = write(tmp_path / "teas.csv", "text;label\nhot, sweet tea;x\n")
    assert texts(format="csv", path=path, delimiter=";") == [("all", "hot, sweet tea", "x")]
    path = write(tmp_path / "teas.tsv", 'label\ttext\nx\t"tea" he said\nx\t"\n')
    with pytest.raises(BadInput, match=r"or --set data\.quoting=false if there are none$"):
        examples(format="tsv", path=path)
    assert texts(format="tsv", path=path, quoting=False) == [("all", '"tea" he said', "x"), ("all", '"', "x")]


def test_blank_lines_are_counted(tmp_path):
    notes = []
    path = write(tmp_path / "teas.csv", "\ntext,label\n\ntea,x\n\r\ntea,y\n")
    assert [example.where for _, example in examples(notes, format="csv", path=path)] == [
        f"{path}, row 4",
        f"{path}, row 6",
    ]
    assert notes[1:] == [f"{path}: 3 blank lines left out"]
    path = write(tmp_path / "teas.jsonl", '\n{"text": "tea", "label": "x"}\n  \n')
    assert len(examples(notes, format="jsonl", path=path)) == 1
    assert notes[3:] == [f"{path}: 2 blank lines left out"]


def test_long_documents(tmp_path):
    long = "tea " * 1_000_000
    path = write_rows(tmp_path / "teas.csv", [(long, "x")])
    assert texts(format="csv", path=path) == [("all", long, "x")]


def test_an_unclosed_quote_does_not_swallow_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST", 2000)
    path = write(tmp_path / "teas.csv", 'text,label\n"tea,x\n' + "tea,x\n" * 1000)
    limit = csv.field_size_limit(1000)
    try:
        with pytest.raises(
            BadInput, match=r"row 2 \(from line 2\): field larger than field limit \(2000\); expected qu"
        ):
            examples(format="csv", path=path)
    finally:
        csv.field_size_limit(limit)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            '{"text": "tea", "label": "x"',
            ": not JSON: Expecting ',' delimiter at column 29; expected one whole object a",
        ),
        ("[" * 100_000, ": not JSON: "),
        ('{"text": "tea", "label": ' + "1" * 5000 + "}", ": not JSON: Exceeds the limit"),
        ('[{"text": "tea", "label": "x"}]', r": expected an object like \{'text': …\}, got \[\{'text': 'tea'"),
        ('{"text": "tea"}', ": no column called 'label'; expected one, and there are 'text'$"),
        ("{}", ": no column called 'text'; expected one, and there are none$"),
        (
            '{"text": 3, "label": "x"}',
            ", 'text': expected a string, a list of sentences or a list of lists of words, got 3$",
        ),
        ('{"text": ["a", ["b"]], "label": "x"}', r", 'text': expected a string, .*, got \['a', \['b'\]\]$"),
        ('{"text": {"a": 1}, "label": "x"}', ", 'text': expected a string"),
        ('{"text": "tea", "label": ["x"]}', r", 'label': expected a string or a number, got \['x'\]$"),
        ('{"text": "tea", "label": Infinity}', ", 'label': expected a string or a number, got inf$"),
        ('{"text": "tea", "label": null}', ": no label; expected one for each text$"),
        ('{"text": "tea", "label": NaN}', ": no label; expected one for each text$"),
        (r'{"text": "tea \ud83c", "label": "x"}', r": \\ud83c is half a surrogate pair; expected whole characters$"),
        (r'{"text": [["\udc00"]], "label": "x"}', r": \\udc00 is half a surrogate pair; expected whole characters$"),
        (r'{"text": "tea", "label": "\uD800"}', r": \\ud800 is half a surrogate pair; expected whole characters$"),
    ],
)
def test_bad_jsonl(tmp_path, line, complaint):
    path = write(tmp_path / "teas.jsonl", f'{{"text": "tea", "label": "x"}}\n{line}\n')
    with pytest.raises(BadInput, match=rf"^{path}, line 2{complaint}"):
        examples(format="jsonl", path=path)


def test_escapes_that_are_whole(tmp_path):
    path = write(tmp_path / "teas.jsonl", r'{"text": "\ud83c\udf75 \u010daj", "label": "x", "other": "\ud800"}')
    assert texts(format="jsonl", path=path) == [("all", "🍵 čaj", "x")]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("x", "x"),
        (" x ", " x "),
        ("None", "None"),
        ("3.0", "3.0"),
        (3, "3"),
        (3.0, "3"),
        (-1, "-1"),
        (2.5, "2.5"),
        (True, "true"),
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_labels_become_strings(tmp_path, value, label, kind):
    path = write_rows(tmp_path / f"teas.{kind}", [("tea", value)])
    assert texts(format=kind, path=path) == [("all", "tea", label)]


def test_labels_of_csv_are_kept_as_they_are_written(tmp_path):
    path = write(tmp_path / "teas.csv", "text,label\ntea,3\ntea,3.0\ntea, 03 \n")
    assert [label for _, _, label in texts(format="csv", path=path)] == ["3", "3.0", " 03 "]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("text", [["Hot.", "Tea."], [["Hot", "."], ["Tea"]], []])
def test_sentences_and_words_are_respected(tmp_path, kind, text):
    path = write_rows(tmp_path / f"teas.{kind}", [(text, "x")])
    assert texts(format=kind, path=path) == [("all", text, "x")]


def test_missing_texts_are_empty_documents(tmp_path):
    path = write(tmp_path / "teas.jsonl", '{"text": null, "label": "x"}\n{"text": NaN, "label": "x"}\n')
    assert texts(format="jsonl", path=path) == [("all", "", "x")] * 2
    path = write_rows(tmp_path / "teas.parquet", [(None, "x"), ("tea", "x")])
    assert texts(format="parquet", path=path) == [("all", "", "x"), ("all", "tea", "x")]


def test_pairs_of_words(tmp_path):
    settings = {"format": "jsonl", "second": "other"}
    row = {"text": ["Hot", "."], "other": ["Tea", "."], "label": "x"}
    path = write(tmp_path / "teas.jsonl", json.dumps(row))
    assert texts(path=path, **settings) == [("all", [["Hot", "."], ["Tea", "."]], "x")]
    path = write(tmp_path / "teas.jsonl", json.dumps({**row, "other": "Tea."}))
    with pytest.raises(BadInput, match="line 1, 'text' and 'other': expected for each of a pair a string, or for each"):
        examples(path=path, **settings)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-9], lambda b: b[4:], lambda _: b"tea", lambda b: b[:9] + b"\xff" * 40 + b[49:]]
)
def test_bad_parquet(tmp_path, damage):
    path = tmp_path / "teas.parquet"
    write_rows(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BadInput, match=rf"^{path}: not a Parquet file, or truncated or damaged: [^\n]*$"):
        examples(format="parquet", path=str(path))


def test_directories(tmp_path):
    write_rows(tmp_path / "part-1.csv", [("a", "x")])
    write_rows(tmp_path / "part-2.csv", [("b", "x")])
    assert texts(format="csv", path=str(tmp_path)) == [("all", "a", "x"), ("all", "b", "x")]
    (tmp_path / "part-2.csv").rename(tmp_path / "train.csv")
    notes = []
    assert texts(format="csv", path=str(tmp_path), notes=notes) == [("all", "b", "x")], "nothing is kept for testing"
    assert notes[1:] == [f"{tmp_path}/part-1.csv: left out, since its name says neither train nor dev nor test"]
    (tmp_path / "train.csv").rename(tmp_path / "validation.csv")
    notes = []
    assert texts(format="csv", path=str(tmp_path), notes=notes) == [("dev", "b", "x")]
    assert notes[1:] == [f"{tmp_path}/part-1.csv: left out, since its name says neither train nor dev nor test"]
    write(tmp_path / "validation.csv.gz", "text,label\na,x", zipped=True)
    with pytest.raises(BadInput, match=r"both validation.csv and validation.csv.gz; expected one of the two$"):
        examples(format="csv", path=str(tmp_path))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_memory_stays_flat(tmp_path, kind):
    path = write_rows(tmp_path / f"teas.{kind}", [(f"tea number {i} " * 500, "x") for i in range(3000)])
    rows = reader(kind, path=path).read()
    next(rows)
    tracemalloc.start()
    try:
        assert sum(1 for _ in rows) == 2999
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
