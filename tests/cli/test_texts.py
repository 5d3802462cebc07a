"""Labels and trees for texts."""

import csv
import gzip
import json
import os
import pty
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.running import command, environment, invoke, refusal, run
from treetext.models import load_model
from treetext.show import draw_parsed
from treetext.trees import Tree

TEXTS = [
    "One sentence here. Another one.",
    "",
    "A much longer text, with many more words in its only sentence",
    "short",
]
LINES = "".join(f"{text}\n" for text in TEXTS)


def objects(printed):
    return [json.loads(line) for line in printed.splitlines()]


def test_predictions_are_those_of_the_model_in_the_order_of_the_texts(model):
    done = invoke("predict", model, stdin=LINES)
    expected = load_model(model).predict(TEXTS)
    assert [found["label"] for found in objects(done.stdout)] == [prediction.label for prediction in expected]
    for found, prediction in zip(objects(done.stdout), expected, strict=True):
        assert found["probability"] == pytest.approx(prediction.probability, abs=1e-6)
        assert found["probabilities"] == pytest.approx(prediction.probabilities, abs=1e-6)


def test_texts_without_words_are_counted(model):
    done = invoke("predict", model, stdin="some text\n\n   \n")
    assert done.stderr == "2 of 3 texts without words: labelled with the most frequent class in training, p1\n"
    assert (
        objects(done.stdout)[1]["probabilities"] == objects(done.stdout)[2]["probabilities"] == {"p1": 0.5, "p2": 0.5}
    )
    assert invoke("predict", model, stdin="some text\n").stderr == ""


def test_many_texts_keep_their_order(model):
    texts = [" ".join(["word"] * (1 + i * 37 % 11)) for i in range(600)]
    found = objects(invoke("parse", model, stdin="\n".join(texts)).stdout)
    assert [len(parsed["sentences"][0]["words"]) for parsed in found] == [len(text.split()) for text in texts]


@pytest.mark.parametrize("ending", [".txt", "", ".csv", ".tsv", ".jsonl", ".csv.gz"])
def test_files(ending, model, tmp_path):
    written = {
        ".txt": LINES,
        "": LINES,
        ".csv": "id,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(TEXTS)),
        ".tsv": "id\ttext\n" + "".join(f"{i}\t{text}\n" for i, text in enumerate(TEXTS)),
        ".jsonl": "".join(json.dumps({"text": text}) + "\n" for text in TEXTS),
    }[ending.removesuffix(".gz")].encode()
    path = tmp_path / f"texts{ending}"
    path.write_bytes(gzip.compress(written) if ending.endswith(".gz") else written)
    found, expected = (
        objects(done.stdout) for done in (invoke("predict", model, path), invoke("predict", model, stdin=LINES))
    )
    if "sv" in ending:
        assert [row.pop("id") for row in found] == ["0", "1", "2", "3"]
    assert found == expected
    assert [row["number"] for row in found] == [1, 2, 3, 4]


ROWS = [{"id": 7, "key": "a", "text": "some text"}, {"id": 'b, "c"', "key": None, "text": ""}]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("verb", ["predict", "parse"])
def test_ids_are_kept(verb, ending, model, tmp_path):
    path = tmp_path / f"texts.{ending}"
    rows = ROWS if ending == "jsonl" else [{**row, "id": str(row["id"])} for row in ROWS]
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == "csv":
        with path.open("w") as stream:
            writer = csv.DictWriter(stream, ["id", "key", "text"])
            writer.writeheader()
            writer.writerows(rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    found = objects(invoke(verb, model, path).stdout)
    assert [(row["number"], row["id"]) for row in found] == [(1, rows[0]["id"]), (2, 'b, "c"')]
    assert [row["id"] for row in objects(invoke(verb, model, path, "--id", "key").stdout)] == ["a", ""]
    expected = "no column called 'nothing'; expected one, and there are 'id', 'key', 'text'"
    assert expected in refusal(verb, model, path, "--id", "nothing")


def test_objects_with_and_without_ids(model, tmp_path):
    path = tmp_path / "texts.jsonl"
    for first, second, problem in (({"id": 1}, {}, "no"), ({}, {"id": 1}, "a")):
        path.write_text("".join(json.dumps({**row, "text": "a"}) + "\n" for row in (first, second)))
        expected = f"{path}, line 2: {problem} field 'id'; expected it in all objects or in none, as in the first one"
        assert refusal("predict", model, path) == expected
        assert [row["number"] for row in objects(invoke("predict", model, path, "--id", "text").stdout)] == [1, 2]
    path = tmp_path / "texts.csv"
    path.write_text("id,text,id\n1,a,2\n")
    assert "two columns called 'id'; expected one" in refusal("predict", model, path)
    expected = "--id key: standard input has no columns; expected --input csv, tsv, jsonl or parquet"
    assert refusal("predict", model, "--id", "key", stdin="a") == expected


def test_documents_are_named_by_their_ids(model, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"id": name, "text": "some text"}) + "\n" for name in ("one\n two", "")))
    printed = invoke("parse", model, path, "--format", "conllu").stdout
    assert re.findall("# newdoc id = .*", printed) == ["# newdoc id = one two", "# newdoc id = 2"]
    assert 'digraph "one two"' in invoke("parse", model, path, "--format", "dot").stdout


def test_the_most_probable_labels(model):
    everything = objects(invoke("predict", model, stdin=LINES).stdout)
    for found, row in zip(objects(invoke("predict", model, "--top", 1, stdin=LINES).stdout), everything, strict=True):
        assert found == {**row, "probabilities": {row["label"]: row["probability"]}}
    for found, row in zip(objects(invoke("predict", model, "--top", 9, stdin=LINES).stdout), everything, strict=True):
        assert found == row
        shares = list(found["probabilities"].values())
        assert shares == sorted(shares, reverse=True)
    assert "--top" in refusal("predict", model, "--top", 0, stdin=LINES)


def test_predictions_in_files(model, tmp_path):
    path, out = tmp_path / "texts.csv", tmp_path / "labels.csv"
    path.write_text('key,text\n"x, y",One sentence here.\nz,\n')
    expected = objects(invoke("predict", model, path, "--id", "key").stdout)
    done = invoke("predict", model, path, "--id", "key", "--out", out)
    assert done.stdout == ""
    assert "1 of 2 texts without words" in done.stderr
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0]) == ["number", "id", "label", "probability", "probability_p1", "probability_p2"]
    for row, found in zip(rows, expected, strict=True):
        assert (int(row["number"]), row["id"], row["label"]) == (found["number"], found["id"], found["label"])
        assert float(row["probability"]) == found["probability"]
        assert [float(row[f"probability_{p}"]) for p in ("p1", "p2")] == list(found["probabilities"].values())
    invoke("predict", model, path, "--top", 5, "--out", out)
    [first, second] = csv.DictReader(out.read_text().splitlines())
    assert list(first) == ["number", "label", "probability", "label_2", "probability_2"]
    assert {first["label"], first["label_2"]} == {"p1", "p2"}
    assert float(first["probability"]) > float(first["probability_2"])
    assert second["number"] == "2"
    invoke("predict", model, path, "--id", "key", "--out", tmp_path / "labels.jsonl")
    assert objects((tmp_path / "labels.jsonl").read_text()) == expected
    (tmp_path / "bad.txt").write_bytes(b"fine\n" * 300 + b"\xff\n")
    before = out.read_bytes()
    assert "bad.txt, line 301: not UTF-8" in refusal("predict", model, tmp_path / "bad.txt", "--out", out)
    assert out.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 4, "nothing half-written"


@pytest.mark.parametrize("verb", ["predict", "parse"])
def test_where_not_to_write(verb, model, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a"}\n')
    expected = f"--out {path}: the file of the texts; expected another one"
    assert refusal(verb, model, path, "--out", path) == expected
    assert path.read_text() == '{"text": "a"}\n'
    if verb == "predict":
        out = tmp_path / "labels.txt"
        expected = f"--out {out}: expected a file that ends with .jsonl or .csv"
        assert refusal(verb, model, path, "--out", out) == expected
        assert refusal(verb, model, path, "--json", "--out", tmp_path / "a.csv").startswith("--json: prints; expected")


def test_columns_by_name(model, tmp_path):
    (tmp_path / "texts.csv").write_text("text,body\nno,some text\n")
    expected = invoke("predict", model, stdin="some text").stdout
    assert invoke("predict", model, tmp_path / "texts.csv", "--text", "body").stdout == expected


def test_table_from_standard_input(model):
    rows = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
    done = run("predict", model, "--input", "jsonl", stdin=rows)
    assert done.returncode == 0
    found = objects(done.stdout.decode())
    expected = objects(invoke("predict", model, stdin=LINES).stdout)
    assert [row["label"] for row in found] == [row["label"] for row in expected]


def test_columns_of_training_are_the_default(pair_model, pair_file, tmp_path):
    labels = [found["label"] for found in objects(invoke("predict", pair_model, pair_file).stdout)]
    assert len(labels) == 60
    lines = [line.rsplit(",", 1)[0].replace(",", "\t") for line in pair_file.read_text().splitlines()[1:]]
    assert [found["label"] for found in objects(invoke("predict", pair_model, stdin="\n".join(lines)).stdout)] == labels
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"a": "the a sleeps", "b": "a b sleeps"}))
    invoke("predict", pair_model, tmp_path / "pairs.jsonl", "--text", "a", "--text", "b")


def test_pairs_with_an_empty_side_are_counted(pair_model):
    done = invoke("predict", pair_model, stdin="one\ttwo\n\n\ttwo\n")
    assert "2 of 3 texts without words" in done.stderr
    assert len(objects(done.stdout)) == 3


@pytest.mark.parametrize("verb", ["predict", "parse"])
def test_the_model_by_an_option(verb, model, tmp_path):
    expected = invoke(verb, model, stdin=LINES).stdout
    path = tmp_path / "texts.txt"
    path.write_text(LINES)
    for arguments in (("--model", model, path), (path, "--model", model), (model, path), (f"--model={model}", path)):
        assert invoke(verb, *arguments).stdout == expected
    for arguments in (("--model", model), ("--model", model, "-"), (model, "-")):
        assert invoke(verb, *arguments, stdin=LINES).stdout == expected
    assert refusal(verb) == "no model; expected MODEL or --model NAME"
    twice = f"--model {model}: a second model, beside other; expected one, and at most one file"
    assert refusal(verb, "other", path, "--model", model) == twice
    assert refusal(verb, model, "--model", "other").startswith("--model other: a second model, beside ")
    assert "texts.csv: no such file or directory" in refusal(verb, "--model", model, tmp_path / "texts.csv")


def test_pairs_by_an_option(pair_model):
    [found] = objects(invoke("parse", "--model", pair_model, stdin="A man sleeps.\tA man is awake.\n").stdout)
    assert [sentence["words"] for sentence in found["sentences"]] == [
        ["A", "man", "sleeps", "."], ["A", "man", "is", "awake", "."],
    ]  # fmt: skip
    assert all(len(sentence["heads"]) == len(sentence["words"]) for sentence in found["sentences"])


def test_a_model_that_ships(tmp_path):
    """As after an installation: in any directory, from standard input to standard output."""
    done = run("parse", "--model", "debates", stdin=b"I rise against this bill. It is unfair.\n", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [found] = objects(done.stdout)
    assert found["label"] in ("N", "Y")
    assert len(found["heads"]) == len(found["sentences"]) == 2
    assert refusal("evaluate", "debates") == "convote: does not ship with the model; expected --data"
    assert "a name of those that ship (czech, debates, snli)" in refusal("predict", "--model", "debats", stdin="a")


def test_parse_has_trees(model):
    done = invoke("parse", model, stdin=LINES)
    expected = load_model(model).parse(TEXTS)
    for found, parsed in zip(objects(done.stdout), expected, strict=True):
        assert found["heads"] == (parsed.tree and list(parsed.tree.heads))
        assert [sentence["words"] for sentence in found["sentences"]] == [s.words for s in parsed.sentences]
        assert [sentence["heads"] for sentence in found["sentences"]] == [list(s.tree.heads) for s in parsed.sentences]
        assert "weights" not in found
    weighted = objects(invoke("parse", model, "--weights", stdin=LINES).stdout)[0]
    assert sum(weighted["weights"]["roots"]) == pytest.approx(1, abs=1e-5)
    assert len(weighted["sentences"][0]["weights"]["arcs"]) == len(weighted["sentences"][0]["words"])


@pytest.mark.parametrize("decode", ["marginals", "log-marginals", "scores"])
def test_conllu_says_the_same_as_json(decode, model):
    blocks = invoke("parse", model, "--format", "conllu", "--decode", decode, stdin=LINES).stdout.split("\n\n")[:-1]
    found = objects(invoke("parse", model, "--decode", decode, stdin=LINES).stdout)
    sentences = [sentence for parsed in found for sentence in parsed["sentences"]]
    assert [list(Tree.from_conllu(block).heads) for block in blocks] == [sentence["heads"] for sentence in sentences]
    assert [line for block in blocks for line in block.splitlines() if line.startswith("# newdoc")] == [
        f"# newdoc id = {number}" for number in (1, 3, 4)
    ], "documents keep their numbers where one has no words"


def test_dot_has_a_graph_for_each_text(model):
    printed = invoke("parse", model, "--format", "dot", stdin=LINES).stdout
    assert [line for line in printed.splitlines() if line.startswith("digraph")] == [
        f'digraph "{number}" {{' for number in (1, 2, 3, 4)
    ]
    assert printed.count("->") == sum(
        len(tree.arcs)
        for parsed in load_model(model).parse(TEXTS)
        for tree in (parsed.tree, *(sentence.tree for sentence in parsed.sentences))
        if tree
    )


def test_drawings_in_pipes_and_files_have_no_colours_and_nothing_is_cut(model, tmp_path, monkeypatch):
    long = " ".join(f"w{i}" for i in range(200))
    monkeypatch.setenv("COLUMNS", "20")
    printed = invoke("parse", model, "--format", "drawing", stdin=f"{TEXTS[0]}\n{long}\n").stdout
    expected = [draw_parsed(parsed) for parsed in load_model(model).parse([TEXTS[0], long])]
    assert printed == "".join(f"{each}\n\n" for each in expected)
    assert "\x1b" not in printed
    assert "…" not in printed
    invoke("parse", model, "--format", "drawing", "--out", tmp_path / "trees.txt", stdin=f"{TEXTS[0]}\n{long}\n")
    assert (tmp_path / "trees.txt").read_text() == printed


def test_output_file_appears_when_it_is_whole(model, tmp_path):
    out = tmp_path / "trees.jsonl"
    done = invoke("parse", model, "--out", out, stdin=LINES)
    assert done.stdout == ""
    assert out.read_text() == invoke("parse", model, stdin=LINES).stdout
    before = out.read_bytes()
    (tmp_path / "bad.txt").write_bytes(b"fine\n" * 300 + b"\xff\n")
    assert "bad.txt, line 301: not UTF-8" in refusal("parse", model, tmp_path / "bad.txt", "--out", out)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "trees.jsonl"]


def test_refusals(model, pair_model, tmp_path):
    path = tmp_path / "texts.csv"
    assert f"{path}: no such file or directory" in refusal("predict", model, path)
    assert "texts.txt: no such file or directory" in refusal("predict", model, tmp_path / "texts.txt")
    assert refusal("predict", model, stdin="") == "standard input: empty; expected at least one text"
    path.write_text("")
    assert "texts.csv: empty" in refusal("predict", model, path)
    path.write_text("body,id\na,1\n")
    assert "no column called 'text'; expected one, and there are 'body', 'id'" in refusal("predict", model, path)
    assert "--text: 2 columns; expected 1, for documents" in refusal(
        "predict", model, path, "--text", "body", "--text", "id"
    )
    assert "--text: 1 column; expected 2, for pairs" in refusal("predict", pair_model, path, "--text", "body")
    assert "standard input has no columns; expected --input csv" in refusal("predict", model, "--text", "a", stdin="a")
    assert "line 2: 1 field; expected two sentences" in refusal("predict", pair_model, stdin="a\tb\nonly one\n")
    assert "expected a file that can be read" in refusal("predict", model, tmp_path)
    assert "no: no such directory; expected one, for file" in refusal(
        "parse", model, "--out", tmp_path / "no" / "file", stdin="a"
    )
    (tmp_path / "texts.jsonl").write_text('{"text": "a"}\n{"text": 3}\n')
    assert "line 2, 'text': expected a string" in refusal("predict", model, tmp_path / "texts.jsonl")
    invoke("parse", model, "--decode", "nonsense", code=2)


def test_a_pipe_that_closes_early_is_no_error(model):
    """Nor has an endless stream of texts to end before there are results."""
    line = f"yes some text | {shlex.join(command('predict', model))} | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, env=environment(), timeout=60)
    assert json.loads(done.stdout)["label"] in ("p1", "p2")
    assert done.stderr == b""


def test_on_a_terminal_people_see_tables_and_drawings(model, tmp_path):
    (tmp_path / "texts.txt").write_text(f"{TEXTS[0]}\n{'long ' * 100}\n")
    (tmp_path / "ids.csv").write_text("id,text\nthe first of many ids,One sentence here.\n")
    found = _on_a_terminal(("predict", {}), model, tmp_path / "ids.csv", "--top", 2)
    assert found[0].split() == ["id", "label", "probability", "next", "labels", "text"]
    assert re.fullmatch(r"the first of ma…  p\d     +0\.\d{3}  p\d 0\.\d{3}     One sentence here\.", found[1])
    commands = [("predict", {}), ("parse", {}), ("parse", {"COLUMNS": "24", "TERM": "xterm-256color", "NO_COLOR": ""})]
    with ThreadPoolExecutor() as several:
        labels, trees, narrow = several.map(lambda each: _on_a_terminal(each, model, tmp_path / "texts.txt"), commands)
    assert labels[0].split() == ["label", "probability", "text"]
    assert labels[1].endswith(TEXTS[0])
    assert labels[2].endswith("…")
    assert max(map(len, labels)) <= 100
    assert any("── " in line for line in trees)
    assert "1. One sentence here ." in trees
    assert not any("\x1b" in line for line in trees), "a terminal without colours"
    assert any("\x1b[1m" in line for line in narrow)
    drawn = [re.sub(r"\x1b\[\d+m", "", line) for line in narrow if re.search(r"\(\d\.\d\d\)", line)]
    assert len(drawn) > 100
    assert max(map(len, drawn)) == 24


def _on_a_terminal(command_and_settings, *arguments):
    ours, theirs = pty.openpty()
    name, settings = command_and_settings
    environ = environment(**{"TERM": "dumb", "COLUMNS": "100", **settings})
    with subprocess.Popen(command(name, *arguments), stdout=theirs, stderr=subprocess.PIPE, env=environ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        assert process.stderr.read() == b""
    os.close(ours)
    assert process.returncode == 0
    shown = shown.removesuffix(b"\x1b[0m")  # the farewell of colorama, which some libraries start where it is installed
    return [line.rstrip() for line in shown.decode().splitlines()]
