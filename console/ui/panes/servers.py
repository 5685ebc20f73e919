"""The table of all servers, and which one is selected.

Draws only the rows in view, so that a hundred servers cost what ten do. Never decides what a cell
says: that is render's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.message import Message
from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span
from console.render.rows import (
    Place,
    Row,
    head_spans,
    layout,
    recent_rates,
    row_spans,
    server_row,
)
from console.stream.state import Server
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink

_CURSOR = 2


class Servers(Pane):
    """The table."""

    class Selected(Message):
        """Another server was selected."""

        def __init__(self, server: str) -> None:
            super().__init__()
            self.server = server

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "servers")
        self.selected = ""
        self._names: Sequence[str] = ()
        self._first = 0
        self._rows: tuple[Row, ...] = ()
        self._places: tuple[Place, ...] = ()
        self._servers: Mapping[str, Server] | None = None
        self._seen: tuple[int, int, int, int] | None = None
        self._sight: Sight | None = None

    def show(self, sight: Sight) -> None:
        state = sight.state
        seen = (sight.now_us // 1_000_000, self._first, self.size.width, self.size.height)
        if state.servers is self._servers and seen == self._seen:
            return
        self._sight = sight
        if state.servers is not self._servers:
            self._servers = state.servers
            self._names = list(state.servers)
            if self.selected not in state.servers:
                self._select(self._names[0] if self._names else "")
        self._seen = (seen[0], self._keep_in_view(), seen[2], seen[3])
        self._draw(sight)

    def move(self, step: int) -> None:
        """Select a server further down (positive) or up; stops at the ends."""
        if not self._names:
            return
        here = self._names.index(self.selected) if self.selected in self._names else 0
        self._select(self._names[min(len(self._names) - 1, max(0, here + step))])
        self._keep_in_view()
        if self._sight is not None:
            self._draw(self._sight, anew=True)

    def row(self, y: int) -> Strip:
        room = self.room
        if y == 0:
            return self.ink.strip((Span(" " * _CURSOR), *head_spans(self._places)), room)
        if not self._names:
            text = "No servers. A fleet file names them." if y == 1 else ""
            return self.ink.strip((Span(text, Role.DIM),), room)
        if y - 1 >= len(self._rows):
            return self.ink.strip((), room)
        row = self._rows[y - 1]
        chosen = row.name == self.selected
        cursor = Span("▶ " if chosen else "  ", Role.KEY)
        over = self.ink.selected if chosen else None
        return self.ink.strip((cursor, *row_spans(row, self._places)), room, over)

    def _select(self, name: str) -> None:
        if name != self.selected:
            self.selected = name
            self.post_message(self.Selected(name))

    def _keep_in_view(self) -> int:
        shown = max(1, self.depth - 1)
        here = self._names.index(self.selected) if self.selected in self._names else 0
        self._first = min(max(self._first, here - shown + 1), here)
        self._first = max(0, min(self._first, len(self._names) - shown))
        return self._first

    def _draw(self, sight: Sight, anew: bool = False) -> None:
        shown = self._names[self._first : self._first + max(0, self.depth - 1)]
        servers = sight.state.servers
        rows = tuple(
            server_row(
                name, servers[name], sight.now_us, recent_rates(sight.series, name, sight.now_us)
            )
            for name in shown
        )
        places = layout(max(0, self.room - _CURSOR), rows)
        more = len(self._names) - len(shown)
        state = (
            f"{self._first + 1}–{self._first + len(shown)} of {len(self._names)}" if more else ""
        )
        self.entitle((Span("Servers", Role.TITLE),), (Span(state, Role.DIM),) if state else ())
        before, self._rows = self._rows, rows
        if anew or places != self._places or len(before) != len(rows):
            self._places = places
            self.refresh_rows()
            return
        for y, (old, new) in enumerate(zip(before, rows, strict=True), 1):
            if old != new:
                self.refresh_rows(y, 1)
