"""Tables of results, from made-up figures."""

import json
import re
import subprocess
import sys

import pytest
from rich.cells import cell_len

from treetext.evaluation import FIGURES, Ablated, Agreement, Analysis, Interval, LevelAnalysis, TreebankAgreement
from treetext.show import Bounds, Published, Table, agreement_tables, analysis_tables, draw_tables
from treetext.show.html import cell, table_plot

HALF = Interval(0.5, 0.25, 0.75)
NOTHING = Interval(None)


def level(*sources, **figures):
    """Figures that are one half in all sources, unless others are given."""
    found = {source: {figure: figures.get(figure, HALF) for figure in FIGURES} for source in sources}
    same = [Agreement(sources[0], source, HALF, Interval(1.0), NOTHING) for source in sources[1:]]
    return LevelAnalysis(1234, 5678, 9, found, same)


@pytest.fixture
def analysis():
    words = level("model", "untrained", "other", "gold", height=Interval(3.14159, 2.5, 4.0), margin=NOTHING)
    sentences = level("model", "random")._replace(single=0)
    ablation = [
        Ablated("own", [], HALF, Interval(0.0, 0.0, 0.0), None, Interval(0.0312, 0.012, 0.05)),
        Ablated("shuffled", ["words", "sentences"], None, HALF, 0.98765),
    ]
    return Analysis("data", "f", "test", 10, 0, HALF, words, sentences, ablation)


def rows_of(table):
    return {row[0]: row[1:] for row in table.rows}


def test_cells_are_values(analysis):
    words, same, sentences, _, ablation = analysis_tables(analysis)
    assert words.title == "Trees of words: 1,234 trees, 9 of them of a single node, 5,678 nodes"
    assert words.columns == ["", "this model", "95% interval", "the same, untrained", "other", "gold trees"]
    rows = rows_of(words)
    assert rows["height"] == [3.14, Bounds(2.5, 4.0, 2), 3.14, 3.14, 3.14]
    assert rows["projective trees, %"] == [50.0, Bounds(25.0, 75.0, 1), 50.0, 50.0, 50.0]
    assert "margin of the best tree, nats" not in rows, "no source has it"
    assert "whose head agrees with gold trees" in words.note
    assert rows_of(same)["this model – other"] == [50.0, Bounds(25.0, 75.0), 100.0, None, None, None]
    assert sentences.title == "Trees of sentences: 1,234 trees, 5,678 nodes"
    assert "gold" not in sentences.note
    assert rows_of(ablation) == {
        "own": [50.0, Bounds(25.0, 75.0), 3.12, Bounds(1.2, 5.0), 0.0, Bounds(0.0, 0.0), None],
        "shuffled, words and sentences": [None, None, None, None, 50.0, Bounds(25.0, 75.0), 98.77],
    }
    for table in analysis_tables(analysis):
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_without_ablation_or_a_level(analysis):
    bare = Analysis(**{**vars(analysis), "ablation": [], "sentences": None})
    assert [table.title[:14] for table in analysis_tables(bare)] == ["Trees of words"] * 2


@pytest.mark.parametrize(("kind", "name"), [("snli", "the parser"), ("conllu", "the treebank")])
def test_agreement_with_a_treebank(kind, name):
    found = TreebankAgreement("own", kind, {"words": level("model", "star", "gold")}, [], [])
    scores, shapes = agreement_tables(found)
    assert scores.title == "Trees of words: agreement with own, 1,234 trees"
    assert list(rows_of(scores)) == ["this model", "star"]
    assert rows_of(scores)["star"] == [50.0, Bounds(25.0, 75.0)] * 3
    assert shapes.columns[-2:] == ["star", name]
    assert name in shapes.note


def test_published_figures():
    found = TreebankAgreement("own", "snli", {"words": level("model", "gold")}, [], [])
    published = Published({"a paper": {"height": 5.78, "gold_heads": 38.7}, "its parser": {}}, "It says so.")
    scores, shapes = agreement_tables(found, published)
    plain_scores, plain_shapes = agreement_tables(found)
    assert scores == plain_scores
    assert shapes.columns == [*plain_shapes.columns, "a paper", "its parser"]
    assert rows_of(shapes)["height"][-2:] == [5.78, None]
    assert rows_of(shapes)["same edges, %"][-2:] == [38.7, None]
    assert shapes.note == f"{plain_shapes.note} It says so."


TABLE = Table(
    "A title",
    ["", "this model", "95% interval", "others"],
    [["height", 2.5, Bounds(2.0, 3.0, 2), 10.25], ["roots", None, None, "some"], ["size", 1234, Bounds(-1.26, 5), 0.5]],
    "A note.",
)


def test_the_terminal():
    assert draw_tables([TABLE]).splitlines() == [
        "",
        "A title",
        "",
        "        this model  95% interval  others",
        "height        2.50  2.00 to 3.00   10.25",
        "roots            –             –    some",
        "size         1,234   -1.3 to 5.0    0.50",
        "",
        "A note.",
    ]
    assert draw_tables([TABLE, TABLE]) == f"{draw_tables([TABLE])}\n{draw_tables([TABLE])}"
    assert draw_tables([]) == ""


def test_narrow_terminals_get_tables_in_parts():
    """Headers may wrap; cells may not, and each part has the names of the rows."""
    drawn = draw_tables([TABLE], width=22)
    assert max(map(cell_len, drawn.splitlines())) <= 22
    assert len(re.findall("(?m)^height ", drawn)) == 3
    assert "2.00 to 3.00" in drawn
    assert len(re.findall("(?m)^height ", draw_tables([TABLE], width=200))) == 1
    coloured = draw_tables([TABLE], width=22, color=True)
    assert "\x1b[1m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split() == drawn.split()


def test_json_and_markdown():
    plain = TABLE.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["rows"][0] == ["height", 2.5, "2.00 to 3.00", 10.25]
    written = """\
**A title**

|  | this model | 95% interval | others |
| --- | ---: | ---: | ---: |
| height | 2.5 | 2.00 to 3.00 | 10.25 |
| roots | – | – | some |
| size | 1234 | -1.3 to 5.0 | 0.5 |

A note.
"""
    assert TABLE.to_markdown() == Table(**plain).to_markdown() == written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        ("a", "a"),
        (3, "3"),
        (12345, "12,345"),
        (2.0, "2.00"),
        (51.44, "51.4"),
        (2.813, "2.81"),
        (0.0123, "0.01"),
        (Bounds(1.25, 20.0, 2), "1.25 to 20.00"),
    ],
)
def test_cells_in_html(value, text):
    assert cell(value) == text


def test_plots_read_the_numbers_of_the_cells():
    table = Table("t", ["", "this model", "95% interval", "star"], [["leaves, %", 50.0, Bounds(40.0, 65.0), 70.0]], "")
    plot = table_plot(table)
    assert 'class="whisker" x1="40.00%" x2="65.00%"' in plot
    assert "leaves, %, this model: 50" in plot
    assert "leaves, %, star: 70" in plot
    without = table_plot(table._replace(rows=[["leaves, %", 50.0, None, 70.0]]))
    assert "whisker" not in without
    assert table_plot(table._replace(rows=[["leaves, %", None, None, 70.0]])) == ""


def test_import_is_light():
    code = """
import sys
import treetext.show
print({"lightning", "datasets", "spacy", "gensim"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
