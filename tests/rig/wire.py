"""A wire of the console that keeps what passed over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.model.fleet import Host
from console.transport.wire import Done, Wire


class Recorded:
    """A wire; `commands` counts what was run over it, `said` is both outputs of each."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.said: list[bytes] = []
        self.commands = 0

    @property
    def host(self) -> Host:
        return self.wire.host

    async def run(self, argv: Sequence[str], **how: Any) -> Done:
        self.commands += 1
        done = await self.wire.run(argv, **how)
        self.said += [done.out, done.err]
        return done

    def __getattr__(self, name: str) -> object:
        return getattr(self.wire, name)
