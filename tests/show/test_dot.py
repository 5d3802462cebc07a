import re
import shutil
import subprocess

import pytest

from tests.show.making import NASTY, parsed
from treetext.show import to_dot


def test_arcs_go_from_heads_to_dependents():
    found = parsed([["a", "b", "c"], ["d"]])
    arcs = re.findall(r"(s\d+w?\d*) -> (s\d+w?\d*) ", to_dot(found))
    expected = [(f"s{head + 1}", f"s{node + 1}") for head, node in found.tree.arcs]
    expected += [(f"s1w{head + 1}", f"s1w{node + 1}") for head, node in found.sentences[0].tree.arcs]
    assert arcs == expected


def test_quotes_and_backslashes():
    dot = to_dot(parsed([['"', "\\", "a\nb"]]), 'na"me')
    assert dot.startswith('digraph "na\\"me" {\n')
    assert '[label="\\""' in dot
    assert '[label="\\\\"' in dot
    assert '[label="a b"' in dot


def test_without_trees_or_words():
    assert "->" not in to_dot(parsed([["a", "b"]], trees=False))
    assert "->" not in to_dot(parsed([]))


@pytest.mark.skipif(shutil.which("dot") is None, reason="no GraphViz here; make tools installs Debian's")
def test_graphviz_reads_it():
    done = subprocess.run(["dot", "-Tsvg"], input=to_dot(parsed(NASTY)).encode(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "שלום" in done.stdout.decode()
