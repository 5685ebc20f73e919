"""The keeper: loads seen whole are kept, told at the next start, and used for the estimate."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console.engines.eta import Earlier
from console.model.clock import ManualClock
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.model.text import Clean
from console.session.keeper import Keeper
from console.store.history import loads_path, read_loads
from console.stream.loads import earlier_loads
from console.stream.server_events import LoadAdvanced, LoadEnded
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.timeline import Timeline

NAME = Clean("base")
FLEET = Fleet(
    "f",
    (Host("gpu8"),),
    (Slot("slot", "gpu8"),),
    (Server("base", "slot", Arm.BASELINE, "http://127.0.0.1:8000"),),
)


class Night:
    """One session with a keeper in it."""

    def __init__(self, path: Path, scale: float = 1.0) -> None:
        self.clock = ManualClock()
        self.timeline = Timeline(self.clock)
        self.keeper = Keeper(path, FLEET, self.timeline.emit, self.clock, Masks(), scale)
        self.timeline.open(self.keeper.known())
        self.timeline.subscribe(self.keeper.take)

    async def load(self, *phases: tuple[str, float], ready: bool = True) -> None:
        took_us = round(sum(seconds for _, seconds in phases) * 1e6)
        for phase, seconds in phases:
            self.timeline.emit(LoadAdvanced(NAME, Clean(phase)))
            self.clock.advance(seconds)
        self.timeline.emit(LoadEnded(NAME, ready, took_us))
        await asyncio.sleep(0)

    @property
    def earlier(self) -> tuple[Earlier, ...]:
        server = self.timeline.state.servers.get("base")
        return earlier_loads(server.history) if server else ()


WARM = (("arguments", 1.0), ("weights", 20.0), ("graphs", 5.0))
COLD = (("arguments", 1.0), ("weights", 61.0), ("graphs", 5.0))


async def test_a_load_is_kept_and_known_at_once_and_at_the_next_start() -> None:
    first = Night(loads_path())
    await first.load(*WARM)
    assert first.earlier == (Earlier("warm history", WARM),)
    await first.load(*COLD)
    assert first.earlier[0] == Earlier("cold history", COLD)
    second = Night(loads_path())
    assert second.earlier == (Earlier("cold history", COLD), Earlier("warm history", WARM))


async def test_phases_are_kept_in_the_server_s_own_seconds() -> None:
    night = Night(loads_path(), scale=40.0)
    await night.load(("arguments", 0.1), ("weights", 0.5))
    (load,) = read_loads(loads_path()).loads
    assert [round(seconds, 6) for _, seconds in load.stages] == [4.0, 20.0]


async def test_what_failed_or_was_joined_midway_teaches_nothing() -> None:
    night = Night(loads_path())
    await night.load(*WARM, ready=False)
    await night.load(("graphs", 5.0))
    night.timeline.emit(LoadAdvanced(NAME, Clean("weights")))
    night.clock.advance(2.0)
    night.timeline.emit(LoadEnded(NAME, True, 60_000_000))
    await asyncio.sleep(0)
    assert read_loads(loads_path()).loads == ()


async def test_a_second_start_without_an_end_counts_by_itself() -> None:
    night = Night(loads_path())
    night.timeline.emit(LoadAdvanced(NAME, Clean("arguments")))
    night.timeline.emit(LoadAdvanced(NAME, Clean("weights")))
    night.clock.advance(300.0)
    await night.load(*WARM)
    (load,) = read_loads(loads_path()).loads
    assert load.stages == WARM


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    night = Night(tmp_path)
    await night.load(*WARM)
    notices = night.timeline.state.session.notices
    assert [n.text for n in notices] == [
        "earlier load times cannot be read: Is a directory",
        "load times cannot be kept: Is a directory",
    ]


async def test_entries_that_cannot_be_read_are_counted_aloud() -> None:
    loads_path().write_text("[[load]]\nhost = 3\n")
    known = list(Keeper(loads_path(), FLEET, print, ManualClock(), Masks()).known())
    assert [type(event) for event in known] == [Noticed]
    assert not any(isinstance(event, HistoryKnown) for event in known)
