"""The log lines of a session file, found by (log, number) without reading the whole of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import clean
from console.session.journal import MOST_NAMES, Journal, parse_table
from console.stream.codec import NotAnEvent
from console.stream.fact import GapKind
from console.stream.logs import Chunk
from console.stream.server_events import LogAdvanced, LogGap

_HEAD = re.compile(rb'log = ("(?:[^"\\\n]|\\.)*")\nfirst = (\d{1,15})\ncount = (\d{1,9})\n')
_HEAD_BYTES = 4096
_MISSING = clean("(lines missing from the session file)", Masks())


@dataclass(slots=True)
class _LogIndex:
    """The blocks of one log: first number and block number, by number."""

    first: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    end: int = 0


class JournalLogs:
    """The Logs port over a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._logs: dict[str, _LogIndex] = {}
        self._seen = 0
        self.read_on()

    def read_on(self) -> None:
        """Take in the blocks that the journal has read since."""
        index = self._journal.index
        new = range(self._seen, len(index))
        self._seen = len(index)
        changed = {self._add(n) for n in new if index.kind_of(n) in ("log", "gap")}
        for log in changed - {None}:
            held = self._logs[str(log)]
            order = sorted(range(len(held.first)), key=held.first.__getitem__)
            held.first = [held.first[place] for place in order]
            held.block = [held.block[place] for place in order]

    def _add(self, number: int) -> str | None:
        """Note where a block's lines are; the log's name."""
        gap = self._journal.index.kind_of(number) == "gap"
        found = None if gap else _HEAD.search(self._journal.body(number, _HEAD_BYTES))
        if found is not None:
            try:
                log = str(parse_table(b"k = " + found[1])["k"])
            except NotAnEvent:
                return None
            first, count = int(found[2]), int(found[3])
        else:
            event = self._journal.event(number)
            if isinstance(event, LogAdvanced):
                log, first, count = event.log, event.first, event.count
            elif isinstance(event, LogGap):
                log, first, count = event.log, event.at, event.span
            else:
                return None
        if log not in self._logs and len(self._logs) >= MOST_NAMES:
            return None
        held = self._logs.setdefault(log, _LogIndex())
        held.first.append(first)
        held.block.append(number)
        held.end = max(held.end, first + count)
        return log

    def reach(self, log: LogId) -> tuple[int, int]:
        """The numbers recorded of a log."""
        held = self._logs.get(log)
        return (held.first[0], held.end) if held else (0, 0)

    def chunks(self, log: LogId, first: int, end: int) -> Iterator[Chunk]:
        """The chunks that overlap the numbers, oldest first."""
        held = self._logs.get(log)
        if held is None:
            return
        start = max(0, bisect_right(held.first, first) - 1)
        for place in range(start, bisect_left(held.first, end)):
            chunk = self._chunk(held.block[place])
            if chunk is not None and chunk.end > first:
                yield chunk

    def chunks_back(self, log: LogId, end: int) -> Iterator[Chunk]:
        """The chunks that begin before `end`, newest first."""
        held = self._logs.get(log)
        if held is None:
            return
        for place in range(bisect_left(held.first, end) - 1, -1, -1):
            chunk = self._chunk(held.block[place])
            if chunk is not None:
                yield chunk

    def _chunk(self, number: int) -> Chunk | None:
        event = self._journal.event(number, bulk=True)
        if isinstance(event, LogAdvanced):
            if len(event.lines) == event.count:
                return Chunk(event.first, event.t_us, event.lines, event.count)
            # No recorder writes this: a file that promises more lines than it holds.
            lost = LogGap(event.log, event.first, event.count, GapKind.INEXACT, _MISSING)
            return Chunk(event.first, event.t_us, (_MISSING,), event.count, lost)
        if isinstance(event, LogGap):
            return Chunk(event.at, event.t_us, (event.text,), event.span, event)
        return None
