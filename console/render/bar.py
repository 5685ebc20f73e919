"""The replay bar: where the player is in the session, how fast, and what happened along it."""

from __future__ import annotations

from collections.abc import Sequence

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.spans import cells, fitted, joined
from console.render.units import clock

NOTCHES: dict[str, tuple[str, Role]] = {
    "gap": ("┊", Role.DIM),
    "act": ("╋", Role.NOTE),
    "marker": ("◆", Role.NOTE),
    "error": ("▲", Role.ERROR),
}
"""Kinds in rising order of importance: where several share a cell, the last of these shows."""

_HINTS = (("←→", "10 s"), (",.", "event"), ("g", "go to"))
_MORE_HINTS = (("space", "play"), *_HINTS, ("<>", "speed"))


def bar_spans(
    now_us: int,
    length_us: int,
    speed: float,
    playing: bool,
    notches: Sequence[tuple[int, str]],
    room: int,
    skipped: str = "",
) -> Spans:
    """One line, exactly `room` cells: state, position, track with notches, length, legend.

    Args:
        skipped: what an idle cut left out just now, `148 s skipped`.
    """
    sign = "▶" if playing else "‖"
    head = (
        Span(" REPLAY ", Role.WARNING),
        Span(f"{sign} x{speed:g}".ljust(8), Role.STRONG),
        Span(clock(now_us) + " "),
        *((Span(f"» {skipped} ", Role.NOTE),) if skipped else ()),
    )
    tail = (Span(" " + clock(length_us)),)
    kinds = [kind for kind in NOTCHES if any(kind == k for _, k in notches)]
    legend = joined(
        ((Span(NOTCHES[k][0], NOTCHES[k][1]), Span(f" {k}", Role.DIM)) for k in kinds), "  "
    )
    hints, more_hints = _hints(_HINTS), _hints(_MORE_HINTS)
    track = room - cells(head) - cells(tail)
    extra: Spans = ()
    for wanted in ((legend, more_hints), (legend, hints), (legend,), (hints,)):
        more = joined((*wanted,), "   ")
        if more and track - cells(more) - 4 >= 24:
            extra = (Span("   "), *more, Span(" "))
            break
    track -= cells(extra)
    middle = _track(now_us, length_us, notches, track) if track > 0 else ()
    return fitted((*head, *middle, *tail, *extra), room)


def _hints(hints: Sequence[tuple[str, str]]) -> Spans:
    return joined(((Span(key, Role.KEY), Span(f" {what}", Role.DIM)) for key, what in hints), "  ")


def _track(now_us: int, length_us: int, notches: Sequence[tuple[int, str]], room: int) -> Spans:
    cells_: list[tuple[str, Role]] = [("━", Role.DIM)] * room
    rank = {kind: place for place, kind in enumerate(NOTCHES)}
    best: dict[int, str] = {}
    for t_us, kind in notches:
        place = _place(t_us, length_us, room)
        if kind in rank and rank[kind] >= rank.get(best.get(place, ""), -1):
            best[place] = kind
    here = _place(now_us, length_us, room)
    for place in range(here):
        cells_[place] = ("━", Role.KEY)
    for place, kind in best.items():
        cells_[place] = NOTCHES[kind]
    cells_[here] = ("●", Role.STRONG)
    spans: list[Span] = []
    for text, role in cells_:
        if spans and spans[-1].role is role:
            spans[-1] = Span(spans[-1].text + text, role)
        else:
            spans.append(Span(text, role))
    return tuple(spans)


def _place(t_us: int, length_us: int, room: int) -> int:
    if length_us <= 0:
        return 0
    return min(room - 1, max(0, t_us * room // length_us))
