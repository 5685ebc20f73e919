"""The wire to a host over one connection that everything to that host shares.

Owns the channels on it: a command that must wait for a channel of its class waits. Keeping the
connection up is link's, making it and running something on it a dialler's.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from typing import Protocol

from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.link import Dialled, Dialler, Link
from console.transport.wire import CHANNELS, ByteStream, Done, LinkSeen, Stream, Use
from console.transport.words import guarded, remote_line


class Command(Stream, Protocol):
    """A command that runs on the host."""

    async def feed(self, stdin: bytes) -> None:
        """Give it all of its input."""
        ...

    async def finish(self, most_bytes: int) -> Done:
        """Read both outputs and wait for its end."""
        ...


class Connected(Dialled, Protocol):
    """A connection that things run on."""

    async def start(
        self, line: bytes, mark: bytes, channel: asyncio.Semaphore | None = None
    ) -> Command:
        """Give the login shell a line; its outputs count from after the mark on.

        Raises:
            WireError: NO_CHANNEL or LINK_LOST; then `channel` is still the caller's.
        """
        ...

    async def connect(self, host: str, port: int) -> ByteStream:
        """A TCP connection made by the host.

        Raises:
            WireError: REFUSED, NO_HOST, NO_CHANNEL or LINK_LOST.
        """
        ...


class RemoteWire:
    """One host; connects when first used and reconnects until closed."""

    def __init__(self, host: Host, dialler: Dialler[Connected], clock: Clock, pace: Pace) -> None:
        self._host = host
        self._link = Link(f"ssh {host.ssh}", dialler, clock, pace)
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
        outside: bool = False,
    ) -> Done:
        # Connecting has its own deadline, in which the time that a person takes does not count.
        await self._link.ready()
        try:
            async with asyncio.timeout(deadline_s), self._channels[use]:
                words = argv if stdin else guarded(argv)
                command = await self._start(words, None, outside=outside)
                try:
                    if stdin:
                        await command.feed(stdin)
                    return await command.finish(most_bytes)
                finally:
                    await command.close()
        except TimeoutError:
            why = f"no end within {deadline_s:g} s: {argv[0]}"
            raise WireError(Failure.TIMEOUT, why) from None

    async def open(self, argv: Sequence[str], *, use: Use = Use.TAIL) -> Stream:
        channel = self._channels[use]
        await channel.acquire()
        # Whatever ends the start, a cancel too: its place must become free.
        with ExitStack() as undo:
            undo.callback(channel.release)
            stream = await self._start(argv, channel)
            undo.pop_all()
        return stream

    async def connect(self, host: str, port: int) -> ByteStream:
        return await (await self._link.ready()).connect(host, port)

    def links(self) -> AsyncIterator[LinkSeen]:
        return self._link.states()

    async def up(self) -> None:
        await self._link.up()

    def retry(self) -> None:
        self._link.retry()

    async def close(self) -> None:
        await self._link.close()

    async def _start(
        self, argv: Sequence[str], channel: asyncio.Semaphore | None, *, outside: bool = False
    ) -> Command:
        line = remote_line([*(() if outside else self._host.enter), *argv], self._mark)
        connected = await self._link.ready()
        return await connected.start(line, self._mark.encode(), channel)
