"""Waiting until State is so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from console.stream.state import Item, State
from console.stream.timeline import Timeline


async def until(timeline: Timeline, holds: Callable[[State], bool], deadline_s: float) -> bool:
    """Return once it holds, or when the time is over; whether it holds."""
    if holds(timeline.state):
        return True
    now = asyncio.Event()

    def take(_item: Item, state: State) -> None:
        if holds(state):
            now.set()

    timeline.subscribe(take)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                await now.wait()
    finally:
        timeline.unsubscribe(take)
    return now.is_set()
