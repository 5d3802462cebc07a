"""The treebanks of the tests of readers."""

from tests.data.readers.treebanks import gum, row, sentence, unit, units, write

__all__ = ["gum", "row", "sentence", "unit", "units", "write"]
