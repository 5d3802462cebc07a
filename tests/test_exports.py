"""The names of `treetext` itself, which are imported when they are used."""

import subprocess
import sys

import pytest

import treetext


def test_every_name():
    assert dir(treetext) == sorted(treetext.__all__)
    assert {"load_model", "train"} <= set(dir(treetext))
    assert all(hasattr(treetext, name) for name in dir(treetext))
    with pytest.raises(AttributeError, match=r"module 'treetext' has no attribute 'nothing'"):
        _ = treetext.nothing


def test_looking_imports_nothing():
    code = "import sys, treetext; dir(treetext); print({'torch', 'numpy', 'spacy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n"
