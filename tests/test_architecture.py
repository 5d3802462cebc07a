"""The rooms of the house: who imports whom. `python tools/architecture.py` prints what is counted here."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
spec = spec_from_file_location("architecture", REPOSITORY / "tools" / "architecture.py")
architecture = module_from_spec(spec)
spec.loader.exec_module(architecture)


def test_few_edges_all_in_one_direction():
    assert len(architecture.edges()) <= 26
    assert architecture.against_the_order() == []
    assert {package for edge in architecture.edges() for package in edge} == set(architecture.ORDER)


@pytest.mark.parametrize("what", ["private_imports", "private_attributes", "task_branches", "word_tables"])
def test_nothing_of_the_kind(what):
    assert list(map(str, getattr(architecture, what)())) == []


def test_few_dependencies():
    assert len(architecture.dependencies()) <= 13


def test_the_counts_can_fail(tmp_path):
    """Each fault that is counted, in a small package of its own."""
    for package in architecture.ORDER:
        (tmp_path / package).mkdir()
    (tmp_path / "trees" / "a.py").write_text("from treetext.data.b import _secret\nx.vocabulary\n")
    (tmp_path / "show" / "b.py").write_text('if model.task == "pairs":\n    model._scored()\n')
    (tmp_path / "cli" / "c.py").write_text("from treetext.trees.kernels import lanes\n")
    assert architecture.edges(tmp_path) == [("cli", "trees"), ("trees", "data")]
    assert [place.file for place in architecture.against_the_order(tmp_path)] == ["trees/a.py"]
    assert [place.file for place in architecture.private_imports(tmp_path)] == ["cli/c.py", "trees/a.py"]
    assert [place.text for place in architecture.private_attributes(tmp_path)] == ["model._scored"]
    assert [place.line for place in architecture.task_branches(tmp_path)] == [1]
    assert [place.text for place in architecture.word_tables(tmp_path)] == ["x.vocabulary"]
