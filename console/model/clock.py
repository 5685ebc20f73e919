"""Time, passed in: the clocks of the console and every interval it keeps.

Nothing else in the console asks the system for the time. Durations are integer microseconds on a
monotonic clock; UTC is only ever a label put beside them.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

US_PER_S = 1_000_000
UTC_NAME = "%Y-%m-%dT%H-%M-%SZ"
"""UTC in a file's name."""


class Clock(Protocol):
    """What tells the time: monotonic microseconds, UTC, and a wait."""

    def now_us(self) -> int:
        """Monotonic microseconds from an arbitrary origin."""
        ...

    def utc(self) -> datetime:
        """The aware UTC time of now."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long on this clock."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that moves only when told: for tests and for replays without a person."""

    def __init__(self, start_utc: datetime | None = None) -> None:
        self._start_utc = start_utc or datetime(2026, 2, 24, 17, 0, tzinfo=UTC)
        self._now_us = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self.on_sleep: Callable[[], None] | None = None

    def now_us(self) -> int:
        return self._now_us

    def utc(self) -> datetime:
        return self._start_utc + timedelta(microseconds=self._now_us)

    async def sleep(self, seconds: float) -> None:
        due = self._now_us + round(seconds * US_PER_S)
        if due <= self._now_us:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (due, next(self._order), waiter))
        if self.on_sleep is not None:
            self.on_sleep()
        await waiter

    def advance(self, seconds: float) -> None:
        """Move on and wake everyone whose time has come."""
        self._now_us += round(seconds * US_PER_S)
        while self._sleepers and self._sleepers[0][0] <= self._now_us:
            waiter = heapq.heappop(self._sleepers)[2]
            if not waiter.done():
                waiter.set_result(None)

    def next_due_us(self) -> int | None:
        """When the earliest sleeper wakes, or None without one."""
        return self._sleepers[0][0] if self._sleepers else None


@dataclass(frozen=True, slots=True)
class Pace:
    """Every interval and deadline of the console, in seconds.

    Attributes:
        fresh_s: a token younger than this means that tokens are being made.
        token_stall_s: requests that run without a token for this long have stalled.
        stall_s: a load without progress for this long has stalled.
        act_link_s: how long an act waits for a lost link before it ends.
        act_settle_s: a server that dies this soon after it was ready was never up.
        stop_grace_s: from TERM to the launcher until its survivors are told to end.
        kill_grace_s: what is still there this long after the last signal is stuck.
        lock_stale_s: an act's lock on a host that was not renewed for this long is stale.
        unlock_idle_s: an unlocked console is read-only again after this long without an act.
        scale: how many times faster than real time everything runs; 1 outside the lab.
    """

    health_starting_s: float = 2.0
    health_up_s: float = 30.0
    health_deadline_s: float = 25.0
    metrics_s: float = 2.0
    environ_s: float = 60.0
    gpu_s: float = 1.0
    gpu_apps_s: float = 10.0
    fresh_s: float = 10.0
    token_stall_s: float = 60.0
    connect_deadline_s: float = 15.0
    read_deadline_s: float = 20.0
    keepalive_s: float = 5.0
    keepalive_count: int = 3
    reconnect_first_s: float = 0.5
    reconnect_most_s: float = 30.0
    tail_look_s: float = 1.0
    tail_batch_s: float = 0.05
    watch_s: float = 0.5
    screen_s: float = 0.25
    record_flush_s: float = 0.25
    record_sync_s: float = 1.0
    clock_pair_s: float = 60.0
    progress_s: float = 10.0
    wait_deadline_s: float = 900.0
    stall_s: float = 300.0
    act_look_s: float = 1.0
    act_link_s: float = 600.0
    act_settle_s: float = 5.0
    stop_grace_s: float = 60.0
    kill_grace_s: float = 15.0
    lock_stale_s: float = 120.0
    unlock_idle_s: float = 1800.0
    scale: float = 1.0

    def scaled(self, factor: float) -> Pace:
        """The same pace, every interval divided by `factor`; counts stay."""
        return replace(
            self,
            scale=self.scale * factor,
            **{
                field.name: getattr(self, field.name) / factor
                for field in fields(self)
                if field.name.endswith("_s")
            },
        )


def utc_text(moment: datetime) -> str:
    """`2026-02-24T17:05:41.123456Z`: how UTC is written in every file."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def utc_from_text(text: str) -> datetime:
    """Read what `utc_text` wrote.

    Raises:
        ValueError: the text has another form.
    """
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
