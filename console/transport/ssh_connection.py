"""An SSH connection of asyncssh that is up: commands and TCP connections on it.

Owns what it means when a channel cannot be opened, and that one opened too late is closed again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import asyncssh

from console.model.failure import Failure, WireError
from console.transport.sockets import refused_by_host
from console.transport.ssh_client import Client
from console.transport.ssh_streams import Connection, RemoteCommand

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SshConnection:
    """A connection, and the connections to jump hosts that carry it."""

    name: str
    connection: asyncssh.SSHClientConnection
    client: Client
    jumps: tuple[asyncssh.SSHClientConnection, ...]
    rtt_us: int

    async def start(
        self, line: bytes, mark: bytes, channel: asyncio.Semaphore | None = None
    ) -> RemoteCommand:
        opening = asyncio.ensure_future(
            self.connection.create_process(line, encoding=None, request_pty=False)
        )
        try:
            process = await asyncio.shield(opening)
        except asyncio.CancelledError:
            _undo(opening, lambda opened: opened.close())
            raise
        except (asyncssh.Error, OSError) as error:
            raise self._unopened(error) from error
        return RemoteCommand(process, mark, channel)

    async def connect(self, host: str, port: int) -> Connection:
        opening = asyncio.ensure_future(self.connection.open_connection(host, port, encoding=None))
        try:
            reader, writer = await asyncio.shield(opening)
        except asyncio.CancelledError:
            _undo(opening, lambda opened: opened[1].close())
            raise
        except (asyncssh.Error, OSError) as error:
            raise self._unopened(error, f"{host}:{port}") from error
        return Connection(reader, writer)

    async def lost(self) -> str:
        """Return when it has ended, with the reason."""
        await self.connection.wait_closed()
        error = self.client.lost
        if isinstance(error, OSError) and error.strerror:
            return error.strerror.lower()
        return str(error or "the host closed the connection")

    async def answers(self) -> None:
        """Return at a sign of life; a command that is refused is one too."""
        with contextlib.suppress(asyncssh.Error):
            await self.connection.run("exec true", stdin=asyncssh.DEVNULL)

    async def close(self) -> None:
        """Drop it, and what carried it."""
        for connection in (self.connection, *reversed(self.jumps)):
            connection.abort()
            await connection.wait_closed()

    def _unopened(self, error: asyncssh.Error | OSError, where: str = "") -> WireError:
        """Why a channel could not be opened."""
        if isinstance(error, OSError) or self.connection.is_closed():
            return WireError(Failure.LINK_LOST, "the link was lost")
        code = error.code if isinstance(error, asyncssh.ChannelOpenError) else None
        if code == asyncssh.OPEN_CONNECT_FAILED:
            return refused_by_host(error.reason, where)
        if code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
            return WireError(Failure.NO_CHANNEL, f"sshd of {self.name} forbids forwarding")
        return WireError(Failure.NO_CHANNEL, f"sshd opened no channel: {error.reason}")


def _undo(opening: asyncio.Future[T], close: Callable[[T], None]) -> None:
    """Close what still opens after nobody waits for it, or the host would keep it."""

    def opened(done: asyncio.Future[T]) -> None:
        if not done.cancelled() and done.exception() is None:
            close(done.result())

    opening.add_done_callback(opened)
