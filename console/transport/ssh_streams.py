"""What runs on an SSH connection: a remote command's outputs, a forwarded TCP connection.

Owns asyncssh's side of both: how they are read, fed and let go of.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import asyncssh

from console.model.failure import Failure, WireError
from console.transport.output import Output
from console.transport.wire import READ_BYTES, Done

_CLOSE_S = 1.0


class RemoteCommand:
    """A command on the host; the Stream of SSH."""

    def __init__(
        self,
        process: asyncssh.SSHClientProcess[bytes],
        mark: bytes,
        channel: asyncio.Semaphore | None,
    ) -> None:
        self._process = process
        self._out = Output(partial(_read, process.stdout), mark)
        self._err = Output(partial(_read, process.stderr), mark)
        self._channel = channel
        self._open = True

    async def read(self, most: int = READ_BYTES) -> bytes:
        return await self._out.read(most)

    async def read_err(self, most: int = READ_BYTES) -> bytes:
        return await self._err.read(most)

    async def write(self, data: bytes) -> None:
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except (asyncssh.Error, OSError) as error:
            if self._process.get_extra_info("connection").is_closed():
                raise WireError(Failure.LINK_LOST, "the link was lost") from error
            raise WireError(Failure.CLOSED, "the command takes no more input") from error

    async def feed(self, stdin: bytes) -> None:
        """Give it all of its input; one that has ended without reading it is no failure."""
        with contextlib.suppress(asyncssh.Error, OSError):
            self._process.stdin.write(stdin)
            self._process.stdin.write_eof()

    async def finish(self, most_bytes: int) -> Done:
        """Read both outputs and wait for its end."""
        try:
            async with asyncio.TaskGroup() as group:
                out = group.create_task(self._out.all(most_bytes))
                err = group.create_task(self._err.all(most_bytes))
        except* WireError as failures:
            raise failures.exceptions[0] from None
        await self._process.wait_closed()
        code = self._process.returncode
        if code is None:
            raise WireError(Failure.LINK_LOST, "the link was lost before the command ended")
        return Done(code, out.result(), err.result())

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        # Letting go of its input ends it, if it is guarded or reads; a signal helps where sshd
        # takes one (OpenSSH 7.9 and not for root).
        self._process.terminate()
        self._process.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._process.wait_closed()
        except TimeoutError:
            pass
        finally:
            if self._channel is not None:
                self._channel.release()


class Connection:
    """A TCP connection made by the host; the ByteStream of SSH."""

    def __init__(
        self, reader: asyncssh.SSHReader[bytes], writer: asyncssh.SSHWriter[bytes]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._closed = False

    async def read(self, most: int = READ_BYTES) -> bytes:
        return await _read(self._reader, most)

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (asyncssh.Error, OSError) as error:
            raise WireError(Failure.CLOSED, "connection closed by the server") from error

    def ended(self) -> bool:
        return self._closed or self._reader.at_eof()

    async def close(self) -> None:
        self._closed = True
        self._writer.close()


async def _read(reader: asyncssh.SSHReader[bytes], most: int) -> bytes:
    try:
        return await reader.read(most)
    except (asyncssh.Error, OSError) as error:
        # A reset of the link comes out as the system's own error.
        raise WireError(Failure.LINK_LOST, str(error)) from error
