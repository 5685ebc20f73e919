"""How late the event loop is: by how much more than 5 ms a sleep of 5 ms takes, again and again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ASLEEP_S = 0.005


@asynccontextmanager
async def lateness() -> AsyncIterator[list[float]]:
    """Milliseconds too late, as long as the body runs; sorted at its end."""
    late: list[float] = []

    async def look() -> None:
        while True:
            start_s = time.perf_counter()
            await asyncio.sleep(ASLEEP_S)
            late.append((time.perf_counter() - start_s - ASLEEP_S) * 1e3)

    looking = asyncio.create_task(look())
    try:
        yield late
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        late.sort()
