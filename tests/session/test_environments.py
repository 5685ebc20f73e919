"""The environment that is kept: the last good one, over sessions, until another is as good."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from console.model.clock import ManualClock, utc_text
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.model.text import Clean
from console.session.environments import EnvironmentKeeper
from console.store.environments import FILE, read_environments
from console.stream.drifting import drift_rule
from console.stream.fact import Completeness
from console.stream.run_events import BenchFinished, BenchStarted
from console.stream.server_events import EnvRead, ProcessSeen, ServerListed
from console.stream.session_events import Noticed, SessionOpened
from console.stream.timeline import Timeline

FLEET = Fleet(
    "f",
    (Host("h"),),
    (Slot("slot", "h"),),
    (Server("s", "slot", Arm.BASELINE, "http://127.0.0.1:1"),),
)
NAME = Clean("s")
GOOD, BAD = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, {"NCCL_CUMEM_ENABLE": "0"}
BEGAN = datetime(2026, 2, 24, 17, tzinfo=UTC)


class Session:
    """One live session with keeper and rule, the servers' readings given by the test."""

    def __init__(self, path: Path) -> None:
        self.timeline = Timeline(ManualClock(), (drift_rule(),))
        opened = SessionOpened(Clean("t"), Clean("f"), Clean("live"), Clean(utc_text(BEGAN)))
        slot, url = Clean("slot"), Clean("http://x")
        engine = FLEET.server("s").engine
        listed = ServerListed(NAME, Clean("h"), slot, 1, Arm.BASELINE, engine, url)
        self.timeline.open([opened, listed])
        self.keeper = EnvironmentKeeper(path, FLEET, self.timeline.emit, Masks())
        for event in self.keeper.known():
            self.timeline.emit(event)
        self.timeline.subscribe(self.keeper.take)

    async def reads(self, values: dict[str, str]) -> None:
        pairs = tuple((Clean(name), Clean(value)) for name, value in values.items())
        self.timeline.emit(EnvRead(NAME, Clean("launcher"), Completeness.WHOLE, pairs, 1))
        self.timeline.emit(ProcessSeen(NAME, 1, Clean(utc_text(BEGAN))))
        await asyncio.sleep(0)

    def wants(self, values: dict[str, str]) -> None:
        pairs = tuple((Clean(name), Clean(value)) for name, value in values.items())
        self.timeline.emit(EnvRead(NAME, Clean("wanted"), Completeness.WHOLE, pairs))

    async def measures(self, rate: float, valid: bool = True) -> None:
        bench = Clean("b")
        started = BenchStarted(bench, NAME, Arm.BASELINE, 1, Clean("quick"), (), Clean("w"))
        self.timeline.emit(started)
        figures = ((Clean("decode_tok_s"), rate),)
        self.timeline.emit(BenchFinished(bench, valid, Clean(""), figures))
        await asyncio.sleep(0)

    @property
    def drift(self) -> str | None:
        found = self.timeline.state.servers["s"].drift
        return str(found.why) if found is not None else None


async def test_the_next_session_says_what_was_lost_until_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / FILE
    first = Session(path)
    await first.reads(GOOD)
    await first.measures(90.1)
    assert first.drift is None
    second = Session(path)
    await second.reads(BAD)
    assert second.drift is not None
    assert "NCCL_PROTO and NCCL_ALGO lost since the run of 90.1 tok/s" in second.drift
    await second.measures(62.9)
    third = Session(path)
    await third.reads(BAD)
    assert third.drift is not None
    assert "lost since the run of 90.1 tok/s" in third.drift
    await third.reads(GOOD)
    assert third.drift == "as in the last good run"


async def test_an_invalid_run_changes_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path / FILE)
    await session.reads(GOOD)
    await session.measures(90.1, valid=False)
    (kept,) = read_environments(tmp_path / FILE).by_server.values()
    assert (kept.env, kept.run_tok_s) == (GOOD, None)


async def test_accepting_takes_what_is_now(tmp_path: Path) -> None:
    session = Session(tmp_path / FILE)
    assert not session.keeper.accept("s", session.timeline.state)
    await session.reads(GOOD)
    await session.reads(BAD)
    assert session.keeper.accept("s", session.timeline.state)
    await session.reads(BAD)
    assert session.drift == "as in the last good run"


async def test_what_has_come_to_be_as_the_profile_wants_is_no_drift(tmp_path: Path) -> None:
    session = Session(tmp_path / FILE)
    await session.reads(BAD)
    session.wants(GOOD)
    await session.reads({**BAD, **GOOD})
    assert (session.drift or "") == ""
    await session.reads({**BAD, **GOOD, "NCCL_NTHREADS": "512"})
    assert "NCCL_NTHREADS new" in (session.drift or "")
    await session.reads({**GOOD, "NCCL_PROTO": "Simple"})
    assert "NCCL_CUMEM_ENABLE lost" in (session.drift or "")


async def test_what_cannot_be_written_is_noticed(tmp_path: Path) -> None:
    session = Session(tmp_path / "no-such-folder" / FILE)
    await session.reads(GOOD)
    (notice,) = session.timeline.state.session.notices
    assert isinstance(notice, Noticed)
    assert notice.text == "environments cannot be kept: No such file or directory"
