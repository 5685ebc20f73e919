"""Which lines of a log are in view: a window with its own top, addressed by line number.

Follows the end until somebody scrolls up or pauses; from then on nothing in view moves, even when
the store forgets it. Knows no widget.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from console.model.fleet import LogId
from console.model.text import Clean
from console.stream.logs import Chunk, Logs


class Line(NamedTuple):
    """A line in view; `end` is the number after it. A notice is the console's own words."""

    number: int
    end: int
    text: Clean
    notice: bool = False


class Window:
    """The lines in view of one log at a time."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.following = True
        self.paused = False
        self.log = LogId("")
        self.end = 0
        self._paused_end = 0

    @property
    def newer(self) -> int:
        """How many numbers lie below the window."""
        return max(0, self.end - self.lines[-1].end) if self.lines else 0

    def look(self, logs: Logs, log: LogId, end: int, height: int) -> None:
        """Bring the window up to date: the log reaches up to before `end`, `height` lines fit."""
        if log != self.log:
            self.log = log
            self.lines = []
            self.following, self.paused = True, False
        if end < self.end:
            # The player went back: what is after its position has not happened yet.
            self._paused_end = min(self._paused_end, end)
            if self.lines and self.lines[-1].end > end:
                self.lines = []
        self.end = end
        if not self.lines or (self.following and not self.paused):
            self.lines = self._before(logs, self._last, height)
            return
        del self.lines[height:]
        missing = height - len(self.lines)
        if missing > 0 and self.lines:
            self.lines += self._after(logs, missing)
            missing = height - len(self.lines)
            if missing > 0:
                self.lines = self._before(logs, self.lines[0].number, missing) + self.lines

    def follow(self) -> None:
        """Go to the newest line and stay there."""
        self.following, self.paused = True, False
        self.lines = []

    def pause(self) -> None:
        """Hold still, or let go again."""
        self.paused = not self.paused
        self._paused_end = self.end

    def scroll(self, logs: Logs, step: int, height: int) -> None:
        """Move down by so many lines, or up when negative."""
        if not self.lines:
            return
        if step < 0:
            above = self._before(logs, self.lines[0].number, -step)
            if above:
                self.following = False
                self.lines = (above + self.lines)[:height]
            return
        below = self._after(logs, step)
        self.lines = (self.lines + below)[-height:]
        if self.lines[-1].end >= self._last:
            self.following = True

    @property
    def _last(self) -> int:
        return self._paused_end if self.paused else self.end

    def _before(self, logs: Logs, end: int, count: int) -> list[Line]:
        found: list[Line] = []
        if count <= 0:
            return found
        for chunk in logs.chunks_back(self.log, end):
            for line in _lines_back(chunk, end):
                found.append(line)
                if len(found) == count:
                    return found[::-1]
        return found[::-1]

    def _after(self, logs: Logs, count: int) -> list[Line]:
        start = self.lines[-1].end
        found: list[Line] = []
        for chunk in logs.chunks(self.log, start, self._last):
            for line in _lines_on(chunk, start, self._last):
                if not found and line.number > start:
                    lost = Clean(f"{line.number - start:,} lines are no longer held")
                    found.append(Line(start, line.number, lost, notice=True))
                if len(found) >= count:
                    return found[:count]
                found.append(line)
        return found[:count]


def _lines_back(chunk: Chunk, end: int) -> Iterator[Line]:
    if chunk.gap is not None:
        yield Line(chunk.first, chunk.end, chunk.gap.text, notice=True)
        return
    for place in range(min(len(chunk.lines), end - chunk.first) - 1, -1, -1):
        yield Line(chunk.first + place, chunk.first + place + 1, chunk.lines[place])


def _lines_on(chunk: Chunk, start: int, end: int) -> Iterator[Line]:
    if chunk.gap is not None:
        if chunk.first >= start:
            yield Line(chunk.first, chunk.end, chunk.gap.text, notice=True)
        return
    for place in range(max(0, start - chunk.first), min(len(chunk.lines), end - chunk.first)):
        yield Line(chunk.first + place, chunk.first + place + 1, chunk.lines[place])
