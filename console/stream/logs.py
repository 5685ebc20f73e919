"""Where log lines are: the Logs port and the ring that holds them while live.

Lines are addressed by (log, number); a number is never used twice, and dropped lines use up
theirs. The ring is bounded in lines and in characters and forgets whole chunks from the front.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from console.model.fleet import LogId
from console.model.text import Clean
from console.stream.server_events import LogAdvanced, LogGap

MOST_LINES = 200_000
MOST_CHARACTERS = 64 * 1024 * 1024


class Chunk(NamedTuple):
    """Lines that came in together, numbered from `first`.

    A gap is a chunk of one line, its text, that uses up `span` numbers. `log` is named only
    where a port lays several logs together.
    """

    first: int
    t_us: int
    lines: Sequence[Clean]
    span: int
    gap: LogGap | None = None
    log: LogId = LogId("")

    @property
    def end(self) -> int:
        """The number after its last."""
        return self.first + self.span


class Logs(Protocol):
    """Access to lines: the ring when live, the journal when replaying."""

    def reach(self, log: LogId) -> tuple[int, int]:
        """The numbers held: from the first up to before the end; (0, 0) for an unknown log."""
        ...

    def chunks(self, log: LogId, first: int, end: int) -> Iterator[Chunk]:
        """The chunks that overlap the numbers, oldest first, uncut."""
        ...

    def chunks_back(self, log: LogId, end: int) -> Iterator[Chunk]:
        """The chunks that begin before `end`, newest first, uncut."""
        ...


def lines(logs: Logs, log: LogId, first: int, end: int) -> list[Clean]:
    """The texts numbered from `first` up to before `end`, gaps among them as their text."""
    found: list[Clean] = []
    for chunk in logs.chunks(log, first, end):
        if chunk.gap is not None:
            if chunk.first >= first:
                found.extend(chunk.lines)
            continue
        found.extend(chunk.lines[max(0, first - chunk.first) : end - chunk.first])
    return found


def last_lines(logs: Logs, log: LogId, count: int, end: int) -> list[Clean]:
    """The newest `count` texts numbered before `end`, oldest first; gaps are left out."""
    parts: list[Sequence[Clean]] = []
    held = 0
    for chunk in logs.chunks_back(log, end):
        if chunk.gap is None:
            part = chunk.lines[: end - chunk.first]
            parts.append(part)
            held += len(part)
        if held >= count:
            break
    texts = [text for part in reversed(parts) for text in part]
    return texts[-count:] if count else []


class _Held:
    """The chunks of one log, and how much they hold."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.firsts: list[int] = []
        self.head = 0
        self.line_count = 0
        self.characters = 0

    def append(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self.firsts.append(chunk.first)
        self.line_count += len(chunk.lines)
        self.characters += sum(map(len, chunk.lines))

    def forget_first(self) -> None:
        chunk = self.chunks[self.head]
        self.line_count -= len(chunk.lines)
        self.characters -= sum(map(len, chunk.lines))
        self.chunks[self.head] = chunk._replace(lines=())  # its lines go now, its place later
        self.head += 1
        if self.head > 1024 and self.head * 2 > len(self.chunks):
            del self.chunks[: self.head], self.firsts[: self.head]
            self.head = 0


class Ring:
    """The lines of a live session."""

    def __init__(
        self, most_lines: int = MOST_LINES, most_characters: int = MOST_CHARACTERS
    ) -> None:
        self._most_lines = most_lines
        self._most_characters = most_characters
        self._logs: dict[str, _Held] = {}

    def take(self, event: LogAdvanced | LogGap) -> None:
        """Hold the lines of an event, forgetting the oldest beyond the bounds."""
        if isinstance(event, LogGap):
            chunk = Chunk(event.at, event.t_us, (event.text,), event.span, event)
        else:
            chunk = Chunk(event.first, event.t_us, event.lines, event.count)
        self.hold(LogId(event.log), chunk)

    def hold(self, log: LogId, chunk: Chunk) -> None:
        """Hold the next chunk of a log, forgetting the oldest beyond the bounds."""
        held = self._logs.setdefault(log, _Held())
        held.append(chunk)
        while len(held.chunks) - held.head > 1 and (
            held.line_count > self._most_lines or held.characters > self._most_characters
        ):
            held.forget_first()

    def reach(self, log: LogId) -> tuple[int, int]:
        held = self._logs.get(log)
        if held is None or held.head >= len(held.chunks):
            return 0, 0
        return held.firsts[held.head], held.chunks[-1].end

    def chunks(self, log: LogId, first: int, end: int) -> Iterator[Chunk]:
        held = self._logs.get(log)
        if held is None:
            return
        start = max(held.head, bisect_right(held.firsts, first, held.head) - 1)
        for place in range(start, len(held.chunks)):
            chunk = held.chunks[place]
            if chunk.first >= end:
                return
            if chunk.end > first:
                yield chunk

    def chunks_back(self, log: LogId, end: int) -> Iterator[Chunk]:
        held = self._logs.get(log)
        if held is None:
            return
        for place in range(bisect_right(held.firsts, end - 1, held.head) - 1, held.head - 1, -1):
            yield held.chunks[place]
