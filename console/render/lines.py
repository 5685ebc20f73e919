"""Log lines as they are shown: the server's own text, with head, level and colours marked.

Never rewrites, folds or drops what a server wrote; tabs become spaces and a very long line ends in
a mark that says how much is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from console.model.ansi import DEFAULT, Style
from console.model.palette import Role
from console.model.span import width
from console.model.text import Clean, styled
from console.render.units import count

MOST_CHARACTERS = 4000
"""A line is shown up to here; the journal keeps all of it."""

_LEVEL = re.compile(
    r"\b(?:(DEBUG|TRACE|INFO|NOTICE)|(WARN|WARNING)"
    r"|(ERROR|CRITICAL|FATAL|Traceback|[A-Za-z_.]*(?:Error|Exception)))\b"
)
_LEVEL_ROLES = (Role.DIM, Role.LOG_WARNING, Role.LOG_ERROR)


class Piece(NamedTuple):
    """A stretch of a line: its role, and the look the server itself gave it."""

    text: str
    role: Role = Role.TEXT
    style: Style = DEFAULT


Pieces = tuple[Piece, ...]


def pieces(
    line: Clean, base: Role = Role.TEXT, find: Callable[[str], list[tuple[int, int]]] | None = None
) -> Pieces:
    """One line, marked.

    Args:
        base: the role of the message, by how grave it is.
        find: stretches of the plain text to lift out.
    """
    parts = styled(line)
    text = "".join(part for part, _ in parts)
    rest = len(text) - MOST_CHARACTERS
    marks = _marks(text[:MOST_CHARACTERS], base)
    found = _merged(parts, marks, min(len(text), MOST_CHARACTERS))
    if find is not None:
        found = _lifted(found, find(text[:MOST_CHARACTERS]))
    if rest > 0:
        found.append(Piece(f" … {count(rest)} more characters", Role.LOG_NOTICE))
    return _expanded(found)


def notice(text: str, room: int) -> Pieces:
    """A line of the console's own between log lines, ruled to `room` cells."""
    body = f"── {text} "
    return (Piece(body + "─" * max(2, room - width(body)), Role.LOG_NOTICE),)


def _marks(text: str, base: Role) -> list[tuple[int, int, Role]]:
    """Stretches with a role, in order and apart: the head, the rank in it, level words after it."""
    # The grammars of all engines are many patterns; a screen without lines never needs them.
    from console.engines.head import behead, unwrap

    head, message = behead(*unwrap(text))
    start = len(text) - len(message) if text.endswith(message) else 0
    found: list[tuple[int, int, Role]] = []
    rank = text.find(head.ranks, 0, start) if head.ranks else -1
    if rank >= 0:
        end = rank + len(head.ranks)
        found += [(0, rank, Role.LOG_TIME), (rank, end, Role.LOG_RANK), (end, start, Role.LOG_TIME)]
    else:
        found.append((0, start, Role.LOG_TIME))
    if base is not Role.TEXT:
        found.append((start, len(text), base))
        return [mark for mark in found if mark[0] < mark[1]]
    for match in _LEVEL.finditer(text, start):
        found.append((match.start(), match.end(), _LEVEL_ROLES[(match.lastindex or 1) - 1]))
    return [mark for mark in found if mark[0] < mark[1]]


def _merged(
    parts: list[tuple[str, Style]], marks: list[tuple[int, int, Role]], end: int
) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    coming = iter(marks)
    mark = next(coming, None)
    for text, style in parts:
        stop = min(at + len(text), end)
        base = at
        while at < stop:
            while mark is not None and mark[1] <= at:
                mark = next(coming, None)
            if mark is None or mark[0] >= stop:
                cut, role = stop, Role.TEXT
            elif at < mark[0]:
                cut, role = mark[0], Role.TEXT
            else:
                cut, role = min(mark[1], stop), mark[2]
            found.append(Piece(text[at - base : cut - base], role, style))
            at = cut
    return found


def _lifted(found: list[Piece], spans: list[tuple[int, int]]) -> list[Piece]:
    """The same pieces, cut where a stretch is lifted out."""
    lifted: list[Piece] = []
    at, coming = 0, iter(spans)
    span = next(coming, None)
    for piece in found:
        end, begin = at + len(piece.text), at
        while at < end:
            while span is not None and span[1] <= at:
                span = next(coming, None)
            inside = span is not None and span[0] <= at
            cut = end if span is None else min(end, span[1] if inside else span[0])
            text = piece.text[at - begin : cut - begin]
            lifted.append(Piece(text, Role.LOG_MATCH if inside else piece.role, piece.style))
            at = cut
    return lifted


def _expanded(found: list[Piece]) -> Pieces:
    if not any("\t" in piece.text for piece in found):
        return tuple(found)
    wide: list[Piece] = []
    column = 0
    for piece in found:
        text = []
        for char in piece.text:
            step = 8 - column % 8 if char == "\t" else width(char)
            text.append(" " * step if char == "\t" else char)
            column += step
        wide.append(piece._replace(text="".join(text)))
    return tuple(wide)
