"""Untrusted text, made safe for terminals and XML."""

import re

from rich.cells import cell_len, set_cell_size

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")


def printable(text: str) -> str:
    """The text on one line, without control characters and characters that XML forbids."""
    return _CONTROL.sub("�", " ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """The text cut to `width` columns; it ends in … if something was cut."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
