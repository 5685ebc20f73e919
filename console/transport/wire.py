"""Wire: the one way to a host, whatever is underneath.

Owns the port that `local` and `ssh` fill, the classes channels come in and the state of the link
as data. It never interprets what passes; whatever fails is a `WireError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from console.model.failure import Failure
from console.model.fleet import Host

READ_BYTES = 65_536
"""How much one read of a stream asks for."""


class Use(StrEnum):
    """What a command is for; each class has its own channels and waits for one of them only."""

    TAIL = "tail"
    READ = "read"
    ACT = "act"


CHANNELS: dict[Use, int] = {Use.TAIL: 5, Use.READ: 2, Use.ACT: 1}
"""Commands of each class at once on one host; together below sshd's MaxSessions of 10."""


class LinkState(StrEnum):
    """The state of the one connection to a host."""

    CONNECTING = "connecting"
    UP = "up"
    LOST = "lost"
    REFUSED = "refused"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class LinkSeen:
    """The link changed; texts are not yet cleaned.

    Attributes:
        detail: further lines for a person: fingerprints, what is ignored, what to do next.
        rtt_us: time the connection's TCP handshake took, name lookup included, where known.
    """

    state: LinkState
    failure: Failure | None = None
    why: str = ""
    detail: tuple[str, ...] = ()
    rtt_us: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended: exit code (negative or above 128 for a signal) and its output."""

    code: int
    out: bytes
    err: bytes


class Stream(Protocol):
    """A command that runs; its two outputs are read side by side, by one reader each."""

    async def read(self, most: int = READ_BYTES) -> bytes:
        """The next bytes of standard output, b"" at its end.

        Raises:
            WireError: the link was lost.
        """
        ...

    async def read_err(self, most: int = READ_BYTES) -> bytes:
        """The same for standard error."""
        ...

    async def write(self, data: bytes) -> None:
        """Give it input; WireError when it takes no more or the link was lost."""
        ...

    async def close(self) -> None:
        """Let go of standard input and end the command. Safe to repeat."""
        ...


class ByteStream(Protocol):
    """A TCP connection made on the host."""

    async def read(self, most: int = READ_BYTES) -> bytes:
        """The next bytes, b"" at the end; WireError when the connection broke."""
        ...

    async def write(self, data: bytes) -> None:
        """Send all of it; WireError when the connection broke."""
        ...

    def ended(self) -> bool:
        """Whether the other side has closed and everything it sent was read."""
        ...

    async def close(self) -> None:
        """Drop the connection. Safe to repeat."""
        ...


class Wire(Protocol):
    """One host. Everything raises WireError; while the link is down, at once."""

    @property
    def host(self) -> Host:
        """The host it leads to."""
        ...

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
        """Run a command to its end, `Host.enter` before it unless it is to run `outside`.

        A program that is not there is exit code 127, one that may not be run 126. The deadline
        counts from when the link is up.

        Raises:
            WireError: TIMEOUT past the deadline (the command is ended), TOO_LARGE when an output
                is longer than `most_bytes`, or the link's own failure.
        """
        ...

    async def open(self, argv: Sequence[str], *, use: Use = Use.TAIL) -> Stream:
        """Start a command that runs until it is closed, `Host.enter` before it."""
        ...

    async def connect(self, host: str, port: int) -> ByteStream:
        """A TCP connection to an address as seen from the host."""
        ...

    def links(self) -> AsyncIterator[LinkSeen]:
        """The state of the link now and each later one; ends after CLOSED. Starts connecting."""
        ...

    async def up(self) -> None:
        """Return once the link is up; starts connecting.

        Raises:
            WireError: the wire was closed.
        """
        ...

    def retry(self) -> None:
        """Do not wait any longer before the next attempt to connect."""
        ...

    async def close(self) -> None:
        """End every command and the connection. Safe to repeat."""
        ...
