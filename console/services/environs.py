"""The environments of a fleet's servers: which are read, and one reading on demand.

Owns that a server is read by one reader at a time, and that none is read while another server of
its slot is up: its port leads to that other one's processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.model.clock import Clock, Pace
from console.model.failure import WireError
from console.model.fleet import Fleet, Server
from console.model.mask import Masks
from console.model.text import clean
from console.services.environ import Reader, environ, port_of
from console.services.running import Running
from console.stream.server_events import ProcessSeen
from console.stream.timeline import Timeline
from console.transport.wire import Wire

_AT_ONCE = 4
"""Readings under way in the whole fleet: fifty hosts are not to be asked in one moment."""


class Environs:
    """Readers by server name; KeyError for a name the fleet has not."""

    def __init__(
        self,
        fleet: Fleet,
        wire_of: Callable[[str], Wire],
        running: Running,
        timeline: Timeline,
        clock: Clock,
        pace: Pace,
        masks: Masks,
    ) -> None:
        self._fleet = fleet
        self._wire_of = wire_of
        self._running = running
        self._timeline = timeline
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._asked: dict[str, asyncio.Event] = {}
        self._paused: set[str] = set()
        self._turn = asyncio.Semaphore(_AT_ONCE)

    def follow(self, server: str) -> None:
        """Keep reading the environment of what holds a server's port. Safe to repeat."""
        wire = self._wire_of(server)
        asked = self._asked.setdefault(server, asyncio.Event())
        self._running.start(
            f"environ {server}",
            server,
            lambda: environ(
                self._reader(server),
                wire,
                self._clock,
                self._pace,
                self._masks,
                server,
                lambda: self._may_be_up(server),
                asked,
                self._turn,
            ),
        )

    async def stop(self, server: str) -> None:
        """Read it no more until told to."""
        await self._running.stop(f"environ {server}")

    async def pause(self, server: str) -> None:
        """Have no reading under way until `resume`: for a timed run."""
        if self._running.task(f"environ {server}") is not None:
            await self.stop(server)
            self._paused.add(server)

    def resume(self, server: str) -> None:
        """Go on reading what was read before `pause`."""
        if server in self._paused:
            self._paused.discard(server)
            self.follow(server)

    def again(self, server: str) -> None:
        """Read a server that is followed now, not at its next turn."""
        if server in self._asked:
            self._asked[server].set()

    async def read(self, server: str, *, answers: bool = False) -> ProcessSeen:
        """Read now; all that was found is emitted, the process is also given. `answers`: this very
        server is known to hold its port, by its own word and not by its arguments.

        Raises:
            WireError: the host was not reached.
        """
        try:
            events = await self._reader(server, answers=answers).read()
        except WireError as error:
            why = clean(error.why, self._masks)
            self._timeline.emit(ProcessSeen(clean(server, self._masks), why=why))
            raise
        for event in events:
            self._timeline.emit(event)
        return next(event for event in events if isinstance(event, ProcessSeen))

    def _reader(self, server: str, *, answers: bool = False) -> Reader:
        entry = self._fleet.server(server)
        place = self._place(entry)
        contested = not answers and any(
            self._place(other) == place and other.arm is not entry.arm
            for other in self._fleet.servers
        )
        wire = self._wire_of(server)
        return Reader(
            entry, place[1], wire, self._clock, self._pace, self._masks, contested=contested
        )

    def _place(self, server: Server) -> tuple[str, int]:
        return self._fleet.host_of(server).name, port_of(self._fleet, server)

    def _may_be_up(self, server: str) -> bool:
        cell = self._timeline.state.servers.get(server)
        arm = cell.arm if cell is not None else None
        return arm is None or arm.arm is not None
