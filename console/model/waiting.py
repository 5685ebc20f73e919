"""Waits that something can cut short, on the clock that is passed in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from console.model.clock import Clock


async def sleep_or(clock: Clock, seconds: float, early: asyncio.Event) -> None:
    """Wait that long, or until the event is set."""
    await first_of(clock.sleep(seconds), early.wait())


async def first_of(*waits: Awaitable[object]) -> None:
    """Return when the first of them is over; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
