"""Optional dependencies: a missing one raises an error that names the extra to install."""

from collections.abc import Iterator
from contextlib import contextmanager

from treetext.data.document import BadInput


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """A context manager for imports of packages that belong to an extra of treetext.

    >>> with needs("vectors"):
    ...     import gensim_is_not_called_so
    Traceback (most recent call last):
    ...
    treetext.data.document.BadInput: gensim_is_not_called_so is not installed; expected pip install 'treetext[vectors]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("treetext"):
            raise
        raise BadInput(f"{error.name} is not installed; expected pip install 'treetext[{extra}]'") from None
