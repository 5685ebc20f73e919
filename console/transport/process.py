"""A child process of this machine with its three pipes and a process group of its own.

Owns starting one so that a start cut short leaves nothing behind, and ending the whole group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Mapping, Sequence

from console.model.failure import Failure, WireError
from console.transport.wire import READ_BYTES

_GRACE_S = 1.0


class _Protocol(SubprocessStreamProtocol):
    """asyncio's own protocol, telling the end of the process apart from the end of its pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=READ_BYTES, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()
        super().process_exited()


class Process:
    """One that was started.

    Attributes:
        exited: set once it has ended; its outputs may hold more to read.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        assert protocol.stderr is not None
        self._transport = transport
        self.stdin, self.out, self.err = protocol.stdin, protocol.stdout, protocol.stderr
        self.exited = protocol.exited

    @property
    def code(self) -> int:
        """Its exit code, negative for a signal; 0 while it runs."""
        return self._transport.get_returncode() or 0

    async def feed(self, data: bytes) -> None:
        """Give it all of its input; not reading it is no failure."""
        with contextlib.suppress(ConnectionError):
            self.stdin.write(data)
            await self.stdin.drain()
        self.stdin.close()

    async def write(self, data: bytes) -> None:
        """Give it input; WireError CLOSED when it takes no more."""
        try:
            self.stdin.write(data)
            await self.stdin.drain()
        except ConnectionError as error:
            raise WireError(Failure.CLOSED, "the command takes no more input") from error

    async def end(self) -> None:
        """Let go of its input and end its group, politely first. Safe to repeat."""
        self.stdin.close()
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_GRACE_S):
                await self.exited.wait()
        except TimeoutError:
            pass
        finally:
            self._signal(signal.SIGKILL)
            await self.exited.wait()
            self._transport.close()

    def _signal(self, number: signal.Signals) -> None:
        # Until it is reaped, the leader's id can be nobody else's.
        if not self.exited.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._transport.get_pid(), number)


async def spawn(argv: Sequence[str | bytes], env: Mapping[str, str] | None = None) -> Process:
    """Start a program; OSError when it cannot be."""
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(lambda: _Protocol(loop), *argv, start_new_session=True, env=env)
    )
    try:
        return Process(*await asyncio.shield(starting))
    except asyncio.CancelledError:
        # asyncio can wait for ever for a process whose start was cut short.
        await asyncio.gather(starting, return_exceptions=True)
        if not starting.cancelled() and starting.exception() is None:
            await Process(*starting.result()).end()
        raise


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
