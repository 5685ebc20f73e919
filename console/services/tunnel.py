"""A port on this machine's loopback that leads to a server, for a host without Python.

Open only while a benchmark needs it. What is timed through it is timed with the console's own
connection in between, and every result says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from console.model.failure import WireError
from console.transport.wire import ByteStream, Wire


@asynccontextmanager
async def tunnel(wire: Wire, host: str, port: int) -> AsyncIterator[int]:
    """The local port, for as long as the body runs."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await wire.connect(host, port)
        except WireError:
            writer.close()
            return
        out = asyncio.create_task(_out(reader, far))
        try:
            with contextlib.suppress(WireError, ConnectionError):
                while data := await far.read():
                    writer.write(data)
                    await writer.drain()
        finally:
            out.cancel()
            await far.close()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


async def _out(reader: asyncio.StreamReader, far: ByteStream) -> None:
    with contextlib.suppress(WireError, ConnectionError):
        while data := await reader.read(65536):
            await far.write(data)
