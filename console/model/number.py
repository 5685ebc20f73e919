"""Whole numbers in text that others wrote: read, or none, and never an error."""

from __future__ import annotations

_MOST_DIGITS = 18
"""What fits 64 bits; the interpreter refuses to read thousands of digits."""


def whole(text: str) -> int | None:
    """A number of at most 18 ASCII digits and nothing else; None for any other text."""
    plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if plain else None
