"""An event loop on a thread of its own, so that a part serves while the test's loop is busy.

Other threads hand it work only through `run` and `listen`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class LoopThread:
    """Runs coroutines for any thread until `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T], deadline_s: float = 5.0) -> T:
        """Run `work` on the loop and wait for its result; TimeoutError after `deadline_s`."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(deadline_s)

    def listen(self, handler: Handler) -> int:
        """Serve TCP connections to 127.0.0.1 with `handler` until `close`; the port."""
        server = self.run(asyncio.start_server(handler, "127.0.0.1", 0))
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Stop listening, cancel whatever still runs there and end the thread. Safe to repeat."""
        if self._loop.is_closed():
            return
        self.run(self._wind_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _wind_up(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # Transports closed by those tasks tell their protocols in the next rounds of the loop.
        for _ in range(3):
            await asyncio.sleep(0)
