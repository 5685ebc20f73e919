"""A TCP proxy on loopback that spoils the way between a client and a real server.

It can delay, cut and fall silent, at any time. It keeps the order of bytes and never changes
them.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from tests.rig.loop import LoopThread

CHUNK_BYTES = 65536
CHUNKS_UNDERWAY = 64
RESET_ON_CLOSE = struct.pack("ii", 1, 0)

Underway = asyncio.Queue[tuple[float, bytes]]  # when each chunk came, in loop time


class TcpProxy:
    """Listens on `port` and forwards to `target_port`; `close` it or use it as a context manager.

    `delay_ms` holds every byte back that long in each direction and can be set at any time;
    `carried_bytes` counts both directions.
    """

    def __init__(self, target_port: int, *, delay_ms: float = 0) -> None:
        self.target_port = target_port
        self.delay_ms = delay_ms
        self.carried_bytes = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = LoopThread("tcp-proxy")
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.port = self._loop.listen(self._connection)

    def __enter__(self) -> TcpProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and drop every connection. Safe to repeat."""
        self._loop.close()

    def cut(self) -> None:
        """Reset every connection, on both sides; new ones are served as before."""
        self._loop.run(self._cut())

    def silence(self) -> None:
        """Forward nothing any more, not even an end; connections stay and new ones are taken."""
        self._loop.run(self._set_flowing(False))

    def resume(self) -> None:
        """End a silence; what was held back is delivered first."""
        self._loop.run(self._set_flowing(True))

    async def _cut(self) -> None:
        for writer in self._open:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            writer.transport.abort()

    async def _set_flowing(self, flows: bool) -> None:
        if flows:
            self._flowing.set()
        else:
            self._flowing.clear()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except ConnectionError:
            writer.transport.abort()
            return
        ends = {writer, far_writer}
        self._open |= ends
        try:
            await self._both_ways((reader, far_writer), (far_reader, writer))
        except asyncio.CancelledError:
            for end in ends:
                end.transport.abort()
        finally:
            self._open -= ends
            for end in ends:
                end.close()

    async def _both_ways(self, *ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for reader, writer in ways:
                    underway: Underway = asyncio.Queue(CHUNKS_UNDERWAY)
                    group.create_task(self._take(reader, underway))
                    group.create_task(self._deliver(underway, writer))
        except* OSError:
            pass

    async def _take(self, reader: asyncio.StreamReader, underway: Underway) -> None:
        """Read on while earlier chunks still wait out their delay."""
        chunk = b"-"
        while chunk:
            chunk = await reader.read(CHUNK_BYTES)
            await underway.put((asyncio.get_running_loop().time(), chunk))

    async def _deliver(self, underway: Underway, writer: asyncio.StreamWriter) -> None:
        while True:
            came_s, chunk = await underway.get()
            wait_s = came_s + self.delay_ms / 1000 - asyncio.get_running_loop().time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            await self._flowing.wait()
            if not chunk:
                writer.write_eof()
                return
            self.carried_bytes += len(chunk)
            writer.write(chunk)
            await writer.drain()
