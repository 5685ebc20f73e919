"""Reading what one ssh process says for as long as it runs.

Owns the one reader of its standard error and the time its TCP handshake took.
"""

from __future__ import annotations

import asyncio

from console.model.clock import Clock
from console.transport.openssh_words import Said
from console.transport.process import Process
from console.transport.wire import READ_BYTES

_CONNECTING = "debug1: Connecting to "
_CONNECTED = "debug1: Connection established"
_MOST_LINE = 4096


class Listening:
    """Reads what an ssh process says as long as it runs."""

    def __init__(self, process: Process, said: Said, clock: Clock) -> None:
        self.process = process
        self.rtt_us: int | None = None
        self._said = said
        self._clock = clock
        self._start_us = 0
        self._changed = asyncio.Condition()
        self._task = asyncio.create_task(self._read())

    async def over(self) -> None:
        """Return once it has said everything."""
        await asyncio.wait({self._task})

    async def refusal(self, target: str) -> str:
        """Why the host made no connection to `HOST:PORT`; waits until it was said."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._said.refused.get(target) or self._task.done()
            )
        reasons = self._said.refused.get(target)
        return reasons.popleft() if reasons else ""

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        rest = b""
        while data := await self.process.err.read(READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_MOST_LINE:]
            for raw in lines:
                self._take(raw.decode("utf-8", "replace").rstrip("\r"))
            async with self._changed:
                self._changed.notify_all()
        self._take(rest.decode("utf-8", "replace"))

    def _take(self, line: str) -> None:
        if line.startswith(_CONNECTING) and not self._start_us:
            self._start_us = self._clock.now_us()
        elif line.startswith(_CONNECTED) and self.rtt_us is None:
            self.rtt_us = self._clock.now_us() - self._start_us
        self._said.take(line)
