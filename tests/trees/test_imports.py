"""Names are imported when they are used."""

import subprocess
import sys

import pytest

from treetext import trees


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("module", ["treetext.trees.tree", "treetext.trees"])
def test_trees_as_values_need_no_torch(module):
    code = f"import sys; from {module} import ROOT, PAD, Tree; Tree.from_heads([-1, 0])"
    assert run(code + "; print({'torch', 'numpy', 'numba', 'jaxtyping'} & set(sys.modules))") == "set()"


def test_every_name():
    assert run("from treetext.trees import *; print(NonProjectiveTrees.__name__)") == "NonProjectiveTrees"
    assert all(hasattr(trees, name) for name in trees.__all__)
    assert dir(trees) == sorted(trees.__all__)
    with pytest.raises(AttributeError, match=r"module 'treetext\.trees' has no attribute 'nothing'"):
        _ = trees.nothing
