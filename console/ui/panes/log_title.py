"""What stands in the frame of a log pane, and in its middle when there is no line."""

from __future__ import annotations

from collections.abc import Sequence

from console.model.palette import Role
from console.model.span import Span, Spans, fit_end
from console.render.label import label
from console.render.notices import why_no_lines
from console.render.spans import cells
from console.render.units import count, counted
from console.stream.fact import FeedState
from console.stream.state import Log
from console.ui.panes.log_cursor import Cursor
from console.ui.panes.log_find import Find
from console.ui.sight import Sight
from console.ui.window import Window

_LEAST_PLACE = 16
_TROUBLE = {FeedState.MISSING: "missing", FeedState.UNREADABLE: "unreadable", FeedState.CUT: ""}


def named(sight: Sight) -> Spans:
    """The selected server's log."""
    server = Span(f"  {label(sight.server)}", Role.STRONG)
    return (Span("Log", Role.TITLE), *((server,) if sight.server else ()))


def placed(place: str, room: int) -> Spans:
    """Where a log is, in `room` cells: cut in front, for its end names the file."""
    if not place or room < _LEAST_PLACE:
        return ()
    return (Span(f"  {fit_end(label(place), room - 2)}", Role.DIM),)


def state(window: Window, find: Find, cursor: Cursor, logs: Sequence[Log], room: int) -> Spans:
    """What the pane does, what is searched and hidden, how many lines there are; as it fits."""
    marks = [log.mark for log in logs]
    if not any(mark.end for mark in marks):
        return ()
    told = find.told(cursor.number)
    lines = counted(sum(mark.end - mark.first - mark.dropped for mark in marks), "line")
    dropped = sum(mark.dropped for mark in marks)
    lost = (Span(f" · {count(dropped)} lost", Role.WARNING),) if dropped else ()
    dot = (Span(" · ", Role.DIM),)
    word = _words(window, trouble(logs))
    sought = (*told, *dot) if told else ()
    forms = (
        (*sought, *word, Span(f" · {lines}", Role.DIM), *lost),
        (*sought, *word, *lost),
        (*sought, *word),
        told,
    )
    return next((form for form in forms if cells(form) <= room), word)


def empty(sight: Sight, find: Find) -> tuple[Spans, ...]:
    """Why there is no line."""
    cell = sight.state.logs.get(sight.log)
    if cell is not None and cell.mark.end and find.wanted.searched:
        word = "searching …" if find.more else "no line is wanted: ⌫ shows all again"
        return ((Span(word, Role.DIM),),)
    if not sight.server:
        return ((Span("No server selected.", Role.DIM),),)
    listed = sight.state.servers[sight.server].listed
    host = sight.state.hosts.get(listed.host) if listed else None
    return why_no_lines(sight.server, cell, host)


def trouble(logs: Sequence[Log]) -> str:
    """Why no line can come now, and in how many of several logs; empty while all are read."""
    feeds = [log.feed for log in logs if log.feed and log.feed.feed in _TROUBLE]
    if not feeds:
        return ""
    kinds = {
        _TROUBLE[feed.feed] or (feed.failure.value if feed.failure else "cut") for feed in feeds
    }
    apart = f"{len(feeds)} of {len(logs)} " if len(logs) > 1 else ""
    return apart + (kinds.pop() if len(kinds) == 1 else "not read")


def _words(window: Window, trouble: str) -> Spans:
    cut = Span(trouble, Role.WARNING)
    if trouble and window.following and not window.paused:
        return (cut,)
    return (_word(window), *((Span(" · ", Role.DIM), cut) if trouble else ()))


def _word(window: Window) -> Span:
    newer = window.newer
    if window.paused:
        return Span(f"paused · {count(newer)} new" if newer else "paused", Role.WARNING)
    if window.following:
        return Span("following")
    return Span(f"scrolled · {count(newer)} below", Role.WARNING)
