"""What stands in the frame of a log pane, and in its middle when there is no line."""

from __future__ import annotations

from collections.abc import Sequence

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.notices import why_no_lines
from console.render.spans import cells
from console.render.units import count, counted
from console.stream.state import LogMark
from console.ui.panes.log_cursor import Cursor
from console.ui.panes.log_find import Find
from console.ui.sight import Sight
from console.ui.window import Window


def named(sight: Sight, room: int) -> Spans:
    """The selected server's log, with its place where there is room."""
    cell = sight.state.logs.get(sight.log)
    title = [Span("Log", Role.TITLE)]
    if sight.server:
        title.append(Span(f"  {label(sight.server)}", Role.STRONG))
    if cell is not None and cell.listed is not None and room >= 76:
        title.append(Span(f"  {label(cell.listed.place)}", Role.DIM))
    return tuple(title)


def state(window: Window, find: Find, cursor: Cursor, marks: Sequence[LogMark], room: int) -> Spans:
    """What the pane does, what is searched and hidden, how many lines there are; as it fits."""
    if not any(mark.end for mark in marks):
        return ()
    told = find.told(cursor.number)
    lines = counted(sum(mark.end - mark.first - mark.dropped for mark in marks), "line")
    dropped = sum(mark.dropped for mark in marks)
    lost = (Span(f" · {count(dropped)} lost", Role.WARNING),) if dropped else ()
    dot = (Span(" · ", Role.DIM),)
    word = (_word(window),)
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


def _word(window: Window) -> Span:
    newer = window.newer
    if window.paused:
        return Span(f"paused · {count(newer)} new" if newer else "paused", Role.WARNING)
    if window.following:
        return Span("following")
    return Span(f"scrolled · {count(newer)} below", Role.WARNING)
