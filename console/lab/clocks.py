"""The lab's two clocks: real time made N times faster, and time gone by.

The lab imitates processes that take real time, so it asks the machine's clocks itself instead of
taking console.model.clock: another process's answers are timed by the console's clock anyway.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class LabClock(Protocol):
    """What the simulated server lives by.

    Attributes:
        scale: every wait is divided by it; `now` and `monotonic` are the machine's own seconds.
    """

    scale: float

    def now(self) -> float:
        """Seconds since the epoch, as stamped on log lines."""
        ...

    def monotonic(self) -> float:
        """Seconds that never step back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let that many seconds of a real server pass."""
        ...

    async def until(self, due: float) -> None:
        """Wait until `monotonic` has reached `due`."""
        ...


class ScaledClock:
    """The machine's time."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self.scale)

    async def until(self, due: float) -> None:
        await asyncio.sleep(max(0.0, due - time.monotonic()))


class PastClock:
    """A clock that starts some seconds ago and moves as soon as it is waited on: for history."""

    def __init__(self, ago_s: float, scale: float = 1.0) -> None:
        self.scale = scale
        self._ago_s = ago_s
        self._now = time.time()
        self._monotonic = time.monotonic()

    def now(self) -> float:
        return self._now - self._ago_s

    def monotonic(self) -> float:
        return self._monotonic - self._ago_s

    async def sleep(self, seconds: float) -> None:
        self._ago_s -= max(0.0, seconds) / self.scale
        await asyncio.sleep(0)

    async def until(self, due: float) -> None:
        await self.sleep(max(0.0, due - self.monotonic()) * self.scale)
