"""The wire to a host over one SSH connection that everything to that host shares.

Owns keeping the connection up and the channels on it: a command that must wait for a channel of
its class waits. How to get in is ssh_dial's. Loaded only where a host is reached this way.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Sequence

import asyncssh

from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.ssh_dial import Dialled, Dialler
from console.transport.ssh_streams import Connection, RemoteCommand
from console.transport.wire import CHANNELS, ByteStream, Done, LinkSeen, LinkState, Use
from console.transport.words import remote_line

_STUBBORN = (Failure.KEY_UNKNOWN, Failure.KEY_CHANGED, Failure.AUTH, Failure.CONFIG)


class SshWire:
    """One host over SSH; connects when first used and reconnects until closed."""

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        self._host = host
        self._clock = clock
        self._pace = pace
        self._dialler = Dialler(host, clock, pace, ask)
        self._channels = {use: asyncio.Semaphore(count) for use, count in CHANNELS.items()}
        self._mark = f"spec-console-{secrets.token_hex(8)}"
        self._seen = LinkSeen(LinkState.CONNECTING)
        self._failure: WireError | None = None
        self._dialled: Dialled | None = None
        self._changed = asyncio.Condition()
        self._listeners: set[asyncio.Queue[LinkSeen]] = set()
        self._now = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._defect: BaseException | None = None
        self._ending: asyncio.Task[None] | None = None
        self._said_unused = False
        self._closed = False

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
        dialled = await self._ready()
        try:
            reader, writer = await dialled.connection.open_connection(host, port, encoding=None)
        except asyncssh.Error as error:
            raise self._unopened(error, dialled) from error
        return Connection(reader, writer)

    async def links(self) -> AsyncIterator[LinkSeen]:
        queue: asyncio.Queue[LinkSeen] = asyncio.Queue()
        queue.put_nowait(self._seen)
        self._listeners.add(queue)
        self._begin()
        try:
            while True:
                seen = await queue.get()
                yield seen
                if seen.state is LinkState.CLOSED:
                    break
            if self._defect is not None:
                raise self._defect
        finally:
            self._listeners.discard(queue)

    async def up(self) -> None:
        self._begin()
        async with self._changed:
            await self._changed.wait_for(lambda: self._dialled is not None or self._closed)
        if self._closed:
            raise self._let_go()

    def retry(self) -> None:
        self._now.set()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._failure = self._let_go()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._say(LinkSeen(LinkState.CLOSED))

    def _let_go(self) -> WireError:
        return WireError(Failure.CLOSED, f"the console let go of {self._host.name}")

    def _begin(self) -> None:
        if self._keeping is None and not self._closed:
            self._keeping = asyncio.create_task(self._keep())
            self._keeping.add_done_callback(self._kept)

    def _kept(self, keeping: asyncio.Task[None]) -> None:
        """Nobody may wait for a link that is kept no more."""
        if not keeping.cancelled():
            self._closed = True
            self._defect = keeping.exception()
            self._failure = WireError(Failure.CONFIG, f"defect: {self._defect!r}")
            self._ending = asyncio.create_task(self._say(LinkSeen(LinkState.CLOSED)))

    async def _ready(self) -> Dialled:
        """The connection; waits for the first attempt, never for a later one."""
        self._begin()
        async with self._changed:
            await self._changed.wait_for(lambda: self._dialled or self._failure)
        if self._dialled is None:
            assert self._failure is not None
            raise WireError(self._failure.kind, self._failure.why, self._failure.detail)
        return self._dialled

    async def _say(self, seen: LinkSeen) -> None:
        self._seen = seen
        for queue in self._listeners:
            queue.put_nowait(seen)
        async with self._changed:
            self._changed.notify_all()

    async def _keep(self) -> None:
        attempt = 0
        while True:
            self._now.clear()
            await self._say(LinkSeen(LinkState.CONNECTING))
            try:
                dialled = await self._dialler.dial()
            except WireError as error:
                self._failure = error
                await self._say(LinkSeen(LinkState.REFUSED, error.kind, error.why, error.detail))
                attempt = 63 if error.kind in _STUBBORN else attempt + 1
            else:
                attempt = 1
                await self._hold(dialled)
            await self._pause(attempt)

    async def _hold(self, dialled: Dialled) -> None:
        """Serve from this connection until it ends."""
        self._dialled, self._failure = dialled, None
        detail = () if self._said_unused else self._dialler.unused()
        self._said_unused = True
        try:
            await self._say(LinkSeen(LinkState.UP, detail=detail, rtt_us=dialled.rtt_us))
            await dialled.connection.wait_closed()
        finally:
            self._dialled = None
            await dialled.close()
        why = str(dialled.client.lost or "the host closed the connection")
        self._failure = WireError(Failure.LINK_LOST, why)
        await self._say(LinkSeen(LinkState.LOST, Failure.LINK_LOST, why))

    async def _pause(self, attempt: int) -> None:
        """Wait before the next attempt: doubling, never beyond the most, spread by a half."""
        grown_s = self._pace.reconnect_first_s * 2.0 ** min(attempt - 1, 62)
        pause_s = min(grown_s, self._pace.reconnect_most_s) * random.uniform(0.5, 1.0)
        try:
            async with asyncio.timeout(pause_s):
                await self._now.wait()
        except TimeoutError:
            pass

    async def _start(
        self, argv: Sequence[str], channel: asyncio.Semaphore | None, *, guarded: bool = False
    ) -> RemoteCommand:
        line = remote_line([*self._host.enter, *argv], self._mark, guarded=guarded)
        dialled = await self._ready()
        try:
            process = await dialled.connection.create_process(
                line, encoding=None, request_pty=False
            )
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
