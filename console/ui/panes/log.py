"""The log of the selected server, as the server wrote it.

A ring is read by line number; only lines in view are styled, each once for a look. Repaints when
the follower looks, never for each line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from console.model.clock import Clock
from console.model.fleet import LogId
from console.model.span import Spans
from console.render.spans import cells
from console.stream.logs import Logs
from console.stream.state import Log as LogCell
from console.ui.panes.log_cursor import Cursor
from console.ui.panes.log_find import Find
from console.ui.panes.log_rows import Rows
from console.ui.panes.log_times import Times
from console.ui.panes.log_title import empty, named, placed, state, trouble
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink
from console.ui.window import Line, Window

if TYPE_CHECKING:
    from console.ui.screens.mode_screen import ModeScreen

_STEP = 16
_FRAME = 6
"""What the frame's top line needs beside its words: the sign of focus, spaces, a rule."""
_POINTED, _SELECTED = "▸", "▪"


class Log(Pane):
    """The log pane."""

    def __init__(self, ink: Ink, clock: Clock, id: str = "log") -> None:
        super().__init__(ink, id)
        self.clock = clock
        self.window = Window()
        # The toolkit works out a widget's size anew each time it is asked.
        self.window.tall = lambda line: (
            self.rows.tall(line, self.room, _most(self.depth)) if self.rows.wrap else 1
        )
        self.find = Find(clock)
        self.cursor = Cursor(self.window)
        self.rows = Rows(ink)
        self.times = Times()
        self.rows.after = self.find.folded
        self.rows.before = self.times.before
        self.sight: Sight | None = None
        self._drawn: list[tuple[Line, Strip]] = []
        self._shown: tuple[object, ...] = ()
        self._why: tuple[Spans, ...] = ()
        self._beat: tuple[object, ...] = ()
        self._searching = False
        self._pointed = False

    def where(self, sight: Sight) -> tuple[Logs, LogId, int]:
        """The log to show: its port, its name, and the number after its last line."""
        cell = sight.state.logs.get(sight.log)
        return sight.logs, sight.log, cell.mark.end if cell else 0

    def head(self, sight: Sight) -> tuple[Spans, str, tuple[LogCell, ...]]:
        """What stands in the frame at the left, where that is, and the logs that are shown."""
        cell = sight.state.logs.get(sight.log)
        place = cell.listed.place if cell is not None and cell.listed is not None else ""
        return named(sight), place, (cell,) if cell else ()

    def show(self, sight: Sight) -> None:
        logs, log, end = self.where(sight)
        if log != self.window.log:
            self.rows.left = 0
            self.rows.forget()
            self.cursor.drop()
        self.sight = sight
        start = end if self.window.following else self.window.resting
        self.window.look(self.find.source(logs, log, end, start), end, self.depth)
        if self.find.give_up():
            self.window.rest()
            cast("ModeScreen", self.screen).say(f"Search ended: {self.find.stopped}", False)
            self.again(anew=True)
            return
        self._say(sight)
        lines = self.window.lines
        self.times.look(sight)
        self.times.learn(log, lines)
        shown = (*lines, *map(self.find.folded, lines), self.cursor.number, self.cursor.anchor)
        if shown != self._shown or not lines:
            self._shown = shown
            self._draw()
        if self.find.more and not self._searching and self.is_mounted:
            self._searching = True
            self.run_worker(self._search(), group="logs")

    def again(self, anew: bool = False) -> None:
        """Show what was shown last, as it is now; `anew` when lines look different."""
        if anew:
            self.rows.find = self.find.spans if self.find.lifts else None
            self.rows.forget()
            self._shown, self._beat = (), ()
        if self.sight is not None:
            self.show(self.sight)

    def scroll_lines(self, step: int) -> None:
        """Move down by so many rows, up when negative."""
        self.window.scroll(step, self.depth)
        self.again()

    def scroll_cells(self, step: int) -> None:
        """Move right by so many steps, left when negative."""
        rows = self.rows
        widest = rows.widest(self.window.lines, self.room)
        rows.left = min(max(0, rows.left + step * _STEP), max(0, widest))
        self.again(anew=True)

    def go(self, number: int) -> None:
        """Point at a line and bring it into view."""
        self.cursor.number = number
        if self.cursor.line is None:
            self.window.go(number, self.depth)
            if self.cursor.line is None and self.window.lines:
                later = (line.number for line in self.window.lines if line.number >= number)
                self.cursor.number = next(later, self.window.lines[-1].number)
        self.window.following = False
        self._beat = ()
        self.again()

    def wear(self, ink: Ink) -> None:
        self.rows.ink = ink
        self.rows.forget()
        super().wear(ink)
        self._draw()

    def row(self, y: int) -> Strip:
        if not self.window.lines:
            return self.ink.strip(self._why[y] if y < len(self._why) else (), self.room)
        if y >= len(self._drawn):
            return self.ink.blank(self.room)
        return self._drawn[y][1]

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        mark = self._mark(y - 1)
        if mark == " ":
            return strip
        head, *rest = strip
        over = self.ink.selected
        parts = [Segment(text, (style or self.ink.ground) + over) for text, style, _ in rest[:-1]]
        return Strip([Segment("│" + mark, head.style), *parts, *rest[-1:]], strip.cell_length)

    def _mark(self, y: int) -> str:
        if self.cursor.number is None or not 0 <= y < len(self._drawn):
            return " "
        number = self._drawn[y][0].number
        if number == self.cursor.number:
            return _POINTED
        return _SELECTED if self.cursor.selected(number) else " "

    def _draw(self) -> None:
        drawn: list[tuple[Line, Strip]] = []
        room, depth = self.room, self.depth
        for line in self.window.lines:
            drawn += [(line, row) for row in self.rows.rows(line, room, _most(depth))]
        # At the end the last row counts; the first line may stick out above.
        self._drawn = drawn[-depth:] if self.window.following else drawn[:depth]
        self.refresh_rows()
        pointed = self.cursor.number is not None
        if pointed or self._pointed:
            self._pointed = pointed
            self.refresh(Region(1, 1, 1, self.depth))

    async def _search(self) -> None:
        """Search until nothing is left, a slice at a time."""
        while self.find.more:
            self.find.slice()
            if self.window.rows < self.depth or not self.find.more:
                self.again()
            await self.clock.sleep(0)
        self._searching = False
        self._beat = ()
        self.again()

    def _say(self, sight: Sight) -> None:
        window = self.window
        title, place, logs = self.head(sight)
        told = (window.log, window.following, window.paused, trouble(logs), self.room)
        beat = (*told, sight.now_us // 1_000_000)
        if beat != self._beat:
            # Counts change with every line; once a second is often enough for them.
            self._beat = beat
            room = self.room - cells(title) - _FRAME
            words = state(window, self.find, self.cursor, logs, room)
            self.entitle((*title, *placed(place, room - cells(words))), words)
        why: tuple[Spans, ...] = ()
        if not window.lines:
            why = empty(sight, self.find)
        if why != self._why:
            self._why = why
            self.refresh_rows()


def _most(depth: int) -> int:
    """How many rows one wrapped line may take, so that others stay in view."""
    return max(3, depth // 2)
