"""The log of the selected server, as the server wrote it.

A ring is read by line number; only lines in view are styled, each once for a theme. Repaints when
the follower looks, never for each line.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.lines import notice, pieces
from console.render.notices import why_no_lines
from console.render.units import count, counted
from console.stream.state import Log as LogCell
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink
from console.ui.window import Line, Window

_MOST_STYLED = 512
_STEP = 16


class Log(Pane):
    """The log pane."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "log")
        self.window = Window()
        self.left = 0
        self._sight: Sight | None = None
        self._shown: tuple[Line, ...] = ()
        self._why: tuple[Spans, ...] = ()
        self._beat: tuple[object, ...] = ()
        self._styled: dict[Line, Strip] = {}

    def show(self, sight: Sight) -> None:
        log = sight.log
        if log != self.window.log:
            self.left = 0
            self._styled.clear()
        cell = sight.state.logs.get(log)
        self._sight = sight
        self.window.look(sight.logs, log, cell.mark.end if cell else 0, self.depth)
        self._say(sight, cell)
        shown = tuple(self.window.lines)
        if shown != self._shown or not shown:
            self._shown = shown
            self.refresh_rows()

    def follow(self) -> None:
        """Go to the newest line and stay there."""
        self.window.follow()
        self._again()

    def pause(self) -> None:
        """Hold still, or let go again."""
        self.window.pause()
        self._again()

    def scroll_lines(self, step: int) -> None:
        """Move down by so many lines, up when negative."""
        if self._sight is not None:
            self.window.scroll(self._sight.logs, step, self.depth)
            self._again()

    def scroll_pages(self, step: int) -> None:
        """Move down by so many pages less a line, up when negative."""
        self.scroll_lines(step * max(1, self.depth - 1))

    def scroll_cells(self, step: int) -> None:
        """Move right by so many steps, left when negative."""
        widest = max((self._strip(line).cell_length for line in self._shown), default=0)
        self.left = min(max(0, self.left + step * _STEP), max(0, widest - self.room))
        self.refresh_rows()

    def wear(self, ink: Ink) -> None:
        self._styled.clear()
        super().wear(ink)

    def row(self, y: int) -> Strip:
        room = self.room
        if not self._shown:
            return self.ink.strip(self._why[y] if y < len(self._why) else (), room)
        if y >= len(self._shown):
            return self.ink.blank(room)
        line = self._shown[y]
        if line.notice:
            return self.ink.pieces(notice(label(line.text), room))
        strip = self._strip(line)
        if strip.cell_length <= self.left + room and not self.left:
            return strip
        return self._cut(strip, room)

    def _cut(self, strip: Strip, room: int) -> Strip:
        """The stretch in view, an ellipsis at each end where something is left out."""
        first, last = self.left, self.left + room
        if strip.cell_length <= first:
            return self.ink.strip((Span("…" if strip.cell_length else "", Role.DIM),), room)
        before, after = first > 0, strip.cell_length > last
        parts = list(strip.crop(first + before, last - after))
        # The marks take the look of what they cut: another style would cost the wire 40 bytes.
        if before and parts:
            parts[0] = Segment("…" + parts[0].text, parts[0].style)
        if after and parts:
            parts[-1] = Segment(parts[-1].text + "…", parts[-1].style)
        return Strip(parts)

    def _strip(self, line: Line) -> Strip:
        strip = self._styled.get(line)
        if strip is None:
            if len(self._styled) >= _MOST_STYLED:
                self._styled.clear()
            strip = self._styled[line] = self.ink.pieces(pieces(line.text))
        return strip

    def _again(self) -> None:
        if self._sight is not None:
            self.show(self._sight)

    def _say(self, sight: Sight, cell: LogCell | None) -> None:
        title = [Span("Log", Role.TITLE)]
        if sight.server:
            title.append(Span(f"  {label(sight.server)}", Role.STRONG))
        if cell is not None and cell.listed is not None and self.room >= 76:
            title.append(Span(f"  {label(cell.listed.place)}", Role.DIM))
        window = self.window
        beat = (window.log, window.following, window.paused, sight.now_us // 1_000_000, self.room)
        if beat != self._beat:
            # Counts change with every line; once a second is often enough for them.
            self._beat = beat
            self.entitle(tuple(title), self._state(cell))
        why: tuple[Spans, ...] = ()
        if not self.window.lines:
            why = self._empty(sight, cell)
        if why != self._why:
            self._why = why
            self.refresh_rows()

    def _state(self, cell: LogCell | None) -> Spans:
        if cell is None or cell.mark.end == 0:
            return ()
        window = self.window
        newer = window.newer
        if window.paused:
            word = f"paused · {count(newer)} new" if newer else "paused"
        elif window.following:
            word = "following"
        else:
            word = f"scrolled · {count(newer)} below"
        mark = cell.mark
        spans = [Span(word, Role.TEXT if window.following and not window.paused else Role.WARNING)]
        spans.append(Span(f" · {counted(mark.end - mark.first - mark.dropped, 'line')}", Role.DIM))
        if mark.dropped:
            spans.append(Span(f" · {count(mark.dropped)} lost", Role.WARNING))
        return tuple(spans)

    def _empty(self, sight: Sight, cell: LogCell | None) -> tuple[Spans, ...]:
        if not sight.server:
            return ((Span("No server selected.", Role.DIM),),)
        listed = sight.state.servers[sight.server].listed
        host = sight.state.hosts.get(listed.host) if listed else None
        return why_no_lines(sight.server, cell, host)
