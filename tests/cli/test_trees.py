"""The command as its users run it: in a process of its own."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treetext import __version__

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "trees.json"
PAIR = '{"arcs": [[0, 1], [2, 0]], "roots": [0, 0]}'


def run(*arguments, stdin="", columns=80):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "treetext", *map(str, arguments)],
        input=stdin.encode("utf-8", "surrogateescape"),
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(columns), "PYTHONUTF8": "1", "NO_COLOR": "1"},
        timeout=300,
    )


def output(*arguments, stdin=""):
    done = run(*arguments, stdin=stdin)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


def test_version():
    assert output("--version") == f"treetext {__version__}\n"


def test_help_names_every_option():
    assert "trees" in output("--help")
    text = output("trees", "--help")
    for option in ("--projective", "--multi-root", "--top", "--json", "arcs[i][j]"):
        assert option in text


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["trees", "--help"]])
def test_help_imports_nothing_slow(arguments):
    code = (
        "import sys, treetext.cli\n"
        f"try: treetext.cli.app({arguments})\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'numba', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_example_is_not_projective_at_its_best():
    text = output("trees", EXAMPLE)
    assert "A letter arrived today from home" in text
    best = text.split("Tree 1: ")[1].split("Tree 2: ")[0]
    assert "height 4, non-projective" in best.splitlines()[0]
    assert [re.sub(r"[^a-zA-Z]", "", line) for line in best.splitlines()[1:7]] == [
        "arrived", "letter", "A", "from", "home", "today"
    ]  # fmt: skip
    assert text.index("Tree 3: ") < text.index("Marginals")
    assert "non-projective" not in output("trees", "--projective", EXAMPLE)


def test_json_holds_a_distribution():
    result = json.loads(output("trees", "--json", "--top", 5, EXAMPLE))
    assert result["words"] == ["A", "letter", "arrived", "today", "from", "home"]
    assert result["trees"][0]["heads"] == [1, 2, -1, 2, 1, 4]
    log_probs = [tree["log_prob"] for tree in result["trees"]]
    assert len(log_probs) == 5
    assert log_probs == sorted(log_probs, reverse=True)
    marginals = result["marginals"]
    assert math.isclose(sum(marginals["roots"]), 1)
    for j, root in enumerate(marginals["roots"]):
        assert math.isclose(root + sum(row[j] for row in marginals["arcs"]), 1)


def test_two_words_by_hand():
    result = json.loads(output("trees", "--json", stdin=PAIR))
    assert [tree["heads"] for tree in result["trees"]] == [[1, -1], [-1, 0]]
    p = math.exp(2) / (math.exp(1) + math.exp(2))
    assert math.isclose(result["trees"][0]["log_prob"], math.log(p))
    assert math.isclose(result["entropy"], -p * math.log(p) - (1 - p) * math.log(1 - p))
    assert math.isclose(result["log_partition"], math.log(math.exp(1) + math.exp(2)))


@pytest.mark.parametrize("kind", [[], ["--projective"]])
def test_multi_root_adds_the_forest(kind):
    result = json.loads(output("trees", "--json", "--multi-root", *kind, "-", stdin=PAIR))
    assert [tree["heads"] for tree in result["trees"]] == [[1, -1], [-1, 0], [-1, -1]]
    assert output("trees", "--multi-root", *kind, stdin=PAIR).count("Tree ") == 3


def test_objects_may_share_a_file_and_span_lines():
    lines = output("trees", "--json", stdin=f"\n{PAIR}\n\n{EXAMPLE.read_text()}{PAIR}{PAIR}\n").splitlines()
    assert [len(json.loads(line)["words"]) for line in lines] == [2, 6, 2, 2]


def test_forbidden_arc():
    text = PAIR.replace("2", "-Infinity")
    assert [tree["heads"] for tree in json.loads(output("trees", "--json", stdin=text))["trees"]] == [[-1, 0]]


def test_words_are_printed_safely():
    words = ["a\x1b[31m", "[b]x[/b]", "a\x1b[31m", "日本", "\ud800"]
    sentence = {"words": words, "arcs": [[0] * 5] * 5, "roots": [0] * 5}
    text = output("trees", "--top", 1, stdin=json.dumps(sentence))
    assert r"a\x1b[31m[0] [b]x[/b] a\x1b[31m[2] 日本 \ud800" in text
    assert "\x1b" not in text
    assert json.loads(output("trees", "--json", stdin=json.dumps(sentence)))["words"] == words


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "standard input: empty; expected objects like"),
        (" \n\t", "standard input: empty; expected objects like"),
        ("\udcff", "standard input, line 1: not UTF-8"),
        (f"{PAIR}\n\udcff", "standard input, line 2: not UTF-8"),
        ("{", "standard input, line 1: not JSON: Expecting property name"),
        (f'{PAIR}\n\n{{"arcs": nonsense}}', "standard input, line 3: not JSON: Expecting value at column 10"),
        ("[" * 100_000, "standard input, line 1: "),
        ("[1, 2]", "line 1: expected an object with arcs and roots, got [1.0, 2.0]"),
        (f"[{PAIR}]", "line 1: expected an object with arcs and roots, got [{"),
        ("{}", "line 1: arcs: missing; expected"),
        ('{"arcs": [[0]]}', "line 1: roots: missing; expected"),
        ('{"arcs": 3, "roots": []}', "arcs: expected a list of rows of scores, one for each word, got 3.0"),
        ('{"arcs": [], "roots": []}', "arcs: expected a list of rows of scores, one for each word, got []"),
        ('{"arcs": [1], "roots": [0]}', "arcs[0]: expected a list of 1 scores, got 1.0"),
        ('{"arcs": [[0, 1], [0]], "roots": [0, 0]}', "arcs[1]: expected 2 scores, as many as arcs has rows"),
        ('{"arcs": [[0]], "roots": [0, 0]}', "roots: expected 1 scores, as many as arcs has rows, got 2"),
        ('{"arcs": [[0]], "roots": null}', "roots: expected a list of 1 scores, got null"),
        (PAIR.replace("1", "NaN"), "arcs[0][1]: expected a number, or -Infinity to forbid, got NaN"),
        (PAIR.replace("1", "Infinity"), "arcs[0][1]: expected a number, or -Infinity to forbid, got Inf"),
        (PAIR.replace("1", "1" * 5000), "arcs[0][1]: expected a number, or -Infinity to forbid, got Inf"),
        (PAIR.replace("1", "true"), "arcs[0][1]: expected a number, or -Infinity to forbid, got true"),
        (PAIR.replace("1", '"1"'), 'arcs[0][1]: expected a number, or -Infinity to forbid, got "1"'),
        ('{"arcs": [[0]], "roots": [null]}', "roots[0]: expected a number, or -Infinity to forbid, got null"),
        ('{"words": "a", "arcs": [[0]], "roots": [0]}', 'words: expected a list of strings, got "a"'),
        ('{"words": [1], "arcs": [[0]], "roots": [0]}', "words: expected a list of strings, got [1.0]"),
        ('{"words": [], "arcs": [[0]], "roots": [0]}', "words: expected 1, as many as arcs has rows, got 0"),
        (PAIR.replace("[0, 0]}", "[-Infinity, -Infinity]}"), "standard input, line 1: "),
    ],
)
def test_bad_input(text, complaint):
    done = run("trees", stdin=text)
    message = done.stderr.decode()
    assert done.returncode == 2
    assert message.startswith("treetext: ")
    assert complaint in message
    assert message.count("\n") == 1


def test_bad_file(tmp_path):
    for file in (tmp_path / "none.json", tmp_path):
        done = run("trees", file)
        assert done.returncode == 2
        assert done.stderr.decode().startswith(f"treetext: {file}: ")
        assert done.stderr.count(b"\n") == 1
    (tmp_path / "bad.json").write_text(f"{PAIR}\n{PAIR.replace('1', 'NaN')}")
    done = run("trees", "--json", tmp_path / "bad.json")
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1, "what comes before the error is printed"
    assert f"{tmp_path / 'bad.json'}, line 2: arcs[0][1]: " in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trees", "--top", "0"], "invalid value for '--top': "),
        (["trees", "--top", "x"], "invalid value for '--top': "),
        (["trees", "--top"], "option '--top' requires an argument; see treetext --help"),
        (["trees", "--nonsense"], "no such option: --nonsense"),
        (["trees", "a", "b"], "got unexpected extra argument"),
        (["analyse", "a", "--split", "all"], "invalid value for '--split': 'all' is not one of 'train', 'dev', 'test'"),
        (["train"], "no recipe; expected one (`treetext recipes` lists them), or your own file by --data"),
        (["plant"], "no such command 'plant'"),
    ],
)
def test_bad_options(arguments, complaint):
    done = run(*arguments)
    assert done.returncode == 2
    assert not done.stdout
    [line] = done.stderr.decode().splitlines()
    assert line.startswith(f"treetext: {complaint}")


def test_readme_shows_what_the_command_prints():
    blocks = re.findall(r"```console\n\$ treetext (trees .*)\n([^`]*)```", (ROOT / "README.md").read_text())
    assert blocks
    for arguments, printed in blocks:
        shown = [line.rstrip() for line in output(*arguments.split()).splitlines()]
        assert "\n".join(shown).strip() == printed.strip()
