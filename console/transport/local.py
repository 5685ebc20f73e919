"""Commands and connections on this machine, for people who work on the box itself.

Every command gets a process group of its own, which is ended with it; no shell is involved
unless the command is one. The link is always up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.process import Process, read_all, spawn
from console.transport.sockets import Connection, dial
from console.transport.wire import CHANNELS, READ_BYTES, ByteStream, Done, LinkSeen, LinkState, Use


class LocalWire:
    """The wire to the machine itself."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._channels = {use: asyncio.Semaphore(count) for use, count in CHANNELS.items()}
        self._open: set[Command] = set()
        self._connections: set[Connection] = set()
        self._closed = asyncio.Event()

    @property
    def host(self) -> Host:
        return self._host

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        deadline_s: float,
        most_bytes: int = 1_048_576,
        use: Use = Use.READ,
        outside: bool = False,
    ) -> Done:
        try:
            async with asyncio.timeout(deadline_s), self._channels[use]:
                command = await self._start(argv, outside=outside)
                try:
                    return await command.finish(stdin, most_bytes)
                finally:
                    await command.close()
        except FileNotFoundError:
            return Done(127, b"", f"{argv[0]}: not found\n".encode())
        except PermissionError:
            return Done(126, b"", f"{argv[0]}: permission denied\n".encode())
        except TimeoutError:
            why = f"no end within {deadline_s:g} s: {argv[0]}"
            raise WireError(Failure.TIMEOUT, why) from None

    async def open(self, argv: Sequence[str], *, use: Use = Use.TAIL) -> Command:
        channel = self._channels[use]
        await channel.acquire()
        # Whatever ends the start, a cancel too: its place must become free.
        with ExitStack() as undo:
            undo.callback(channel.release)
            try:
                command = await self._start(argv, channel)
            except OSError as error:
                raise WireError(Failure.REMOTE, f"{argv[0]}: {error.strerror}") from error
            undo.pop_all()
        return command

    async def connect(self, host: str, port: int) -> ByteStream:
        self._check()
        connection = await dial(host, port)
        self._connections.add(connection)
        connection.on_close = lambda: self._connections.discard(connection)
        return connection

    async def links(self) -> AsyncIterator[LinkSeen]:
        yield LinkSeen(LinkState.UP)
        await self._closed.wait()
        yield LinkSeen(LinkState.CLOSED)

    async def up(self) -> None:
        self._check()

    def retry(self) -> None:
        """Nothing to do: this link is always up."""

    async def close(self) -> None:
        self._closed.set()
        for command in tuple(self._open):
            await command.close()
        for connection in tuple(self._connections):
            await connection.close()

    def _check(self) -> None:
        if self._closed.is_set():
            raise WireError(Failure.CLOSED, "the console let go of this host")

    async def _start(
        self,
        argv: Sequence[str],
        slot: asyncio.Semaphore | None = None,
        *,
        outside: bool = False,
    ) -> Command:
        self._check()
        enter = () if outside else self._host.enter
        command = Command(await spawn([*enter, *argv]), slot, self._open)
        self._open.add(command)
        return command


class Command:
    """One child process with its group; the Stream of this machine."""

    def __init__(
        self, process: Process, slot: asyncio.Semaphore | None, table: set[Command]
    ) -> None:
        self._process = process
        self._slot = slot
        self._table = table

    async def read(self, most: int = READ_BYTES) -> bytes:
        return await self._process.out.read(most)

    async def read_err(self, most: int = READ_BYTES) -> bytes:
        return await self._process.err.read(most)

    async def write(self, data: bytes) -> None:
        await self._process.write(data)

    async def finish(self, stdin: bytes, most_bytes: int) -> Done:
        """Feed it, read both outputs and wait for its end."""
        feeding = asyncio.create_task(self._process.feed(stdin))
        try:
            async with asyncio.TaskGroup() as group:
                out = group.create_task(read_all(self._process.out, most_bytes))
                err = group.create_task(read_all(self._process.err, most_bytes))
        except* WireError as failures:
            raise failures.exceptions[0] from None
        finally:
            feeding.cancel()
        await self._process.exited.wait()
        return Done(self._process.code, out.result(), err.result())

    async def close(self) -> None:
        if self not in self._table:
            return
        self._table.discard(self)
        if self._slot is not None:
            self._slot.release()
        await self._process.end()
