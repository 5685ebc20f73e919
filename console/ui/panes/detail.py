"""The selected server in detail: load, figures, GPUs, arguments; scrolled by lines.

Never decides what is said: that is render's. Draws anew only lines that changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.detail import detail_lines
from console.render.label import label
from console.stream.state import Host, Server
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink


class Detail(Pane):
    """One server's detail."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "detail")
        self._first = 0
        self._lines: tuple[Spans, ...] = ()
        self._seen: tuple[str, int, int, int] | None = None
        self._servers: Mapping[str, Server] | None = None
        self._hosts: Mapping[str, Host] | None = None
        self._server = ""

    def show(self, sight: Sight) -> None:
        state = sight.state
        # Ages are told by the second, so within one only another fact changes a line.
        seen = (sight.server, sight.now_us // 1_000_000, self.size.width, self.size.height)
        if seen == self._seen and state.servers is self._servers and state.hosts is self._hosts:
            return
        self._seen, self._servers, self._hosts = seen, state.servers, state.hosts
        if sight.server != self._server:
            self._server, self._first = sight.server, 0
        before, self._lines = (
            self._lines,
            detail_lines(state, sight.server, sight.now_us, max(1, self.room)),
        )
        self._settle()
        if len(before) != len(self._lines):
            self.refresh_rows()
            return
        for n, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            if old != new and 0 <= n - self._first < self.depth:
                self.refresh_rows(n - self._first, 1)

    def scroll_lines(self, step: int) -> None:
        """Move down by so many lines, up when negative."""
        first = self._first
        self._first += step
        self._settle()
        if self._first != first:
            self.refresh_rows()

    def scroll_pages(self, step: int) -> None:
        """Move by what is in view."""
        self.scroll_lines(step * max(1, self.depth - 1))

    def row(self, y: int) -> Strip:
        n = self._first + y
        return self.ink.strip(self._lines[n] if n < len(self._lines) else (), self.room)

    def _settle(self) -> None:
        """Keep the window inside the lines and say where it is."""
        most = max(0, len(self._lines) - self.depth)
        self._first = min(max(0, self._first), most)
        title = (Span("Detail", Role.TITLE), Span(f"  {label(self._server)}", Role.STRONG))
        last = min(len(self._lines), self._first + self.depth)
        told = f"{self._first + 1}–{last} of {len(self._lines)}" if most else ""
        self.entitle(title, (Span(told, Role.DIM),) if told else ())
