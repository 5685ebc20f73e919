"""A session file opened for reading: its blocks, events and seek points.

Opens without reading bulk; treats the file as hostile; connects to nothing. What is damaged is
counted and said, everything else is read. A file that is still written can be read on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import tomli

from console.session.blocks import MOST_BODY, Buffer, Index
from console.session.files import Files, NotASession
from console.stream.codec import NotAnEvent, decode
from console.stream.events import KINDS, Event
from console.stream.fold import fold_all
from console.stream.state import State

MOST_NAMES = 1000
"""Servers, hosts and logs a session may name; State holds a cell for each."""
MOST_INT = 2**63 - 1
_MOST_SAID = 200
_BULK = re.compile(rb"\n(?:lines|facts) = \[\n")


class Journal:
    """A session file.

    Raises:
        NotASession: the file cannot be read, is no session, or is of a newer major schema.
    """

    def __init__(self, path: str | Path) -> None:
        self.files = Files(Path(path))
        self.path = self.files.path
        self.index: Index = self.files.index
        if len(self.index) == 0:
            raise NotASession(f"{self.path}: no whole block of a session in it")
        self.seeks: list[int] = list(self.index.of_kind("seek"))
        self.unreadable: dict[int, str] = {}
        self._names: set[str] = set()

    def read_on(self) -> int:
        """Take in what was appended since; how many blocks that were.

        A file that shrank, or cannot be looked at any more, gives nothing new.
        """
        before = len(self.index)
        self.files.read_on()
        new = range(before, len(self.index))
        self.seeks.extend(number for number in new if self.index.kind_of(number) == "seek")
        return len(new)

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
            event = decode(kind, parse_table(self._head(number, bulk=bulk)))
            self._name(event)
        except NotAnEvent as error:
            self._note(number, error)
            return None
        return event

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
            texts = parse_table(self._head(number, bulk=True)).get("facts")
            if not isinstance(texts, list):
                return None
            events = []
            for kind, tables in parse_table("".join(map(str, texts)).encode(*_UTF8)).items():
                for table in tables if isinstance(tables, list) else [tables]:
                    events.append(decode(kind, _bounded(table)))
                    self._name(events[-1])
        except NotAnEvent as error:
            self._note(number, error)
            return None
        events.sort(key=lambda event: event.seq)
        marks = [event for event in events if event.seq == 0]
        return fold_all(State(), events[len(marks) :] + marks)

    def _name(self, event: Event) -> None:
        """Refuse an event about one name more than a session may hold."""
        for attribute in ("server", "host", "log"):
            name = getattr(event, attribute, None)
            if name is not None and name not in self._names:
                if len(self._names) >= MOST_NAMES:
                    raise NotAnEvent(f"more than {MOST_NAMES:,} names of servers, hosts and logs")
                self._names.add(name)

    def _note(self, number: int, error: NotAnEvent) -> None:
        self.unreadable[number] = str(error)[:_MOST_SAID]

    def body(self, number: int, most: int = MOST_BODY) -> bytes:
        """The first bytes of a block's body."""
        start, length = self.index.body[number], self.index.length[number]
        return bytes(self.data(number)[start : start + min(length, most)])

    def data(self, number: int) -> Buffer:
        """The bytes of the file that a block lies in."""
        return self.files.data(self.index.part[number])

    def _head(self, number: int, *, bulk: bool) -> bytes:
        body = self.body(number)
        if bulk:
            return body
        cut = _BULK.search(body)
        return body[: cut.start() + 1] if cut else body


_UTF8 = ("utf-8", "replace")


def parse_table(raw: bytes) -> dict[str, object]:
    """A block's body as a flat table.

    Raises:
        NotAnEvent: it is no TOML, nested too deeply, or holds a number of more than 64 bits.
    """
    try:
        return _bounded(tomli.loads(raw.decode()))
    except (ValueError, RecursionError) as error:
        raise NotAnEvent(f"not TOML: {str(error)[:_MOST_SAID]}") from error


def _bounded(table: object) -> dict[str, object]:
    """The table, if it is one and its whole numbers have at most 64 bits."""
    if not isinstance(table, dict):
        raise NotAnEvent("a table was expected")
    for value in table.values():
        numbers = value if isinstance(value, list) else (value,)
        if any(type(number) is int and abs(number) > MOST_INT for number in numbers):
            raise NotAnEvent("a number of more than 64 bits")
    return cast("dict[str, object]", table)


assert "seek" not in KINDS
