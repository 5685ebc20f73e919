"""The wanted lines of a log, as a window takes them, and how they are folded."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.fleet import LogId
from console.stream.logs import Chunk, Logs
from console.ui.panes.log_sieve import Sieve
from console.ui.window import Line, before_all, line_at, lost

_STRETCH = 512
_MOST_AT_ONCE = 2048
"""Older lines searched while a window waits for them; the rest comes in slices."""


class Sifted:
    """The lines a sieve lets through. Searches further back while somebody reads on there."""

    def __init__(self, logs: Logs, log: LogId, sieve: Sieve) -> None:
        self._logs = logs
        self._sieve = sieve
        self._chunk: Chunk | None = None
        self.log = log

    def back(self, end: int) -> Iterator[Line]:
        searched = 0
        while True:
            least = end
            for number in self._sieve.shown.before(end):
                line = self._line(number)
                least = number
                if line is None:
                    return
                yield line
            if self._sieve.whole:
                yield from before_all(self._logs, self.log, end)
                return
            if searched >= _MOST_AT_ONCE:
                return
            end = min(least, self._sieve.low)
            self._sieve.search_back(_STRETCH)
            searched += _STRETCH

    def on(self, start: int, end: int) -> Iterator[Line]:
        first = self._logs.reach(self.log)[0]
        if first > start:
            yield lost(start, first)
        for number in self._sieve.shown.since(start):
            line = self._line(number) if number < end else None
            if line is None:
                return
            yield line

    def _line(self, number: int) -> Line | None:
        chunk = self._chunk
        if chunk is None or not chunk.first <= number < chunk.end:
            chunk = self._chunk = next(self._logs.chunks(self.log, number, number + 1), None)
        return None if chunk is None or number < chunk.first else line_at(chunk, number)
