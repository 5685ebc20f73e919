"""Text with roles: what render makes and both front ends show.

A span never holds remote text that has not been cleaned, and names a role, never a colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

from console.model.palette import Role


class Span(NamedTuple):
    """A piece of text in one role."""

    text: str
    role: Role = Role.TEXT


Spans = tuple[Span, ...]


def width(text: str) -> int:
    """How many terminal cells a cleaned text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if combining(char) or category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def fit(text: str, cells: int) -> str:
    """Cut or pad to exactly `cells`; a cut is marked with an ellipsis."""
    taken = width(text)
    if taken <= cells:
        return text + " " * (cells - taken)
    if cells <= 0:
        return ""
    kept, used = [], 0
    for char in text:
        step = _cells(char)
        if used + step > cells - 1:
            break
        kept.append(char)
        used += step
    return "".join(kept) + "…" + " " * (cells - 1 - used)


def fit_end(text: str, cells: int) -> str:
    """Cut to at most `cells` so that the end stays, which names a file; whole folders if it can.

    A cut is marked with an ellipsis in front.
    """
    if width(text) <= cells:
        return text
    kept = text
    while kept and width(kept) > cells - 1:
        kept = kept[1:]
    folder = kept.find("/")
    if 0 < folder < len(kept) - 1:
        kept = kept[folder:]
    return f"…{kept}" if kept else ""


def plain_text(spans: Iterable[Span]) -> str:
    """The text alone."""
    return "".join(span.text for span in spans)
