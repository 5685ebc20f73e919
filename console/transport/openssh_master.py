"""An ssh process whose connection others share: commands and TCP connections through it.

Owns the child processes on this machine that stand for them, and noticing that it is dead. Each
command and each connection is one `ssh` that never connects by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from console.model.clock import Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.openssh_ask import Asker
from console.transport.openssh_listening import Listening
from console.transport.openssh_words import Said, unopened
from console.transport.output import Output
from console.transport.process import Process, spawn
from console.transport.wire import READ_BYTES, Done

_SSH_FAILED = 255
_OPENED = b"master session id"
_NO_SESSION = re.compile(r"session request failed: (.*)")
_SETTLE_S = 1.0


class Master:
    """A connection that is up.

    Args:
        base: the ssh that goes through it.
        process: holds it up: it runs `cat` on the host and ends with its input.
    """

    def __init__(
        self,
        host: Host,
        base: Sequence[str],
        process: Process,
        heard: Listening,
        said: Said,
        asker: Asker,
        pace: Pace,
    ) -> None:
        self._host = host
        self._base = base
        self._process = process
        self._heard = heard
        self._said = said
        self._asker = asker
        self._pace = pace
        self._open: set[Command | Forward] = set()
        self._count = 0
        self._echo = asyncio.Event()
        self.gone = asyncio.Event()

    @property
    def rtt_us(self) -> int | None:
        return self._heard.rtt_us

    async def start(
        self, line: bytes, mark: bytes, channel: asyncio.Semaphore | None = None
    ) -> Command:
        self._check()
        self._count += 1
        words = self._asker.folder / f"said-{self._count}"
        process = await spawn(
            [*self._base, "-E", str(words), "-T", self._host.ssh, "--", line],
            self._asker.environment(),
        )
        command = Command(process, self, words, mark, channel)
        self._open.add(command)
        return command

    async def connect(self, host: str, port: int) -> Forward:
        self._check()
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        process = await spawn(
            [*self._base, "-v", "-W", target, self._host.ssh], self._asker.environment()
        )
        forward = Forward(process, self)
        self._open.add(forward)
        # Whatever ends it, a cancel too: no forward may be left behind.
        async with contextlib.AsyncExitStack() as undo:
            undo.push_async_callback(forward.close)
            if not await _connected(process):
                raise await self._refused(f"{host}:{port}")
            undo.pop_all()
        return forward

    async def lost(self) -> str:
        """Ask for an echo every `keepalive_s`; return when it has ended or owes too many."""
        reading = asyncio.create_task(self._echoes())
        owed = 0
        try:
            while owed < self._pace.keepalive_count:
                self._ping()
                await asyncio.wait({reading}, timeout=self._pace.keepalive_s)
                if reading.done():
                    await self._heard.over()
                    return self._said.last or "the host closed the connection"
                owed = 0 if self._echo.is_set() else owed + 1
            return f"no answer to {owed} keepalives"
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def answers(self) -> None:
        """Return at a sign of life."""
        self._ping()
        await self._echo.wait()

    async def close(self) -> None:
        """End everything that goes through it, then itself."""
        self.gone.set()
        await asyncio.gather(*(one.close() for one in tuple(self._open)))
        await self._process.end()
        await self._heard.close()
        self._asker.close()

    def forget(self, one: Command | Forward) -> None:
        """It was closed."""
        self._open.discard(one)

    async def is_lost(self) -> bool:
        """Whether the connection has ended, for one whose ssh has: leaves a moment to notice."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                await self._process.exited.wait()
        return self.gone.is_set() or self._process.exited.is_set()

    def _ping(self) -> None:
        self._echo.clear()
        self._process.stdin.write(b".")

    async def _echoes(self) -> None:
        while await self._process.out.read(READ_BYTES):
            self._echo.set()

    def _check(self) -> None:
        if self.gone.is_set() or self._process.exited.is_set():
            raise WireError(Failure.LINK_LOST, "the link was lost")

    async def _refused(self, target: str) -> WireError:
        if self._process.exited.is_set():
            return WireError(Failure.LINK_LOST, "the link was lost")
        reason = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                reason = await self._heard.refusal(target)
        if not reason:
            return WireError(Failure.REFUSED, "refused; a master of your own does not say why")
        return unopened(reason, self._host.name, target)


class Command:
    """A command on the host; the Stream of the system's ssh."""

    def __init__(
        self,
        process: Process,
        master: Master,
        words: Path,
        mark: bytes,
        channel: asyncio.Semaphore | None,
    ) -> None:
        self._process = process
        self._master = master
        self._words = words
        self._channel = channel
        self._out = Output(lambda most: self._next(process.out, most), mark)
        self._err = Output(lambda most: self._next(process.err, most), mark)
        self._closed = False

    async def read(self, most: int = READ_BYTES) -> bytes:
        return await self._out.read(most)

    async def read_err(self, most: int = READ_BYTES) -> bytes:
        return await self._err.read(most)

    async def write(self, data: bytes) -> None:
        await self._process.write(data)

    async def feed(self, stdin: bytes) -> None:
        """Give it all of its input."""
        await self._process.feed(stdin)

    async def finish(self, most_bytes: int) -> Done:
        """Read both outputs and wait for its end."""
        try:
            async with asyncio.TaskGroup() as group:
                out = group.create_task(self._out.all(most_bytes))
                err = group.create_task(self._err.all(most_bytes))
        except* WireError as failures:
            raise failures.exceptions[0] from None
        await self._process.exited.wait()
        return Done(self._process.code, out.result(), err.result())

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._master.forget(self)
        try:
            await self._process.end()
        finally:
            self._words.unlink(missing_ok=True)
            if self._channel is not None:
                self._channel.release()

    async def _next(self, reader: asyncio.StreamReader, most: int) -> bytes:
        data = await reader.read(most)
        if data:
            return data
        if self._master.gone.is_set():
            raise WireError(Failure.LINK_LOST, "the link was lost")
        if not self._closed:
            await self._process.exited.wait()
            if self._process.code == _SSH_FAILED:
                await self._judge()
        return data

    async def _judge(self) -> None:
        """Raise unless 255 is the command's own code."""
        if self._words.exists():
            found = _NO_SESSION.search(self._words.read_text(errors="replace"))
            if found:
                raise WireError(Failure.NO_CHANNEL, f"sshd opened no channel: {found[1].strip()}")
        if await self._master.is_lost():
            raise WireError(Failure.LINK_LOST, "the link was lost")


class Forward:
    """A TCP connection made by the host; the ByteStream of the system's ssh."""

    def __init__(self, process: Process, master: Master) -> None:
        self._process = process
        self._master = master

    async def read(self, most: int = READ_BYTES) -> bytes:
        data = await self._process.out.read(most)
        if not data and self._process.code == _SSH_FAILED and await self._master.is_lost():
            raise WireError(Failure.LINK_LOST, "the link was lost")
        return data

    async def write(self, data: bytes) -> None:
        try:
            await self._process.write(data)
        except WireError:
            raise WireError(Failure.CLOSED, "connection closed by the server") from None

    def ended(self) -> bool:
        return self._process.out.at_eof() or self._process.exited.is_set()

    async def close(self) -> None:
        self._master.forget(self)
        await self._process.end()


async def _connected(process: Process) -> bool:
    """Whether the host made the connection, once ssh knows."""
    while line := await process.err.readline():
        if _OPENED in line:
            return True
    return False
