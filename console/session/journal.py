"""A session file opened for reading: its blocks, events, seek points and log lines.

Opens without reading bulk; treats the file as hostile; connects to nothing. What is damaged is
counted and said, everything else is read.
"""

from __future__ import annotations

import mmap
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import tomli

from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.session.blocks import SCHEMA_LINE, Buffer, Index, scan
from console.stream.codec import NotAnEvent, decode
from console.stream.events import KINDS, Event
from console.stream.fold import fold_all
from console.stream.logs import Chunk
from console.stream.server_events import LogAdvanced, LogGap
from console.stream.state import State

MOST_FILE = 4 * 1024**3
_BULK = re.compile(rb"\n(?:lines|facts) = \[\n")
_SCHEMA = re.compile(rb'schema = "session/(\d+)"\n\n?')
_LOG_HEAD = re.compile(rb'log = ("(?:[^"\\\n]|\\.)*")\nfirst = (\d{1,15})\ncount = (\d{1,9})\n')
_MASKS = Masks()


class NotASession(Exception):
    """A file that cannot be opened as a session; the text says why, for a person."""


@dataclass(slots=True)
class _LogIndex:
    """The blocks of one log: first number and block number, in file order."""

    first: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    end: int = 0


class Journal:
    """A session file.

    Raises:
        NotASession: the file cannot be read, is no session, or is of a newer major schema.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.data = _open(self.path)
        start = _start(self.path, self.data)
        self.index: Index = scan(self.data, start)
        if len(self.index) == 0:
            raise NotASession(f"{self.path}: no whole block of a session in it")
        self.seeks: list[int] = list(self.index.of_kind("seek"))
        self.unreadable: dict[int, str] = {}
        self._logs: dict[str, _LogIndex] = {}
        self._index_logs()

    @property
    def length_us(self) -> int:
        """The time of the last event."""
        return max(self.index.t_us[-1], 0)

    @property
    def closed(self) -> bool:
        """Whether the session was closed in order."""
        return self.index.kind_of(len(self.index) - 1) == "closed"

    def losses(self) -> list[str]:
        """What could not be read, in words; empty for a whole file."""
        said = []
        lost = sum(damage.length for damage in self.index.damage)
        if lost:
            where = self.index.damage[0].offset
            more = f" and {len(self.index.damage) - 1} more" if len(self.index.damage) > 1 else ""
            said.append(f"{lost:,} bytes are damaged or cut (at byte {where:,}{more})")
        if self.unreadable:
            said.append(f"{len(self.unreadable)} blocks are sound but hold no known event")
        return said

    def event(self, number: int, *, bulk: bool = False) -> Event | None:
        """The event of a block; None for a seek point or a block that holds no known event."""
        kind = self.index.kind_of(number)
        if kind == "seek":
            return None
        try:
            return decode(kind, _parse(self._head(number, bulk=bulk)))
        except NotAnEvent as error:
            self.unreadable[number] = str(error)
            return None

    def events(
        self, first: int = 0, end: int | None = None, *, bulk: bool = False
    ) -> Iterator[Event]:
        """The events of the blocks numbered from `first` up to before `end`."""
        for number in range(first, len(self.index) if end is None else end):
            event = self.event(number, bulk=bulk)
            if event is not None:
                yield event

    def state_before(self, number: int) -> State:
        """The State before block `number`: the nearest seek point, then what follows it."""
        place = bisect_right(self.seeks, number - 1)
        while place:
            place -= 1
            state = self._seek_state(self.seeks[place])
            if state is not None:
                return fold_all(state, self.events(self.seeks[place] + 1, number))
        return fold_all(State(), self.events(0, number))

    def block_after(self, t_us: int) -> int:
        """The number of the first block later than `t_us`."""
        return bisect_right(self.index.t_us, t_us)

    def _seek_state(self, number: int) -> State | None:
        try:
            texts = _parse(self._head(number, bulk=True)).get("facts")
            if not isinstance(texts, list):
                return None
            events = []
            for kind, tables in _parse("".join(map(str, texts)).encode()).items():
                for table in cast("list[dict[str, object]]", tables):
                    events.append(decode(kind, table))
        except (NotAnEvent, AttributeError, TypeError) as error:
            self.unreadable[number] = str(error)
            return None
        events.sort(key=lambda event: event.seq)
        marks = [event for event in events if event.seq == 0]
        return fold_all(State(), events[len(marks) :] + marks)

    def _head(self, number: int, *, bulk: bool) -> bytes:
        start, length = self.index.body[number], self.index.length[number]
        body = bytes(self.data[start : start + length])
        if bulk:
            return body
        cut = _BULK.search(body)
        return body[: cut.start() + 1] if cut else body

    def _index_logs(self) -> None:
        for kind in ("log", "gap"):
            for number in self.index.of_kind(kind):
                self._index_log(number, gap=kind == "gap")
        for held in self._logs.values():
            order = sorted(range(len(held.first)), key=lambda place: held.first[place])
            held.first = [held.first[place] for place in order]
            held.block = [held.block[place] for place in order]

    def _index_log(self, number: int, *, gap: bool) -> None:
        start = self.index.body[number]
        found = None if gap else _LOG_HEAD.search(self.data[start : start + 4096])
        if found is not None:
            log = str(_parse(b"k = " + found[1])["k"])
            first, count = int(found[2]), int(found[3])
        else:
            event = self.event(number)
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
        event = self.event(number, bulk=True)
        if isinstance(event, LogAdvanced):
            lines: Sequence[Clean] = event.lines[: event.count]
            if len(lines) < event.count:
                lines = (*lines, *[clean("(line missing)", _MASKS)] * (event.count - len(lines)))
            return Chunk(event.first, event.t_us, lines, event.count)
        if isinstance(event, LogGap):
            return Chunk(event.at, event.t_us, (event.text,), event.span, event)
        return None


def _parse(raw: bytes) -> dict[str, object]:
    try:
        return tomli.loads(raw.decode())
    except (UnicodeDecodeError, tomli.TOMLDecodeError, RecursionError) as error:
        raise NotAnEvent(f"not TOML: {error}") from error


def _open(path: str) -> Buffer:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            if size == 0:
                raise NotASession(f"{path}: empty")
            if size > MOST_FILE:
                raise NotASession(f"{path}: {size:,} bytes: larger than any session")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except IsADirectoryError as error:
        raise NotASession(f"{path}: a folder; the path of a session file was expected") from error
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise NotASession(f"{path}: {text.lower()}") from error


def _start(path: str, data: Buffer) -> int:
    """The offset after the first line; checks the schema where that line is whole."""
    found = _SCHEMA.match(data)
    if found is not None:
        if int(found[1]) > 1:
            raise NotASession(
                f"{path}: session/{int(found[1])} is newer than session/1, which this console reads"
            )
        return found.end()
    if b"\n[[" not in data[: 1024 * 1024] and data[:2] != b"[[":
        expected = SCHEMA_LINE.decode().strip()
        raise NotASession(f"{path}: not a session file (it begins otherwise than {expected})")
    return 0


assert "seek" not in KINDS
