"""Spans put to width: cutting with a mark, padding, joining. Plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.palette import Role
from console.model.span import Span, Spans, fit, width


def cells(spans: Iterable[Span]) -> int:
    """How many terminal cells spans take."""
    return sum(width(span.text) for span in spans)


def fitted(spans: Spans, room: int, right: bool = False) -> Spans:
    """Cut or padded to exactly `room` cells; a cut is marked with an ellipsis.

    `right` pads on the left instead.
    """
    taken = cells(spans)
    if taken <= room:
        gap = Span(" " * (room - taken))
        if not gap.text:
            return spans
        return (gap, *spans) if right else (*spans, gap)
    kept: list[Span] = []
    left = room
    for span in spans:
        wide = width(span.text)
        if wide < left:
            kept.append(span)
            left -= wide
        else:
            # What follows is cut away too, so this span ends in the mark even when it just fits.
            kept.append(
                Span(
                    fit(span.text + " ", left) if wide == left else fit(span.text, left), span.role
                )
            )
            break
    return tuple(kept)


def spread(left: Spans, right: Spans, room: int) -> Spans:
    """`left` and `right` at the edges of `room` cells, a space between; left is cut first."""
    taken = cells(right) + 1
    if taken > room:
        return fitted(right, room)
    return (*fitted(left, room - taken), Span(" "), *right)


def wrapped(text: str, room: int) -> list[str]:
    """Words in lines of at most `room` cells; a word that is longer stands alone, to be cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(lines[-1]) + 1 + width(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def joined(parts: Iterable[Spans], gap: str = "  ", role: Role = Role.TEXT) -> Spans:
    """The non-empty parts with `gap` between them."""
    found: list[Span] = []
    for part in parts:
        if not part:
            continue
        if found:
            found.append(Span(gap, role))
        found.extend(part)
    return tuple(found)
