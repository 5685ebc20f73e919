"""Remote text as a label: where it goes into a cell or a title instead of a log line."""

from __future__ import annotations

from console.model.ansi import SGR


def label(text: str) -> str:
    """Cleaned text without its colour codes, tabs as single spaces."""
    if "\x1b" in text:
        text = SGR.sub("", text)
    return text.replace("\t", " ")
