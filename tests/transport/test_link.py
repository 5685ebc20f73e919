"""Dead links: what is noticed when, and how soon it is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from console.model.ask import Nobody
from console.model.clock import US_PER_S, ManualClock, Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.link import Link
from console.transport.wire import LinkSeen, LinkState, Wire
from console.transport.wires import wire_to
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil

PACE = Pace()


class Connection:
    """A connection that ends and answers when told."""

    rtt_us = 1

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.alive = True
        self.probes = 0
        self.closed = False

    async def lost(self) -> str:
        await self.ended.wait()
        return "reset"

    async def answers(self) -> None:
        self.probes += 1
        if not self.alive:
            await asyncio.Event().wait()

    async def close(self) -> None:
        self.closed = True


class Dialler:
    """Gives one connection after the other, or the error that is set."""

    asked = False

    def __init__(self, error: WireError | None = None) -> None:
        self.error = error
        self.made: list[Connection] = []
        self.attempts = 0

    async def dial(self) -> Connection:
        self.attempts += 1
        if self.error is not None:
            raise self.error
        self.made.append(Connection())
        return self.made[-1]

    def unused(self) -> tuple[str, ...]:
        return ()


class Laptop(ManualClock):
    """A clock whose machine can be suspended: the wall clock goes on alone."""

    def __init__(self) -> None:
        super().__init__()
        self._asleep = timedelta()

    def utc(self) -> datetime:
        return super().utc() + self._asleep

    def suspend(self, seconds: float) -> None:
        self._asleep += timedelta(seconds=seconds)


@asynccontextmanager
async def linked(
    dialler: Dialler, clock: ManualClock, pace: Pace = PACE
) -> AsyncIterator[tuple[Link[Connection], list[LinkSeen]]]:
    link = Link("ssh gpu", dialler, clock, pace)
    seen: list[LinkSeen] = []

    async def follow() -> None:
        async for state in link.states():
            seen.append(state)

    following = asyncio.create_task(follow())
    try:
        yield link, seen
    finally:
        await link.close()
        await following


async def pauses(dialler: Dialler, count: int) -> list[float]:
    """How long, on its own clock, the link waits before each further attempt."""
    clock = ManualClock()
    found = []
    async with linked(dialler, clock, replace(PACE, keepalive_s=1e6)) as (_, seen):
        for turn in range(count):
            await auntil(lambda turn=turn: dialler.attempts == turn + 1)  # type: ignore[misc]
            await auntil(lambda: seen and seen[-1].state is LinkState.REFUSED)
            await auntil(lambda: clock.next_due_us() is not None)
            due_us = clock.next_due_us()
            assert due_us is not None
            found.append((due_us - clock.now_us()) / US_PER_S)
            clock.advance(found[-1])
    return found


async def test_attempts_come_slower_and_slower_but_within_half_a_minute() -> None:
    found = await pauses(Dialler(WireError(Failure.REFUSED, "no")), 12)
    for attempt, pause_s in enumerate(found):
        most_s = min(0.5 * 2**attempt, 30)
        assert most_s / 2 <= pause_s <= most_s
    assert len(set(found)) > 6  # spread, or a fleet would knock all at once


@pytest.mark.parametrize("kind", list(Failure))
async def test_a_host_that_is_not_reached_is_never_taken_for_a_server_that_refuses(
    kind: Failure,
) -> None:
    async with linked(Dialler(WireError(kind, "no")), ManualClock()) as (link, seen):
        with pytest.raises(WireError) as caught:
            await link.ready()
        assert caught.value.kind not in (Failure.REFUSED, Failure.TIMEOUT, Failure.CLOSED)
        await auntil(lambda: seen and seen[-1].state is LinkState.REFUSED)
        assert (seen[-1].failure, seen[-1].detail) == (kind, caught.value.detail)


async def test_a_host_that_was_reached_and_is_not_any_more_has_lost_its_link() -> None:
    dialler = Dialler()
    async with linked(dialler, ManualClock()) as (link, seen):
        await auntil(lambda: seen and seen[-1].state is LinkState.UP)
        dialler.error = WireError(Failure.REFUSED, "connection refused")
        dialler.made[0].ended.set()
        link.retry()
        await auntil(lambda: seen[-1].state is LinkState.REFUSED)
        with pytest.raises(WireError) as caught:
            await link.ready()
        told = (caught.value.kind, caught.value.why)
        assert told == (Failure.LINK_LOST, "ssh gpu: connection refused")


@pytest.mark.parametrize("kind", [Failure.KEY_CHANGED, Failure.AUTH, Failure.CONFIG])
async def test_what_a_person_must_mend_is_tried_rarely_at_once(kind: Failure) -> None:
    (first,) = await pauses(Dialler(WireError(kind, "no")), 1)
    assert 15 <= first <= 30


async def test_a_suspended_laptop_ends_a_pause_at_once() -> None:
    clock, dialler = Laptop(), Dialler(WireError(Failure.AUTH, "no"))
    async with linked(dialler, clock) as (_, seen):
        await auntil(lambda: seen and seen[-1].state is LinkState.REFUSED)
        dialler.error = None
        clock.suspend(3600)
        clock.advance(PACE.keepalive_s / 2)
        await auntil(lambda: seen[-1].state is LinkState.UP)
    assert dialler.attempts == 2


async def test_a_link_that_died_while_the_laptop_slept_is_made_again_at_once() -> None:
    clock, dialler = Laptop(), Dialler()
    async with linked(dialler, clock, replace(PACE, keepalive_s=0.2)) as (_, seen):
        await auntil(lambda: seen and seen[-1].state is LinkState.UP)
        dialler.made[0].alive = False
        clock.suspend(3600)
        clock.advance(0.1)
        await auntil(lambda: len(dialler.made) == 2)
        await auntil(lambda: seen[-1].state is LinkState.UP)
        lost = next(one for one in seen if one.state is LinkState.LOST)
        assert lost.why == "no answer after this machine slept for 3600 s"
        assert (lost.failure, dialler.made[0].closed) == (Failure.LINK_LOST, True)


async def test_a_link_that_outlived_the_sleep_is_kept() -> None:
    clock, dialler = Laptop(), Dialler()
    async with linked(dialler, clock) as (_, seen):
        await auntil(lambda: seen and seen[-1].state is LinkState.UP)
        clock.suspend(3600)
        clock.advance(PACE.keepalive_s / 2)
        await auntil(lambda: dialler.made[0].probes == 1)
        clock.advance(PACE.keepalive_s / 2)
        await auntil(lambda: (clock.next_due_us() or 0) > clock.now_us())
        assert [one.state for one in seen][-1] is LinkState.UP
    assert (len(dialler.made), dialler.made[0].probes) == (1, 1)


@asynccontextmanager
async def proxied(
    sshd: Sshd, way: Way, proxy: TcpProxy, pace: Pace, clock: SystemClock | None = None
) -> AsyncIterator[tuple[Wire, list[LinkSeen]]]:
    """A wire through the proxy, and each state of its link."""
    config = sshd.folder / "proxied"
    text = sshd.ssh_config.read_text().replace(f"Port {sshd.port}", f"Port {proxy.port}")
    config.write_text(text)
    kind, blob = sshd.known_hosts.read_text().split()[1:3]
    sshd.known_hosts.write_text(f"[127.0.0.1]:{proxy.port} {kind} {blob}\n")
    wire = wire_to(Host("box", way, "rig", str(config)), clock or SystemClock(), pace, Nobody())
    seen: list[LinkSeen] = []

    async def follow() -> None:
        async for state in wire.links():
            seen.append(state)

    following = asyncio.create_task(follow())
    try:
        await wire.up()
        yield wire, seen
    finally:
        await wire.close()
        await following


class Metronome:
    """Counts intervals on the loop that the link's own timers run on: late as they are late."""

    def __init__(self, every_s: float) -> None:
        self.ticks = 0
        self._task = asyncio.create_task(self._tick(every_s))

    async def _tick(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            self.ticks += 1

    async def until_lost(self, seen: list[LinkSeen]) -> LinkSeen:
        """The link's end."""
        await auntil(lambda: any(one.state is LinkState.LOST for one in seen), 60, "lost")
        self._task.cancel()
        return next(one for one in seen if one.state is LinkState.LOST)


class Paced(SystemClock):
    """Real time that remembers what was slept for."""

    def __init__(self) -> None:
        super().__init__()
        self.slept_s: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        await super().sleep(seconds)


# A second stands for ten: lost after 3 x 0.5 s, tried again after 0.05 s up to 3 s.
SHORT = replace(Pace().scaled(10), connect_deadline_s=30.0)


@pytest.mark.rig
async def test_fifty_milliseconds_away_everything_works_and_is_slower(
    sshd: Sshd, way: Way, tcp_proxy: Callable[[int], TcpProxy]
) -> None:
    proxy = tcp_proxy(sshd.port)
    proxy.delay_ms = 50
    async with proxied(sshd, way, proxy, SHORT) as (wire, seen):
        start_s = asyncio.get_running_loop().time()
        assert (await wire.run(["echo", "far"], deadline_s=20)).out == b"far\n"
        took_s = asyncio.get_running_loop().time() - start_s
        assert took_s >= 0.1  # there and back
        assert [one.state for one in seen] == [LinkState.CONNECTING, LinkState.UP]


@pytest.mark.rig
async def test_cut_in_the_middle_it_is_lost_at_once_and_soon_back(
    sshd: Sshd, way: Way, tcp_proxy: Callable[[int], TcpProxy]
) -> None:
    proxy, clock = tcp_proxy(sshd.port), Paced()
    # Its keepalives are so far off that none of them can be what tells.
    pace = replace(SHORT, keepalive_s=100.0)
    async with proxied(sshd, way, proxy, pace, clock) as (wire, seen):
        running = asyncio.create_task(wire.run(["sleep", "300"], deadline_s=60))
        stream = await wire.open(["sh", "-c", "echo begun; exec cat"])
        assert await stream.read() == b"begun\n"
        await asyncio.to_thread(proxy.cut)
        with pytest.raises(WireError) as caught:
            await running
        assert caught.value.kind is Failure.LINK_LOST
        with pytest.raises(WireError) as caught:
            await stream.read()
        assert caught.value.kind is Failure.LINK_LOST
        await stream.close()
        await auntil(lambda: seen[-1].state is LinkState.UP and len(seen) > 2, 30)
        states = [one.state for one in seen[2:5]]
        assert states == [LinkState.LOST, LinkState.CONNECTING, LinkState.UP]
        (pause_s,) = [one for one in clock.slept_s if one < 10]
        assert 0.025 <= pause_s <= 0.05  # the first pause, spread by a half


@pytest.mark.rig
async def test_silence_is_a_lost_link_after_its_keepalives(
    sshd: Sshd, way: Way, tcp_proxy: Callable[[int], TcpProxy]
) -> None:
    proxy = tcp_proxy(sshd.port)
    async with proxied(sshd, way, proxy, SHORT) as (wire, seen):
        await asyncio.to_thread(proxy.silence)
        metronome = Metronome(SHORT.keepalive_s)
        lost = await metronome.until_lost(seen)
        assert (lost.failure, "keepalive" in lost.why) == (Failure.LINK_LOST, True)
        # Three, begun anywhere within one.
        assert 2 <= metronome.ticks <= 4
        await asyncio.to_thread(proxy.resume)
        await asyncio.wait_for(wire.up(), 30)


@pytest.mark.rig
async def test_a_laptop_that_slept_through_the_death_of_its_link_is_back_at_once(
    sshd: Sshd, way: Way, tcp_proxy: Callable[[int], TcpProxy]
) -> None:
    """The link is silent and its keepalives far off: only the jump of the wall clock tells."""

    class Slept(SystemClock):
        asleep = timedelta()

        def utc(self) -> datetime:
            return super().utc() + self.asleep

    clock, proxy = Slept(), tcp_proxy(sshd.port)
    pace = replace(SHORT, keepalive_s=1.5)
    async with proxied(sshd, way, proxy, pace, clock) as (wire, seen):
        await asyncio.to_thread(proxy.silence)
        metronome = Metronome(pace.keepalive_s)
        clock.asleep = timedelta(hours=8)
        lost = await metronome.until_lost(seen)
        assert "slept" in lost.why
        assert metronome.ticks <= 2  # a look and one probe, not three keepalives
        await asyncio.to_thread(proxy.resume)
        await asyncio.wait_for(wire.up(), 30)
