"""Untrusted text, made safe for terminals and XML."""

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")


def printable(text: str) -> str:
    """The text on one line, without control characters and characters that XML forbids."""
    return _CONTROL.sub("�", " ".join(text.split()))
