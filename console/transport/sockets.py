"""Plain TCP from this machine, and what its errors mean.

Owns the words for errors of the operating system's network. It never retries.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from console.model.failure import Failure, WireError
from console.transport.wire import READ_BYTES

_NO_NAME = ("not known", "no address", "resolve", "resolution", "nodename")
"""How resolvers say that a name is none."""


class Connection:
    """One TCP connection; the ByteStream of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.on_close: Callable[[], None] = lambda: None

    async def read(self, most: int = READ_BYTES) -> bytes:
        try:
            return await self._reader.read(most)
        except OSError as error:
            raise broken(error) from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise broken(error) from error

    def ended(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    async def close(self) -> None:
        # Nothing is waited for: what the other side still sends is of no interest.
        self._writer.transport.abort()
        self.on_close()


async def dial(host: str, port: int) -> Connection:
    """Connect.

    Raises:
        WireError: NO_HOST, REFUSED, TIMEOUT or CLOSED.
    """
    try:
        return Connection(*await asyncio.open_connection(host, port))
    except OSError as error:
        raise unreachable(error, f"{host}:{port}") from error


def unreachable(error: OSError, where: str) -> WireError:
    """Why a connection could not be made."""
    if isinstance(error, socket.gaierror):
        return WireError(Failure.NO_HOST, f"no such host: {where} ({error.strerror})")
    if isinstance(error, ConnectionRefusedError) or "refused" in str(error).lower():
        return WireError(Failure.REFUSED, "connection refused")
    if isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return WireError(Failure.CLOSED, f"{where} closed the connection")
    if isinstance(error, TimeoutError):
        return WireError(Failure.TIMEOUT, f"no answer from {where}")
    return WireError(Failure.NO_HOST, f"{where}: {error.strerror or error}")


def refused_by_host(reason: str, where: str) -> WireError:
    """Why a host made no TCP connection, in the words that its sshd passes on."""
    words = reason.lower()
    # Not every sshd passes on the system's words; some its number for them, which is Linux's.
    if "refused" in words or "[errno 111]" in words:
        return WireError(Failure.REFUSED, "connection refused")
    if "timed out" in words or "[errno 110]" in words:
        return WireError(Failure.TIMEOUT, f"no answer from {where}")
    if any(unknown in words for unknown in _NO_NAME):
        return WireError(Failure.NO_HOST, f"no such host: {where} ({reason})")
    return WireError(Failure.NO_HOST, f"{where}: {reason}")


def broken(error: OSError) -> WireError:
    """Why a connection that was made ended."""
    if isinstance(error, ConnectionResetError):
        return WireError(Failure.CLOSED, "connection reset by the server")
    return WireError(Failure.CLOSED, f"connection broken: {error.strerror or error}")
