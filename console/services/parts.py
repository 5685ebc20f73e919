"""The two outputs of a running command as one sequence, with a wait that can end early.

Owns the two tasks that read. Holds at most two reads of each output; whoever does not take them
makes the command wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from console.model.failure import WireError
from console.transport.wire import Stream


@dataclass(frozen=True, slots=True)
class Out:
    """Bytes of standard output; empty at its end."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Err:
    """A line of standard error without its end."""

    line: str


class Parts:
    """What a stream gives, part by part. Close it, also when cancelled."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._queue: asyncio.Queue[Out | Err | WireError] = asyncio.Queue(2)
        self._tasks = [
            asyncio.create_task(self._read(stream.read, self._out)),
            asyncio.create_task(self._read(stream.read_err, self._err)),
        ]
        self._rest = b""

    async def next(self, timeout_s: float | None) -> Out | Err | None:
        """The next part; None when the time is over.

        Raises:
            WireError: the link was lost.
        """
        if not self._queue.empty():
            part = self._queue.get_nowait()
        else:
            try:
                async with asyncio.timeout(timeout_s):
                    part = await self._queue.get()
            except TimeoutError:
                return None
        if isinstance(part, WireError):
            raise part
        return part

    async def close(self) -> None:
        """Stop reading and end the command."""
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            await self._stream.close()

    async def _read(
        self, read: Callable[[], Awaitable[bytes]], give: Callable[[bytes], Awaitable[None]]
    ) -> None:
        try:
            while data := await read():
                await give(data)
            await give(b"")
        except WireError as error:
            await self._queue.put(error)

    async def _out(self, data: bytes) -> None:
        await self._queue.put(Out(data))

    async def _err(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-4096:]
        for line in lines:
            await self._queue.put(Err(line.decode("utf-8", "replace")))
