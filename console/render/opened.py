"""A log line opened: every field the grammar reads in it, and what a known failure means.

Fields keep the names of the facts they come from; a value the line does not carry is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from console.engines.facts import DecodeSeen, Fact, FailureSeen, StatsSeen
from console.engines.failures import marker_of, summary
from console.engines.grammar import parse_line
from console.engines.line import Head, Line
from console.engines.rates import Rates
from console.engines.severity import noise, severity
from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.text import Clean, plain
from console.render.label import label
from console.render.spans import wrapped
from console.render.units import clock, count

MOST_TEXT = 8000
MOST_UNDER = 500
BEFORE = 500
"""Lines before a line that are enough to judge the rate it carries."""
_WIDE = 14
_RATED = (DecodeSeen, StatsSeen)
_HEAD = (
    ("at", "written at"),
    ("outer", "stamped at"),
    ("ranks", "rank"),
    ("level", "level"),
    ("process", "process"),
    ("pid", "pid"),
    ("source", "source"),
    ("wrapper", "wrapped by"),
)


def opened(
    number: int,
    t_us: int,
    came: str,
    text: Clean,
    under: Sequence[Clean] = (),
    before: Sequence[Clean] = (),
    room: int = 94,
) -> list[Spans]:
    """The lines that show it.

    Args:
        t_us: when it came in, on the session's clock.
        came: the same as a time of day with its zone; empty when that is not known.
        under: lines folded under it.
        before: lines of the same log before it, oldest first: they tell whether a rate holds.
        room: cells for a field; what is longer goes on below its beginning.
    """
    shown = plain(text)
    lines: list[Spans] = [
        (Span(f"Line {count(number)}", Role.TITLE), Span("   esc closes", Role.DIM)),
        _field("came in at", f"{clock(t_us)} of the session" + (f", {came}" if came else "")),
    ]
    pieces, rates = parse_line(shown), Rates()
    if any(isinstance(piece.fact, _RATED) for piece in pieces):
        for earlier in before:
            for piece in parse_line(plain(earlier)):
                rates.add(piece)
    for place, piece in enumerate(pieces):
        if place:
            lines.append(())
        lines += _piece(piece)
        judged = rates.add(piece)
        if judged is not None and judged.doubt:
            told = f"{judged.tok_s:g} tok/s is unreliable: {judged.doubt}"
            lines.append((Span(f"{'rate':<{_WIDE}} ", Role.DIM), Span(told, Role.LOG_WARNING)))
    for line in under:
        for piece in parse_line(plain(line)):
            if isinstance(piece.fact, FailureSeen):
                lines += _failure(piece.fact, piece.head)
    lines += [(), (Span("As written", Role.STRONG),), *_text(shown)]
    lines += [(Span(label(line)[:MOST_TEXT]),) for line in under[:MOST_UNDER]]
    if len(under) > MOST_UNDER:
        lines.append((Span(f"… {count(len(under) - MOST_UNDER)} more lines", Role.DIM),))
    return [row for line in lines for row in _hung(line, room)]


def _hung(line: Spans, room: int) -> Iterator[Spans]:
    """A field in as many lines as it takes; every other line as it is."""
    if len(line) != 2 or len(line[0].text) != _WIDE + 1:
        yield line
        return
    (name, value), blank = line, Span(" " * (_WIDE + 1))
    for place, part in enumerate(wrapped(value.text, room - _WIDE - 1) or [""]):
        yield (blank if place else name, Span(part, value.role))


def _text(shown: str) -> Iterator[Spans]:
    # Dumps of other programs reach a log with their line ends written out.
    for part in shown[:MOST_TEXT].replace("\\n", "\n").split("\n"):
        yield (Span(label(part)),)
    if len(shown) > MOST_TEXT:
        yield (Span(f"… {count(len(shown) - MOST_TEXT)} more characters", Role.DIM),)


def _piece(piece: Line) -> Iterator[Spans]:
    for name, word in _HEAD:
        value = getattr(piece.head, name)
        if value not in ("", None):
            yield _field(word, str(value))
    yield _field("severity", severity(piece))
    kind = noise(piece)
    if kind is not None:
        yield _field("noise", kind)
    fact = piece.fact
    if fact is None:
        yield _field("says", "nothing this console knows")
    elif isinstance(fact, FailureSeen):
        yield from _failure(fact, piece.head)
    else:
        yield _field("says", type(fact).__name__.removesuffix("Seen").lower())
        yield from _fact(fact)


def _fact(fact: Fact) -> Iterator[Spans]:
    for part in fields(fact):
        value = getattr(fact, part.name)
        if value not in (None, "", ()):
            yield _field(part.name.replace("tok_s", "tok/s").replace("_", " "), str(value))


def _failure(fact: FailureSeen, head: Head) -> Iterator[Spans]:
    marker = marker_of(fact)
    yield (
        Span(f"{'failure':<{_WIDE}} ", Role.DIM),
        Span(summary(fact, head.ranks), Role.LOG_ERROR),
    )
    yield _field("means", marker.meaning + ("; the server ends by it" if marker.fatal else ""))
    if marker.remedy:
        yield _field("remedy", marker.remedy)
    for name, value in fact.detail:
        yield _field(name.replace("_", " "), value)


def _field(name: str, value: str) -> Spans:
    return Span(f"{name:<{_WIDE}} ", Role.DIM), Span(label(value))
