"""The wire to a host over one SSH connection that everything to that host shares.

Owns the channels on it: a command that must wait for a channel of its class waits. Keeping the
connection up is link's. Loaded only where a host is reached this way.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

import asyncssh

from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.link import Link
from console.transport.ssh_dial import Dialled, Dialler
from console.transport.ssh_streams import Connection, RemoteCommand
from console.transport.wire import CHANNELS, ByteStream, Done, LinkSeen, Use
from console.transport.words import remote_line

T = TypeVar("T")


class SshWire:
    """One host over SSH; connects when first used and reconnects until closed."""

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        self._host = host
        self._link = Link(Dialler(host, clock, pace, ask), pace)
        self._channels = {use: asyncio.Semaphore(count) for use, count in CHANNELS.items()}
        self._mark = f"spec-console-{secrets.token_hex(8)}"

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
                command = await self._start(argv, None, guarded=not stdin)
                try:
                    if stdin:
                        command.feed(stdin)
                    return await command.finish(most_bytes)
                finally:
                    await command.close()
        except TimeoutError:
            why = f"no end within {deadline_s:g} s: {argv[0]}"
            raise WireError(Failure.TIMEOUT, why) from None

    async def open(self, argv: Sequence[str], *, use: Use = Use.TAIL) -> RemoteCommand:
        channel = self._channels[use]
        await channel.acquire()
        try:
            return await self._start(argv, channel)
        except BaseException:
            channel.release()
            raise

    async def connect(self, host: str, port: int) -> ByteStream:
        dialled = await self._link.ready()
        opening = asyncio.ensure_future(
            dialled.connection.open_connection(host, port, encoding=None)
        )
        try:
            reader, writer = await asyncio.shield(opening)
        except asyncio.CancelledError:
            _undo(opening, lambda opened: opened[1].close())
            raise
        except asyncssh.Error as error:
            raise self._unopened(error, dialled) from error
        return Connection(reader, writer)

    def links(self) -> AsyncIterator[LinkSeen]:
        return self._link.states()

    async def up(self) -> None:
        await self._link.up()

    def retry(self) -> None:
        self._link.retry()

    async def close(self) -> None:
        await self._link.close()

    async def _start(
        self, argv: Sequence[str], channel: asyncio.Semaphore | None, *, guarded: bool = False
    ) -> RemoteCommand:
        line = remote_line([*self._host.enter, *argv], self._mark, guarded=guarded)
        dialled = await self._link.ready()
        opening = asyncio.ensure_future(
            dialled.connection.create_process(line, encoding=None, request_pty=False)
        )
        try:
            process = await asyncio.shield(opening)
        except asyncio.CancelledError:
            _undo(opening, lambda opened: opened.close())
            raise
        except asyncssh.Error as error:
            raise self._unopened(error, dialled) from error
        return RemoteCommand(process, self._mark.encode(), channel)

    def _unopened(self, error: asyncssh.Error, dialled: Dialled) -> WireError:
        """Why a channel could not be opened."""
        if dialled.connection.is_closed():
            return WireError(Failure.LINK_LOST, "the link was lost")
        refused = isinstance(error, asyncssh.ChannelOpenError)
        if refused and error.code == asyncssh.OPEN_CONNECT_FAILED:
            if "refused" in error.reason.lower():
                return WireError(Failure.REFUSED, "connection refused")
            return WireError(Failure.NO_HOST, error.reason)
        if refused and error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
            return WireError(Failure.NO_CHANNEL, f"sshd of {self._host.name} forbids forwarding")
        return WireError(Failure.NO_CHANNEL, f"sshd opened no channel: {error.reason}")


def _undo(opening: asyncio.Future[T], close: Callable[[T], None]) -> None:
    """Close what still opens after nobody waits for it, or the host would keep it."""

    def opened(done: asyncio.Future[T]) -> None:
        if not done.cancelled() and done.exception() is None:
            close(done.result())

    opening.add_done_callback(opened)
