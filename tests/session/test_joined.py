"""Lines that come one by one within a second are one block, and nothing of them is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console.model.clock import ManualClock, Pace
from console.model.fleet import LogId
from console.session.changed import JOINED_WITHIN_US, MOST_JOINED
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.session.recorder import Recorder
from console.stream.server_events import HealthSeen, LogAdvanced
from console.stream.timeline import Timeline
from tests.session.writing import c

WIDTH = 10
LOG = LogId(c("kimi-base"))


class Writing:
    """A recorder on a clock moved by hand."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock()
        self.timeline = Timeline(self.clock)
        self.recorder = Recorder(path, self.timeline.emit)
        self.timeline.subscribe(self.recorder.take)

    def lines(self, first: int, count: int = 1, log: str = LOG, file: int = 7) -> None:
        """The next lines come in, a fifth of a second after what came before."""
        self.clock.advance(0.2)
        texts = tuple(c(f"line {number}") for number in range(first, first + count))
        byte = (first * WIDTH, (first + count) * WIDTH)
        self.timeline.emit(LogAdvanced(c(log), first, count, (1, file), byte, texts))


@pytest.fixture
def writing(tmp_path: Path) -> Writing:
    return Writing(tmp_path / "s.toml")


def blocks(path: Path) -> list[LogAdvanced]:
    events = Journal(path).events(bulk=True)
    return [event for event in events if isinstance(event, LogAdvanced)]


def test_single_lines_of_a_second_are_one_block(writing: Writing) -> None:
    for number in range(12):
        writing.lines(number)
    writing.recorder.close()
    found = blocks(writing.recorder.path)
    assert [(event.first, event.count, event.joined) for event in found] == [
        (0, 5, 4),
        (5, 5, 4),
        (10, 2, 1),
    ]
    assert [event.seq for event in found] == [5, 10, 12]
    assert [event.t_us for event in found] == [1_000_000, 2_000_000, 2_400_000]
    assert [event.byte for event in found] == [(0, 50), (50, 100), (100, 120)]
    assert [line for event in found for line in event.lines] == [f"line {n}" for n in range(12)]
    logs = JournalLogs(Journal(writing.recorder.path))
    assert logs.reach(LOG) == (0, 12)


def test_what_does_not_adjoin_stays_apart(writing: Writing) -> None:
    writing.lines(0)
    writing.lines(1, log="other")
    writing.lines(1, file=8)
    writing.lines(2, file=8)
    writing.lines(4, file=8)
    writing.timeline.emit(HealthSeen(c(LOG), c("/health"), 1000, 200))
    writing.lines(5, file=8)
    writing.lines(6, count=MOST_JOINED)
    writing.recorder.close()
    found = [(event.log, event.first, event.count) for event in blocks(writing.recorder.path)]
    assert found == [
        ("kimi-base", 0, 1),
        ("other", 1, 1),
        ("kimi-base", 1, 2),
        ("kimi-base", 4, 1),
        ("kimi-base", 5, 1),
        ("kimi-base", 6, MOST_JOINED),
    ]


def test_a_line_waits_for_others_no_longer_than_a_second(writing: Writing) -> None:
    writing.lines(0)
    writing.recorder.flush(writing.clock.now_us())
    held = writing.recorder.size
    writing.lines(1)
    writing.recorder.flush(writing.clock.now_us())
    assert writing.recorder.size == held
    writing.clock.advance(JOINED_WITHIN_US / 1e6)
    writing.recorder.flush(writing.clock.now_us())
    assert [(event.first, event.count) for event in blocks(writing.recorder.path)] == [(0, 2)]


async def test_a_recording_that_ends_writes_the_line_that_waits(writing: Writing) -> None:
    running = asyncio.create_task(writing.recorder.run(writing.clock, Pace()))
    await asyncio.sleep(0)
    writing.lines(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [event.lines for event in blocks(writing.recorder.path)] == [("line 0",)]
