"""Services that run side by side, each begun again after a defect.

Owns their tasks and the one broad except of the console. A defect of one is noticed, in the
stream, and stops no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from console.model.clock import Clock, Pace
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.events import Event
from console.stream.session_events import Noticed

Emit = Callable[[Event], object]
Making = Callable[[], AsyncGenerator[Event, None]]


class Running:
    """Services by key; a key names one at most."""

    def __init__(self, emit: Emit, clock: Clock, pace: Pace, masks: Masks) -> None:
        self._emit = emit
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def task(self, key: str) -> asyncio.Task[None] | None:
        """The task of a service that runs."""
        return self._tasks.get(key)

    def start(self, key: str, subject: str, making: Making) -> None:
        """Start a service unless it runs. `subject` is the host or server of its notices."""
        if key in self._tasks:
            return
        task = asyncio.create_task(self._serve(key, subject, making), name=key)
        self._tasks[key] = task
        task.add_done_callback(self._ended)

    async def stop(self, key: str) -> None:
        """End a service and wait until it has let go of everything."""
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        """End all of them."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._tasks.get(task.get_name()) is task:
            del self._tasks[task.get_name()]

    async def _serve(self, key: str, subject: str, making: Making) -> None:
        pause_s = self._pace.reconnect_first_s
        while True:
            try:
                async with aclosing(making()) as events:
                    async for event in events:
                        self._emit(event)
                return
            # Any kind: a defect in one service is said and must not stop the others.
            except Exception as error:  # noqa: BLE001 - the outermost loop of every service
                text = clean(f"{key}: stopped by a defect: {error!r}", self._masks)
                self._emit(Noticed(clean(subject, self._masks), Clean("error"), text))
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, self._pace.reconnect_most_s)
