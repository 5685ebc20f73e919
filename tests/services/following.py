"""A tail under test: collects its events and proves that what is held is the file's bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from pathlib import Path

from console.model.clock import Pace, SystemClock
from console.model.fleet import LogId, LogSource
from console.model.mask import Masks
from console.model.text import clean_lines
from console.services.tail import LogSeen, tail
from console.stream.fact import FeedState, GapKind
from console.stream.server_events import LogAdvanced, LogFeedChanged, LogGap
from console.transport.wire import Wire
from tests.rig.waiting import auntil

PACE = Pace().scaled(20)


class Followed:
    """What a tail has said so far."""

    def __init__(self) -> None:
        self.events: list[LogSeen] = []

    @property
    def advances(self) -> list[LogAdvanced]:
        return [event for event in self.events if isinstance(event, LogAdvanced)]

    @property
    def lines(self) -> list[str]:
        return [line for event in self.advances for line in event.lines]

    @property
    def gaps(self) -> list[LogGap]:
        return [event for event in self.events if isinstance(event, LogGap)]

    @property
    def gap_kinds(self) -> list[GapKind]:
        return [gap.gap for gap in self.gaps]

    @property
    def feeds(self) -> list[LogFeedChanged]:
        return [event for event in self.events if isinstance(event, LogFeedChanged)]

    @property
    def states(self) -> list[FeedState]:
        return [feed.feed for feed in self.feeds]

    async def until_line(self, text: str, deadline_s: float = 8.0) -> None:
        """Return once a line with this text is held."""
        await auntil(lambda: text in self.lines, deadline_s, f"line {text!r} in {self.events[-8:]}")

    async def until_state(self, *states: FeedState, count: int = 1) -> None:
        """Return once the feed was in one of these states that often."""
        await auntil(lambda: sum(s in states for s in self.states) >= count, 8, f"{states}")

    def range_of(self, path: Path) -> tuple[int, int]:
        """First and last offset held of a file; fails where they do not follow each other."""
        stat = path.stat()
        file = (stat.st_dev, stat.st_ino)
        spans = [event.byte for event in self.advances if event.file == file]
        assert all(one[1] == two[0] for one, two in pairwise(spans)), spans
        return spans[0][0], spans[-1][1]

    def check_numbers(self) -> None:
        """Every number is used once, in order, gaps included."""
        expected = 0
        for event in self.events:
            if isinstance(event, LogAdvanced):
                assert (event.first, event.count) == (expected, len(event.lines))
                expected += event.count
            elif isinstance(event, LogGap):
                assert event.at == expected
                expected += event.span

    def check_exact(self, *files: bytes) -> None:
        """Byte for byte: `files` are all that was written, in the order it had the path.

        What is held of each goes on without a gap from its start, each text is the cleaned and
        masked range it names, and every end before a file's last byte is said to be one.
        """
        place, at = 0, 0
        for event in self.events:
            match event:
                case LogAdvanced():
                    begin, end = event.byte
                    assert begin == at, (place, at, event.byte)
                    raw = files[place][begin:end]
                    assert len(raw) == end - begin, (place, len(files[place]), event.byte)
                    parts = raw.removesuffix(b"\n").split(b"\n")
                    assert list(event.lines) == clean_lines(parts, Masks())
                    at = end
                case LogGap(gap=GapKind.LINK, lost_bytes=0):
                    pass
                case LogGap():
                    left = len(files[place]) - at
                    assert event.lost_bytes in (left, None), (place, left, event)
                    assert left == 0 or event.lost_bytes == left or "lost" in event.text, event
                    place, at = place + 1, 0
                case _:
                    pass
        assert (place, at) == (len(files) - 1, len(files[-1]))
        self.check_numbers()

    def check_whole(self, *paths: Path) -> None:
        """The files, each from its start to its end, are what is held, line for line."""
        for path in paths:
            assert self.range_of(path) == (0, path.stat().st_size)
        text = b"".join(path.read_bytes() for path in paths)
        assert self.lines == text.decode().splitlines()
        self.check_numbers()


@asynccontextmanager
async def following(
    wire: Wire,
    source: str | Path | tuple[str, ...] | LogSource,
    *,
    last_lines: int | None = None,
    pace: Pace = PACE,
    first: int = 0,
) -> AsyncIterator[Followed]:
    """Follow a log while the body runs."""
    said = Followed()
    match source:
        case LogSource():
            log = source
        case tuple():
            log = LogSource(argv=source)
        case _:
            log = LogSource(path=str(source))

    async def collect() -> None:
        events = tail(
            *(LogId("base"), "base", log, wire, SystemClock(), pace, Masks()),
            last_lines=last_lines,
            first=first,
        )
        async with aclosing(events):
            async for event in events:
                said.events.append(event)

    task = asyncio.create_task(collect())
    try:
        yield said
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() and task.exception() is not None:
            raise task.exception() or AssertionError
