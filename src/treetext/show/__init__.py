"""Trees for human eyes."""

from treetext.show._terminal import draw

__all__ = ["draw"]
