"""The log lines of a session file, found by (log, number) without reading the whole of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import gt

from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import clean
from console.session.journal import MOST_NAMES, Journal, parse_table
from console.stream.codec import NotAnEvent
from console.stream.fact import GapKind
from console.stream.logs import Chunk
from console.stream.server_events import LogAdvanced, LogGap

_HEAD = re.compile(
    rb"seq = \d{1,18}\nt_us = \d{1,18}\n"
    rb'log = ("[^"\\\n]{0,500}")\nfirst = (\d{1,15})\ncount = (\d{1,9})\n'
)
"""A name without escapes, as nearly every one is; the others are read the long way."""

_MISSING = clean("(lines missing from the session file)", Masks())


@dataclass(slots=True)
class _LogIndex:
    """The blocks of one log: first number and block number, by number."""

    first: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    end: int = 0


class JournalLogs:
    """The Logs port over a journal. Blocks are gone through when lines are first asked for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._logs: dict[str, _LogIndex] = {}
        self._names: dict[bytes, str | None] = {}
        self._seen = 0

    def _held(self, log: LogId) -> _LogIndex | None:
        """Where a log's blocks are, with those that the journal has read since."""
        if self._seen < len(self._journal.index):
            self._read_on()
        return self._logs.get(log)

    def _read_on(self) -> None:
        index = self._journal.index
        first, self._seen = self._seen, len(index)
        codes = {index.kinds.index(kind): kind for kind in ("log", "gap") if kind in index.kinds}
        kinds, bodies, lengths, parts = index.kind, index.body, index.length, index.part
        part, data, match = -1, self._journal.data(0), _HEAD.match
        for number in range(first, self._seen):
            kind = codes.get(kinds[number])
            if kind is None:
                continue
            if parts[number] != part:
                part, data = parts[number], self._journal.data(number)
            start = bodies[number]
            found = match(data, start, start + lengths[number])
            if found is not None and kind == "log":
                quoted, at, count = found.groups()
                self._add(number, self._name(quoted), int(at), int(count))
                continue
            event = self._journal.event(number)
            if isinstance(event, LogAdvanced):
                self._add(number, event.log, event.first, event.count)
            elif isinstance(event, LogGap):
                self._add(number, event.log, event.at, event.span)
        for held in self._logs.values():
            if any(map(gt, held.first, islice(held.first, 1, None))):
                order = sorted(range(len(held.first)), key=held.first.__getitem__)
                held.first = [held.first[place] for place in order]
                held.block = [held.block[place] for place in order]

    def _name(self, quoted: bytes) -> str | None:
        """The log's name as it stands in a block; None for what is no TOML text."""
        if quoted not in self._names:
            if len(self._names) >= MOST_NAMES:
                return None
            try:
                self._names[quoted] = str(parse_table(b"k = " + quoted)["k"])
            except NotAnEvent:
                self._names[quoted] = None
        return self._names[quoted]

    def _add(self, number: int, log: str | None, first: int, count: int) -> None:
        """Note where a block's lines are."""
        if log is None or (log not in self._logs and len(self._logs) >= MOST_NAMES):
            return
        held = self._logs.setdefault(log, _LogIndex())
        held.first.append(first)
        held.block.append(number)
        held.end = max(held.end, first + count)

    def reach(self, log: LogId) -> tuple[int, int]:
        """The numbers recorded of a log."""
        held = self._held(log)
        return (held.first[0], held.end) if held else (0, 0)

    def chunks(self, log: LogId, first: int, end: int) -> Iterator[Chunk]:
        """The chunks that overlap the numbers, oldest first."""
        held = self._held(log)
        if held is None:
            return
        start = max(0, bisect_right(held.first, first) - 1)
        for place in range(start, bisect_left(held.first, end)):
            chunk = self._chunk(held.block[place])
            if chunk is not None and chunk.end > first:
                yield chunk

    def chunks_back(self, log: LogId, end: int) -> Iterator[Chunk]:
        """The chunks that begin before `end`, newest first."""
        held = self._held(log)
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
