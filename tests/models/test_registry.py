"""The registry: a model is found by its kind, without a list of all."""

import os
import subprocess
import sys

import pytest

from treetext.data import DOCUMENTS, PAIRS, BadInput
from treetext.models import Model, StructuredDocuments, StructuredPairs, find_model, models
from treetext.models.majority import Majority


def test_all_kinds():
    kinds = models()
    assert {"structured-documents", "structured-pairs", "majority", "majority-pairs", "bag-of-words"} <= set(kinds)
    assert list(kinds) == sorted(kinds)
    assert kinds["structured-documents"] is StructuredDocuments
    assert kinds["structured-pairs"] is StructuredPairs


@pytest.mark.parametrize("kind", models())
def test_every_kind_is_whole(kind):
    model = models()[kind]
    assert issubclass(model, Model)
    assert model.task in (DOCUMENTS, PAIRS)
    assert model.Settings().kind == kind, "all settings have defaults"
    assert model.__doc__
    assert all(cls is model for other, cls in models().items() if other == kind)
    assert len(set(models().values())) == len(models())


def test_find_model():
    assert find_model({"kind": "majority", "anything": 5}) is Majority
    expected = f"kind: expected one of {', '.join(models())}, "
    for values, problem in (({}, "missing"), ({"kind": "trees"}, "got 'trees'"), ({"kind": 5}, "got 5")):
        with pytest.raises(BadInput) as caught:
            find_model(values)
        assert str(caught.value) == expected + problem


NEW = """
from typing import Literal
from treetext.models import StructuredDocuments, StructuredDocumentsSettings

class NewSettings(StructuredDocumentsSettings):
    kind: Literal["new"] = "new"

class Base(StructuredDocuments):
    pass

class New(Base):
    Settings = NewSettings
"""
FIND = """
import sys, elsewhere, treetext.models
treetext.models.__path__.append(sys.argv[1])
kinds = treetext.models.models()
print(kinds["new"].__module__, kinds["structured-documents"].__name__, len(kinds))
"""


def test_a_new_file_is_all_that_a_new_model_takes(tmp_path):
    """Its base has no settings of its own, so is no model; a class outside of the folder is none either."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "new.py").write_text(NEW)
    (tmp_path / "elsewhere.py").write_text(NEW)
    command = [sys.executable, "-c", FIND, str(tmp_path / "folder")]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["treetext.models.new", "StructuredDocuments", str(len(models()) + 1)]


REGISTER = """
from typing import Literal
from treetext.models import ModelSettings, StructuredDocuments, find_model, models, register_model
from treetext.models.majority import Majority as Known

class MySettings(ModelSettings):
    kind: Literal["mine"] = "mine"

number = len(models())
for _ in range(2):  # defined again, as in a notebook
    @register_model
    class Mine(Known):
        Settings = MySettings
assert find_model({"kind": "mine"}) is Mine
assert len(models()) == number + 1
assert list(models()) == sorted(models())

class Other(Known):
    Settings = MySettings

class Majority(Known):
    Settings = Known.Settings

for cls in (Other, Majority):
    try:
        register_model(cls)
    except ValueError as error:
        print(error)
assert find_model({"kind": "mine"}) is Mine
assert find_model({"kind": "majority"}) is Known
"""


def test_a_class_from_outside_can_be_registered():
    done = subprocess.run([sys.executable, "-c", REGISTER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "kind: 'mine' is the name of Mine; expected another name",
        "kind: 'majority' is the name of Majority; expected another name",
    ]
