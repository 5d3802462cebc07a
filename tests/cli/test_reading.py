"""`predict`, `parse` and `encode` read files as the model was trained, or as told, and say which texts they cut."""

import json

import pytest

from tests.cli.running import OWN_SETTINGS, invoke, refusal

TEXTS = [f"the {'gut' if i % 2 else 'übel'}e tea; number {i}. I had it." for i in range(40)]
VERBS = [("predict",), ("parse", "--format", "jsonl"), ("encode", "--out")]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of a German spreadsheet program, and a model that was trained on it."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [f'"{text}";{text.split()[1]}' for text in TEXTS]
    (folder / "teas.csv").write_text("\n".join(["said;mood", *rows]) + "\n", encoding="cp1252")
    settings = ["--set", "data.delimiter=;", "--set", "data.encoding=cp1252", "--set", "data.max_words=6"]
    invoke(
        "train", "documents/both", "--data", folder / "teas.csv", "--out", folder / "model", *OWN_SETTINGS, *settings
    )
    return folder / "teas.csv"


def ran(verb, table, file, tmp_path, *more, stdin="", code=0):
    out = [tmp_path / "vectors.npy"] if verb[0] == "encode" else []
    arguments = (verb[0], table.parent / "model", file, *verb[1:], *out, *more)
    return refusal(*arguments, stdin=stdin) if code else invoke(*arguments, stdin=stdin)


@pytest.mark.parametrize("verb", VERBS, ids=str)
def test_a_model_reads_the_table_that_it_was_trained_on(verb, table, tmp_path):
    done = ran(verb, table, table, tmp_path)
    assert done.stderr == f"{table}: 40 of 40 texts with more than 6 words: the rest of each is left out\n"
    if verb[0] == "parse":
        assert json.loads(done.stdout.splitlines()[0])["sentences"][0]["words"][1] == "übele"


@pytest.mark.parametrize("verb", VERBS, ids=str)
def test_the_advice_works_when_it_is_pasted(verb, table, tmp_path):
    path = tmp_path / "others.csv"
    path.write_text("said^id\nübler, roter tea^7\n", encoding="utf-16")
    given = []
    for setting in ("data.encoding=utf-16", "data.delimiter=^"):
        line = ran(verb, table, path, tmp_path, *given, code=2)
        assert line.rpartition("--set ")[2].strip("'") == setting
        given += ["--set", setting]
    done = ran(verb, table, path, tmp_path, *given)
    assert done.stderr == ""
    if verb[0] == "predict":
        assert json.loads(done.stdout)["id"] == "7"


def test_another_format_has_its_own_delimiter(table, tmp_path):
    (tmp_path / "others.tsv").write_text("said\tmood\nübler tea\tgute\n", encoding="cp1252")
    assert len(ran(VERBS[0], table, tmp_path / "others.tsv", tmp_path).stdout.splitlines()) == 1
    done = invoke("evaluate", table.parent / "model", "--data", tmp_path / "others.tsv", "--json")
    assert json.loads(done.stdout)["documents"] == 1


def test_a_byte_order_mark_of_another_encoding(table, tmp_path):
    (tmp_path / "others.csv").write_text("said;mood\nübler tea;gute\n", encoding="utf-8-sig")
    line = ran(VERBS[0], table, tmp_path / "others.csv", tmp_path, code=2)
    assert line.endswith("others.csv: looks like utf-8; expected CP1252, or also --set data.encoding=utf-8")


def test_lines_are_utf8_unless_told(table, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("übler tea\n".encode("cp1252"))
    line = ran(VERBS[1], table, path, tmp_path, code=2)
    assert line.startswith(f"{path}, line 1: not UTF-8 at byte 1 of the line; expected UTF-8, or also --set data.encod")
    done = ran(VERBS[1], table, path, tmp_path, "--set", "data.encoding=cp1252")
    assert json.loads(done.stdout)["sentences"][0]["words"] == ["übler", "tea"]


@pytest.mark.parametrize(
    ("setting", "file", "complaint"),
    [
        ("data.max_words=3", "teas.csv", "--set data.max_words: not about reading the file; expected one of data.del"),
        ("model.hidden=3", "teas.csv", "--set model.hidden: not about reading the file; expected one of data.del"),
        ("data.delimiter=;", "-", "--set data.delimiter: standard input has no columns; expected --input csv, tsv"),
        ("data.encoding=klingon", "-", "'klingon' is no encoding of text; expected one that Python has"),
        ("data.encoding=klingon", "teas.csv", "teas.csv: data.encoding: 'klingon' is no encoding of text; expected"),
        ("data.delimiter=;;", "teas.csv", "teas.csv: data.delimiter: expected one character, such as ; or \\t, but"),
    ],
)
def test_settings_that_are_refused(setting, file, complaint, table, tmp_path):
    file = file if file == "-" else table
    assert complaint in ran(VERBS[0], table, file, tmp_path, "--set", setting, stdin="tea\n", code=2)


def test_evaluate_counts_the_texts_that_it_scores(table):
    done = invoke("evaluate", table.parent / "model", "--json")
    assert f"{table}: 4 of 4 texts with more than 6 words: the rest of each is left out\n" in done.stderr
    said = invoke("data", table.parent / "model").stderr
    assert f"{table}: 40 of 40 texts with more than 6 words: the rest of each is left out\n" in said


@pytest.mark.parametrize("verb", ["train", "evaluate", "data"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "punycode"])
def test_a_wrong_encoding_is_one_line(verb, encoding, table, tmp_path):
    path = tmp_path / "teas.csv"
    path.write_bytes(table.read_bytes().decode("cp1252").encode())
    arguments = {"train": ["--out", tmp_path / "model"], "evaluate": [table.parent / "model"], "data": []}[verb]
    settings = ["--set", "data.delimiter=;", "--set", f"data.encoding={encoding}"]
    line = refusal(verb, *arguments, "--data", path, *settings)
    assert line.startswith(f"{path}, line ")
    assert line.endswith("; expected text in that encoding, or --set data.encoding=utf-8")
