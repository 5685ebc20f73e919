"""What a remote command prints, without what its login shell prints before it.

Owns finding the mark that parts the two. It never buffers more than one read beyond it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from console.model.failure import Failure, WireError
from console.transport.wire import READ_BYTES

_MOST_NOISE = 262_144


class Output:
    """One output of a remote command, from after the mark on."""

    def __init__(self, read: Callable[[int], Awaitable[bytes]], mark: bytes) -> None:
        self._next = read
        self._line = mark + b"\n"
        self._begun = False

    async def read(self, most: int) -> bytes:
        """The next bytes, b"" at the end."""
        if not self._begun:
            self._begun = True
            if first := await self._after_mark():
                return first
        return await self._next(most)

    async def begun(self) -> None:
        """Return once the mark was read; nothing may follow it yet.

        Raises:
            WireError: REMOTE when it does not come.
        """
        self._begun = True
        await self._after_mark()

    async def all(self, most: int) -> bytes:
        """Everything; WireError TOO_LARGE beyond `most` bytes."""
        parts: list[bytes] = []
        held = 0
        while part := await self.read(READ_BYTES):
            parts.append(part)
            held += len(part)
            if held > most:
                raise WireError(Failure.TOO_LARGE, f"more than {most:,} bytes of output")
        return b"".join(parts)

    async def _after_mark(self) -> bytes:
        noise = b""
        while True:
            part = await self._next(READ_BYTES)
            noise += part
            before, found, rest = noise.partition(self._line)
            if found:
                return rest
            if not part or len(noise) > _MOST_NOISE:
                shown = before.decode("utf-8", "replace").strip().rpartition("\n")[2]
                why = "the login shell ran no command" + (f": {shown}" if shown else "")
                raise WireError(Failure.REMOTE, why)
