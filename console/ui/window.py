"""Which lines of a log are in view: a window with its own top, addressed by line number.

Follows the end until somebody scrolls up or pauses; from then on nothing in view moves, even when
the store forgets it. Knows no widget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from console.model.fleet import LogId
from console.model.text import Clean
from console.stream.logs import Chunk, Logs


class Line(NamedTuple):
    """A line in view; `end` is the number after it. A notice is the console's own words.

    `t_us` is when it came in; `log` is named only where several logs are laid together.
    """

    number: int
    end: int
    text: Clean
    notice: bool = False
    t_us: int = 0
    log: LogId = LogId("")


class Source(Protocol):
    """Where a window takes lines from."""

    @property
    def log(self) -> LogId:
        """Which log they are of."""
        ...

    def back(self, end: int) -> Iterator[Line]:
        """Lines numbered before `end`, newest first."""
        ...

    def on(self, start: int, end: int) -> Iterator[Line]:
        """Lines from `start` up to before `end`, oldest first, what is lost between among them."""
        ...


class Whole:
    """Every line of a log."""

    def __init__(self, logs: Logs, log: LogId) -> None:
        self._logs = logs
        self.log = log

    def back(self, end: int) -> Iterator[Line]:
        for chunk in self._logs.chunks_back(self.log, end):
            yield from _lines_back(chunk, end)
        yield from before_all(self._logs, self.log, end)

    def on(self, start: int, end: int) -> Iterator[Line]:
        first = True
        for chunk in self._logs.chunks(self.log, start, end):
            for line in _lines_on(chunk, start, end):
                if first and line.number > start:
                    yield lost(start, line.number)
                first = False
                yield line


class Window:
    """The lines in view of one log at a time.

    Attributes:
        tall: how many rows a line takes.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.following = True
        self.paused = False
        self.log = LogId("")
        self.end = 0
        self.tall: Callable[[Line], int] = lambda _: 1
        self._paused_end = 0
        self._at_end = False
        self._rest: int | None = None
        self._source: Source | None = None

    @property
    def newer(self) -> int:
        """How many numbers lie below the window."""
        return max(0, self.end - self.lines[-1].end) if self.lines else 0

    @property
    def rows(self) -> int:
        """How many rows the lines in view take."""
        return sum(map(self.tall, self.lines))

    def look(self, source: Source, end: int, height: int) -> None:
        """Bring the window up to date: the log reaches up to before `end`, `height` rows fit."""
        self._source = source
        if source.log != self.log:
            self.log = source.log
            self.lines = []
            self.following, self.paused, self._rest = True, False, None
        if end < self.end:
            # The player went back: what is after its position has not happened yet.
            self._paused_end = min(self._paused_end, end)
            if self.lines and self.lines[-1].end > end:
                self.lines = []
        self.end = end
        if self.following and not self.paused:
            # The first may stick out above: whoever draws shows its end.
            self.lines = self._before(self._last, height)
            self._at_end = True
            return
        self._trim(height, newest=self._at_end)
        self._at_end = False
        if not self.lines:
            self.lines = self._before(min(self._last, self._rest or self._last), height)
            self._trim(height, newest=True)
        self._fill(height)

    def follow(self) -> None:
        """Go to the newest line and stay there."""
        self.following, self.paused = True, False
        self.lines, self._rest = [], None

    def pause(self) -> None:
        """Hold still, or let go again."""
        self.paused = not self.paused
        self._paused_end = self.end

    @property
    def resting(self) -> int:
        """The number after the last line somebody reads, or read before the source changed."""
        if self.lines:
            return self.lines[-1].end
        return self._last if self._rest is None else self._rest

    def rest(self) -> None:
        """Take the lines anew, from another source, about where one reads now."""
        if self.lines and not (self.following and not self.paused):
            self._rest = self.lines[-1].end
            self.following = False
        self.lines = []

    def go(self, number: int, height: int) -> None:
        """Bring the line of that number, or the next one, into view, some lines above it."""
        if self._source is None:
            return
        self.following = False
        self.lines = self._before(min(number, self._last), height // 3)
        self._trim(height // 3, newest=True)
        if not self.lines:
            self.lines = _take(self._source.on(number, self._last), height, self.tall)
        self._fill(height)

    def scroll(self, step: int, height: int) -> None:
        """Move down by so many rows, or up when negative."""
        if not self.lines:
            return
        if step < 0:
            above = self._before(self.lines[0].number, -step)
            if above:
                self.following = False
                self.lines = above + self.lines
                self._trim(height, newest=False)
            return
        self.lines += self._after(step)
        self._trim(height, newest=True)
        if self.lines[-1].end >= self._last:
            self.following = True

    @property
    def _last(self) -> int:
        return self._paused_end if self.paused else self.end

    def _fill(self, height: int) -> None:
        """Lines below where there is room, and where there are none, above."""
        self._trim(height, newest=False)
        missing = height - self.rows
        if missing > 0 and self.lines:
            below = self._after(missing)
            self.lines += below
            self._trim(height, newest=False)
            missing = height - self.rows
            if missing > 0:
                self.lines = self._before(self.lines[0].number, missing) + self.lines
                self._trim(height, newest=True)

    def _trim(self, height: int, newest: bool) -> None:
        """Drop lines until they fit, keeping one; `newest` says which end stays."""
        rows = self.rows
        while rows > height and len(self.lines) > 1:
            rows -= self.tall(self.lines.pop(0 if newest else -1))
        if height <= 0:
            self.lines = []

    def _before(self, end: int, rows: int) -> list[Line]:
        source = self._source
        return _take(source.back(end), rows, self.tall)[::-1] if source is not None else []

    def _after(self, rows: int) -> list[Line]:
        source = self._source
        if source is None:
            return []
        return _take(source.on(self.lines[-1].end, self._last), rows, self.tall)


def _take(lines: Iterator[Line], rows: int, tall: Callable[[Line], int]) -> list[Line]:
    """Lines until they take so many rows."""
    found: list[Line] = []
    while rows > 0:
        line = next(lines, None)
        if line is None:
            break
        found.append(line)
        rows -= tall(line)
    return found


def lost(first: int, end: int) -> Line:
    """What stands where the store has forgotten lines."""
    return Line(first, end, Clean(f"{end - first:,} lines are no longer held"), notice=True)


def before_all(logs: Logs, log: LogId, end: int) -> Iterator[Line]:
    """What stands above the oldest line held, where the store has forgotten those before."""
    first = min(end, logs.reach(log)[0])
    if first > 0:
        yield lost(0, first)


def line_at(chunk: Chunk, number: int) -> Line:
    """One line of a chunk; of a gap, the whole of it."""
    if chunk.gap is not None:
        text = chunk.gap.text
        return Line(chunk.first, chunk.end, text, True, chunk.t_us, chunk.log)
    text = chunk.lines[number - chunk.first]
    return Line(number, number + 1, text, False, chunk.t_us, chunk.log)


def _lines_back(chunk: Chunk, end: int) -> Iterator[Line]:
    if chunk.gap is not None:
        yield line_at(chunk, chunk.first)
        return
    for number in range(min(chunk.first + len(chunk.lines), end) - 1, chunk.first - 1, -1):
        yield line_at(chunk, number)


def _lines_on(chunk: Chunk, start: int, end: int) -> Iterator[Line]:
    if chunk.gap is not None:
        if chunk.first >= start:
            yield line_at(chunk, chunk.first)
        return
    for number in range(max(start, chunk.first), min(chunk.first + len(chunk.lines), end)):
        yield line_at(chunk, number)
