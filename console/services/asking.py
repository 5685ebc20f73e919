"""What is asked over HTTP at each address of a fleet: health, what runs there, its figures; and on
demand a token, or how the GPUs beneath are joined.

Owns that two servers listed at one address are asked once, and the pause for a timed run. Emits
through the services that it starts and by itself only what was asked for on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from console.model.clock import Clock, Pace
from console.model.failure import WireError
from console.model.fleet import Fleet, Server
from console.model.mask import Masks
from console.model.text import clean
from console.services.engine import find, loaded
from console.services.health import PATH, ask_once, health
from console.services.probe import Probed, ask_token, probed_events
from console.services.pulse import Pulse
from console.services.running import Running
from console.services.status import status
from console.services.topology import joined
from console.stream.events import Event
from console.stream.host_events import GpusJoined
from console.stream.server_events import HealthSeen
from console.stream.timeline import Timeline
from console.transport.http import Http
from console.transport.wire import Wire


class Asking:
    """Requests to addresses; a server's name stands for the address it is listed at."""

    def __init__(
        self,
        fleet: Fleet,
        wire: Callable[[str], Wire],
        http: Callable[[str], Http],
        running: Running,
        timeline: Timeline,
        clock: Clock,
        pace: Pace,
        masks: Masks,
    ) -> None:
        self._wire = wire
        self._http = http
        self._running = running
        self._timeline = timeline
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._addresses = addresses(fleet)
        self._pulses = {place[0].name: Pulse() for place in self._addresses.values()}
        self._paused: dict[str, set[str]] = {}
        self._answers: dict[str, list[asyncio.Future[HealthSeen]]] = {}

    async def ask_health(self, server: str, path: str = PATH) -> HealthSeen:
        """Ask now and give the answer, which is also emitted; never a second request at a time."""
        leader = self._leader(server)
        polling = self._running.task(f"health {leader}")
        if path == PATH and polling is not None:
            answer: asyncio.Future[HealthSeen] = asyncio.get_running_loop().create_future()
            self._answers.setdefault(server, []).append(answer)
            self._pulses[leader].ask.set()
            either: set[asyncio.Future[Any]] = {answer, polling}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
        entry = next(one for one in self._addresses[server] if one.name == server)
        seen = await ask_once(entry, self._http(server), self._pace, self._masks, path)
        self._timeline.emit(seen)
        return seen

    async def ask_token(self, server: str) -> Probed:
        """Have what runs at a server's address make one token; the result is also emitted.

        Nothing else is on its way there meanwhile, and nothing is sent during a timed run.
        """
        leader = self._leader(server)
        if leader in self._paused:
            return Probed("", 0, "a timed run is on its way: nothing is sent")
        place, http, pulse = self._addresses[leader], self._http(leader), self._pulses[leader]
        async with pulse.health_turn, pulse.status_turn:
            found = await find(place[0].url, http, self._pace.read_deadline_s)
            if found.dialect is None:
                return Probed("", 0, found.why, found.failure)
            probed = await ask_token(place[0], http, found.dialect, found.model, self._pace)
        names = [entry.name for entry in loaded(found, place)]
        for event in probed_events(names, probed, self._masks):
            self._timeline.emit(event)
        return probed

    async def read_topology(self, server: str) -> GpusJoined | str:
        """How the GPUs of a server's host are joined, emitted too; or why that is not known.

        Raises:
            WireError: the host cannot be asked.
        """
        found = await joined(self._wire(server), self._pace, self._masks)
        if isinstance(found, GpusJoined):
            self._timeline.emit(found)
        return found

    def follow_health(self, server: str) -> None:
        """Keep asking for health. Safe to repeat."""
        leader = self._leader(server)
        http = self._http(leader)
        self._running.start(f"health {leader}", leader, lambda: self._health(leader, http))

    def follow_status(self, server: str) -> None:
        """Find out what answers and poll its figures, while health says that it is up."""
        leader = self._leader(server)
        http, pulse, place = self._http(leader), self._pulses[leader], self._addresses[server]
        self._running.start(
            f"status {leader}",
            leader,
            lambda: status(
                place,
                http,
                self._clock,
                self._pace,
                self._masks,
                pulse,
                lambda name: self._timeline.state.servers.get(name),
            ),
        )

    def doubt(self, server: str) -> None:
        """Ask for health now rather than at its time, where it is asked at all."""
        self._pulses[self._leader(server)].ask.set()

    async def stop(self, server: str, *kinds: str) -> set[str]:
        """End `health` or `status`; which of them ran."""
        leader = self._leader(server)
        ran = {kind for kind in kinds if self._running.task(f"{kind} {leader}") is not None}
        for kind in ran:
            await self._running.stop(f"{kind} {leader}")
        return ran

    async def pause(self, server: str) -> None:
        """Send nothing and have nothing on its way until `resume`: for a timed run.

        What is on its way may end first, for a moment: a server goes on with a request that is
        only dropped.
        """
        leader = self._leader(server)
        turns = (self._pulses[leader].health_turn, self._pulses[leader].status_turn)
        async with AsyncExitStack() as held:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.health_starting_s):
                    for turn in turns:
                        await held.enter_async_context(turn)
            ran = await self.stop(server, "health", "status")
        self._paused.setdefault(leader, set()).update(ran)

    def resume(self, server: str) -> None:
        """Ask again for what was asked before `pause`."""
        ran = self._paused.pop(self._leader(server), set())
        if "health" in ran:
            self.follow_health(server)
        if "status" in ran:
            self.follow_status(server)

    def _leader(self, server: str) -> str:
        return self._addresses[server][0].name

    async def _health(self, leader: str, http: Http) -> AsyncGenerator[Event, None]:
        place, pulse = self._addresses[leader], self._pulses[leader]
        await _reached(self._wire(leader), place[0])
        events = health(
            place[0], http, self._clock, self._pace, self._masks, pulse.ask, pulse.health_turn
        )
        async with aclosing(events):
            async for seen in events:
                pulse.saw(seen)
                for entry in place:
                    own = replace(seen, server=clean(entry.name, self._masks))
                    yield own
                    for answer in self._answers.pop(entry.name, []):
                        if not answer.done():
                            answer.set_result(own)


async def _reached(wire: Wire, server: Server) -> None:
    """Have the link up before health is timed: what a login takes is no slowness of a server."""
    try:
        host, port = urlsplit(server.url).hostname, urlsplit(server.url).port
        if host is not None and port is not None:
            stream = await wire.connect(host, port)
            await stream.close()
    except (WireError, ValueError):
        return  # health says the same in its own words


def addresses(fleet: Fleet) -> dict[str, tuple[Server, ...]]:
    """For each server's name all that are listed at its address: one host and one URL."""
    places: dict[tuple[str, str], list[Server]] = {}
    for server in fleet.servers:
        places.setdefault((fleet.slot(server.slot).host, server.url.rstrip("/")), []).append(server)
    return {server.name: tuple(place) for place in places.values() for server in place}
