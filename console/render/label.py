"""Remote text as a label: where it goes into a cell or a title instead of a log line."""

from __future__ import annotations

from console.model.text import Clean, plain


def label(text: Clean) -> str:
    """The text without colour codes, tabs as single spaces."""
    return plain(text).replace("\t", " ")
