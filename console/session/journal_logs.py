"""The log lines of a session file, found by (log, number) without reading the whole of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.session.journal import Journal, parse_table
from console.stream.logs import Chunk
from console.stream.server_events import LogAdvanced, LogGap

_HEAD = re.compile(rb'log = ("(?:[^"\\\n]|\\.)*")\nfirst = (\d{1,15})\ncount = (\d{1,9})\n')
_HEAD_BYTES = 4096
_MOST_MISSING = 100_000
_MISSING = clean("(line missing from the session file)", Masks())


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
        for kind in ("log", "gap"):
            for number in journal.index.of_kind(kind):
                self._add(number, gap=kind == "gap")
        for held in self._logs.values():
            order = sorted(range(len(held.first)), key=held.first.__getitem__)
            held.first = [held.first[place] for place in order]
            held.block = [held.block[place] for place in order]

    def _add(self, number: int, *, gap: bool) -> None:
        found = None if gap else _HEAD.search(self._journal.body(number, _HEAD_BYTES))
        if found is not None:
            log = str(parse_table(b"k = " + found[1])["k"])
            first, count = int(found[2]), int(found[3])
        else:
            event = self._journal.event(number)
            if isinstance(event, LogAdvanced):
                log, first, count = event.log, event.first, event.count
            elif isinstance(event, LogGap):
                log, first, count = event.log, event.at, event.span
            else:
                return
        held = self._logs.setdefault(log, _LogIndex())
        held.first.append(first)
        held.block.append(number)
        held.end = max(held.end, first + count)

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
            lines: Sequence[Clean] = event.lines[: event.count]
            if len(lines) < event.count:
                lines = (*lines, *[_MISSING] * min(event.count - len(lines), _MOST_MISSING))
            return Chunk(event.first, event.t_us, lines, event.count)
        if isinstance(event, LogGap):
            return Chunk(event.at, event.t_us, (event.text,), event.span, event)
        return None
