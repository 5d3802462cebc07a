"""Formats are found by themselves, and only those in the folder of the readers."""

import subprocess
import sys

import pytest

from treetext.data import (
    DOCUMENTS,
    PAIRS,
    BadInput,
    Reader,
    corpus_formats,
    file_format,
    find_reader,
    formats_with,
    reader,
    treebank_formats,
)
from treetext.data.readers.treebanks import TreebankReader
from treetext.data.registry import subclasses

TABLES = ["csv", "jsonl", "parquet", "tsv"]
GENERATED = ["hidden-trees", "listops"]
OTHERS = ["aclimdb", "convote", "csfd", "hidden-trees", "hub", "listops", "snli", "snli-parses", "split", "ss"]
PATHS = {name: {} if name in GENERATED else {"path": "a"} for name in TABLES + OTHERS}


def test_all_formats_the_users_own_tables_first():
    assert list(corpus_formats()) == TABLES + OTHERS
    for name, cls in corpus_formats().items():
        assert issubclass(cls, Reader)
        assert cls.about
        assert "\n" not in cls.about
        assert find_reader(name) is cls


@pytest.mark.parametrize("name", TABLES + OTHERS)
def test_a_reader_by_the_name_of_its_format(name):
    data = reader(name, **PATHS[name])
    assert type(data) is corpus_formats()[name]
    assert data.format == name
    assert data.task is (PAIRS if name.startswith("snli") else DOCUMENTS)
    assert data.generated is (name in GENERATED)
    assert data.places == PATHS[name]


@pytest.mark.parametrize("name", ["xls", "", None, 3, ["csv"]])
def test_no_such_format(name):
    with pytest.raises(BadInput) as caught:
        find_reader(name)
    assert str(caught.value) == f"format: expected one of {', '.join(TABLES + OTHERS)}, got {name!r}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("teas.csv", "csv"),
        ("some/teas.test.TSV", "tsv"),
        ("teas.jsonl.gz", "jsonl"),
        ("TEAS.CSV.GZ", "csv"),
        ("teas.parquet", "parquet"),
        ("teas.ss", None),
        ("teas.txt", None),
        ("csv", None),
        ("some.csv/teas", None),
        ("", None),
    ],
)
def test_the_format_of_a_file_by_its_ending(path, expected):
    assert file_format(path) == expected


def test_formats_with_an_option():
    assert formats_with("second") == formats_with("label") == [*TABLES, "hub"]
    assert formats_with("delimiter") == formats_with("quoting") == ["csv", "tsv"]
    assert formats_with("subset") == ["hub"]
    assert formats_with("hidden_trees") == ["hidden-trees"]
    assert formats_with("path") == formats_with("nonsense") == [], "what all have is no option"


def test_formats_of_treebanks():
    assert list(treebank_formats()) == ["conllu", "gum", "snli"]
    for name, treebank in treebank_formats().items():
        assert isinstance(treebank, TreebankReader)
        assert treebank.format == name
        assert treebank.about


def test_a_new_format_is_one_new_file(tmp_path):
    """In a process of its own, whose registry has formats that others must not see."""
    (tmp_path / "teas.py").write_text(
        "from typing import Literal\n"
        "from treetext.data.readers.tables import Csv\n"
        "from treetext.data.readers.treebanks import Conllu\n"
        "class Teas(Csv):\n    format: Literal['teas'] = 'teas'\n"
        "class TeaBank(Conllu):\n    format = 'tea-bank'\n"
    )
    code = (
        "import sys\n"
        "from treetext.data import corpus_formats, treebank_formats\n"
        f"sys.modules['treetext.data.readers'].__path__.append({str(tmp_path)!r})\n"
        "print('teas' in corpus_formats(), 'tea-bank' in treebank_formats())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True True\n"


class Base:
    """Of the package that the test below writes."""


class Outside(Base):
    """Not in the package."""


def test_subclasses_of_a_package_alone(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    files = {
        "__init__": "",
        "one": f"from {__name__} import Base\nclass One(Base): ...\nclass Another(One): ...\n",
        "two": f"from {__name__} import Base\nfrom own_formats.one import One\nclass Two(One, Base): ...\n",
    }
    for name, text in files.items():
        (tmp_path / "own_formats").mkdir(exist_ok=True)
        (tmp_path / "own_formats" / f"{name}.py").write_text(text)
    found = [cls.__name__ for cls in subclasses(Base, "own_formats")]
    assert sorted(found) == ["Another", "One", "Two"], "each once"
    for name in ("own_formats", "own_formats.one", "own_formats.two"):
        monkeypatch.delitem(sys.modules, name)
