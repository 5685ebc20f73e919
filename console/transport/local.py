"""Commands and connections on this machine, for people who work on the box itself.

Every command gets a process group of its own, which is ended with it; no shell is involved
unless the command is one. The link is always up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncIterator, Sequence

from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.sockets import Connection, dial
from console.transport.wire import CHANNELS, READ_BYTES, ByteStream, Done, LinkSeen, LinkState, Use

_GRACE_S = 1.0


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
    ) -> Done:
        try:
            async with asyncio.timeout(deadline_s), self._channels[use]:
                command = await self._start(argv)
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
        await self._channels[use].acquire()
        try:
            return await self._start(argv, self._channels[use])
        except OSError as error:
            self._channels[use].release()
            raise WireError(Failure.REMOTE, f"{argv[0]}: {error.strerror}") from error
        except BaseException:
            self._channels[use].release()
            raise

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

    async def _start(self, argv: Sequence[str], slot: asyncio.Semaphore | None = None) -> Command:
        self._check()
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Child(loop), *self._host.enter, *argv, start_new_session=True
            )
        )
        try:
            transport, child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio can wait for ever for a process whose start was cut short.
            await asyncio.gather(starting, return_exceptions=True)
            if not starting.cancelled() and starting.exception() is None:
                await self._command(*starting.result(), None).close()
            raise
        return self._command(transport, child, slot)

    def _command(
        self,
        transport: asyncio.SubprocessTransport,
        child: _Child,
        slot: asyncio.Semaphore | None,
    ) -> Command:
        command = Command(transport, child, slot, self._open)
        self._open.add(command)
        return command


class _Child(SubprocessStreamProtocol):
    """asyncio's own protocol, telling the end of the process apart from the end of its pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=READ_BYTES, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()
        super().process_exited()


class Command:
    """One child process with its group; the Stream of this machine."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        child: _Child,
        slot: asyncio.Semaphore | None,
        table: set[Command],
    ) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        self._transport = transport
        self._child = child
        self._stdin, self._out, self._err = child.stdin, child.stdout, child.stderr
        self._slot = slot
        self._table = table

    async def read(self, most: int = READ_BYTES) -> bytes:
        return await self._out.read(most)

    async def read_err(self, most: int = READ_BYTES) -> bytes:
        return await self._err.read(most)

    async def write(self, data: bytes) -> None:
        try:
            self._stdin.write(data)
            await self._stdin.drain()
        except ConnectionError as error:
            raise WireError(Failure.CLOSED, "the command takes no more input") from error

    async def finish(self, stdin: bytes, most_bytes: int) -> Done:
        """Feed it, read both outputs and wait for its end."""
        feeding = asyncio.create_task(self._feed(stdin))
        try:
            async with asyncio.TaskGroup() as group:
                out = group.create_task(read_all(self._out, most_bytes))
                err = group.create_task(read_all(self._err, most_bytes))
        except* WireError as failures:
            raise failures.exceptions[0] from None
        finally:
            feeding.cancel()
        await self._child.exited.wait()
        return Done(self._transport.get_returncode() or 0, out.result(), err.result())

    async def close(self) -> None:
        if self not in self._table:
            return
        self._table.discard(self)
        if self._slot is not None:
            self._slot.release()
        self._stdin.close()
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_GRACE_S):
                await self._child.exited.wait()
        except TimeoutError:
            pass
        finally:
            self._signal(signal.SIGKILL)
            await self._child.exited.wait()
            self._transport.close()

    async def _feed(self, stdin: bytes) -> None:
        try:
            self._stdin.write(stdin)
            await self._stdin.drain()
        except ConnectionError:
            pass  # it ended without reading its input
        self._stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        # Until it is reaped, the leader's id can be nobody else's.
        if not self._child.exited.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._transport.get_pid(), number)


async def read_all(reader: asyncio.StreamReader, most: int) -> bytes:
    """Everything up to the end; WireError TOO_LARGE beyond `most` bytes."""
    parts: list[bytes] = []
    held = 0
    while part := await reader.read(READ_BYTES):
        held += len(part)
        if held > most:
            raise WireError(Failure.TOO_LARGE, f"more than {most:,} bytes of output")
        parts.append(part)
    return b"".join(parts)
