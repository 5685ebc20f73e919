"""The services of one fleet at work: links and GPUs of hosts, health, status and log of servers.

Owns which of them run and that a defect in one stops none of the others. It knows no front end;
everything it learns goes to the timeline.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager

from console.model import fleet as f
from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.failure import WireError
from console.model.fleet import Fleet, LogId, LogSource, Server
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.allreduce import AllReduces
from console.services.asking import Asking
from console.services.bench_start import Benchmarks
from console.services.collective import Collective
from console.services.credential import key_headers
from console.services.environs import Environs
from console.services.gpu import gpus
from console.services.health import PATH
from console.services.reading import Reading
from console.services.running import Running
from console.services.tail import tail
from console.stream.events import Event
from console.stream.fact import NOTHING, Link
from console.stream.host_events import HostListed, LinkChanged
from console.stream.server_events import HealthSeen, ServerListed
from console.stream.session_events import Noticed
from console.stream.timeline import Timeline
from console.transport.http import Http
from console.transport.wire import Wire
from console.transport.wires import wire_to


@asynccontextmanager
async def watch_fleet(
    fleet: Fleet,
    timeline: Timeline,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    ask: Ask,
    *,
    on_demand: bool = False,
) -> AsyncIterator[Watch]:
    """Watch a fleet for as long as the body runs; then every connection is closed.

    All of it starts at once, or with `on_demand` when asked for.

    Raises:
        WireError: a host cannot be reached in the way its entry says, CONFIG.
    """
    wires = {host.name: wire_to(host, clock, pace, ask) for host in fleet.hosts}
    watch = Watch(fleet, timeline, wires, clock, pace, masks)
    timeline.open(listed(fleet, masks))
    try:
        if not on_demand:
            for server in fleet.servers:
                watch.follow_health(server.name)
                watch.follow_status(server.name)
                watch.follow_log(server.name)
                watch.environs.follow(server.name)
            for host in fleet.hosts:
                watch.follow_gpus(host.name)
        yield watch
    finally:
        await watch.close()


class Watch:
    """Handles of what is watched, by server name; KeyError for a name the fleet has not."""

    def __init__(
        self,
        fleet: Fleet,
        timeline: Timeline,
        wires: dict[str, Wire],
        clock: Clock,
        pace: Pace,
        masks: Masks,
    ) -> None:
        self.fleet = fleet
        self._timeline = timeline
        self._wires = wires
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._running = Running(timeline.emit, clock, pace, masks)
        self._https: dict[str, Http] = {}
        self.asking = Asking(
            fleet, self.wire_of, self.http, self._running, timeline, clock, pace, masks
        )
        self.environs = Environs(fleet, self.wire_of, self._running, timeline, clock, pace, masks)
        self.all_reduces = AllReduces(fleet, self.wire_of, clock, pace, masks)
        self.benchmarks = Benchmarks(
            fleet, self.wire_of, self.http, self.pause, self.resume, timeline, clock, pace, masks,
            self.environs.read,
        )  # fmt: skip

    def wire(self, host: str) -> Wire:
        """The wire to a host, its link watched from now on."""
        wire = self._wires[host]
        self._running.start(f"link {host}", host, lambda: _links(wire, self._masks))
        return wire

    def wire_of(self, server: str) -> Wire:
        """The wire to the host of a server."""
        return self.wire(self.fleet.host_of(self.fleet.server(server)).name)

    def http(self, server: str) -> Http:
        """Requests to a server, its key in their headers."""
        if server not in self._https:
            try:
                headers = key_headers(self.fleet.server(server), self._masks)
            except WireError as error:
                headers = {}
                name, why = clean(server, self._masks), clean(error.why, self._masks)
                self._timeline.emit(Noticed(name, Clean("warning"), why))
            self._https[server] = Http(
                self.wire_of(server), self._clock, headers, self.fleet.server(server).ca_file
            )
        return self._https[server]

    async def ask_health(self, server: str, path: str = PATH) -> HealthSeen:
        """Ask now and give the answer, which is also emitted; never a second request at a time."""
        return await self.asking.ask_health(server, path)

    def follow_health(self, server: str) -> None:
        """Keep asking for the health of what answers at a server's address. Safe to repeat."""
        self.asking.follow_health(server)

    async def stop_health(self, server: str) -> None:
        """Ask no more until told to."""
        await self.asking.stop(server, "health")

    def follow_status(self, server: str) -> None:
        """Find out what answers at a server's address and poll its figures. Safe to repeat.

        Waits for health: without that it asks nothing.
        """
        self.asking.follow_status(server)

    async def pause(self, server: str) -> None:
        """Send a server nothing, and have nothing on its way, until `resume`: for a timed run."""
        await self.asking.pause(server)
        await self.environs.pause(server)

    def resume(self, server: str) -> None:
        """Ask again for what was asked before `pause`."""
        self.asking.resume(server)
        self.environs.resume(server)

    def follow_gpus(self, host: str) -> None:
        """Keep reading the GPUs of a host. Safe to repeat."""
        wire = self.wire(host)
        self._running.start(
            f"gpus {host}", host, lambda: gpus(wire, self._clock, self._pace, self._masks)
        )

    def follow_log(self, server: str, last_lines: int | None = 200) -> LogId | None:
        """Follow a server's log from its last lines on; None when it has no log.

        Safe to repeat: a log that is followed is left alone.
        """
        entry = self.fleet.server(server)
        if entry.log is None:
            return None
        source = entry.log
        self._running.start(
            f"log {entry.log_id}", server, lambda: self._log(entry, source, last_lines)
        )
        return entry.log_id

    async def stop_log(self, server: str) -> None:
        """Follow it no longer; nothing stays running on the host."""
        await self._running.stop(f"log {self.fleet.server(server).log_id}")

    async def close(self) -> None:
        """End every service and connection."""
        await self._running.close()
        for http in self._https.values():
            await http.close()
        for wire in self._wires.values():
            await wire.close()

    async def _log(
        self, server: Server, source: LogSource, last_lines: int | None
    ) -> AsyncGenerator[Event, None]:
        known = self._timeline.state.logs.get(server.log_id)
        asking, name = self.asking, server.name
        reading = Reading(
            server, self._timeline, self._clock, self._pace, self._masks, lambda: asking.doubt(name)
        )
        collective = Collective(server, self._masks)
        events = tail(
            server.log_id,
            server.name,
            source,
            self.wire_of(server.name),
            self._clock,
            self._pace,
            self._masks,
            last_lines=last_lines,
            first=known.mark.end if known else 0,
        )
        async with aclosing(events):
            async for event in events:
                yield event
                for found in (*reading.take(event), *collective.take(event)):
                    yield found


async def _links(wire: Wire, masks: Masks) -> AsyncGenerator[Event, None]:
    name = clean(wire.host.name, masks)
    async for seen in wire.links():
        why = clean(seen.why, masks) if seen.why else NOTHING
        detail = tuple(clean(line, masks) for line in seen.detail)
        yield LinkChanged(name, Link(seen.state.value), seen.failure, why, detail, seen.rtt_us)


def listed(fleet: Fleet, masks: Masks) -> Iterator[HostListed | ServerListed]:
    """What the fleet file says, as events."""
    for host in fleet.hosts:
        alias = clean(host.ssh, masks) if host.wire is not f.Wire.LOCAL else NOTHING
        yield HostListed(clean(host.name, masks), host.wire, alias, host.read_only)
    for server in fleet.servers:
        slot = fleet.slot(server.slot)
        yield ServerListed(
            clean(server.name, masks),
            clean(slot.host, masks),
            clean(slot.name, masks),
            slot.port,
            server.arm,
            server.engine,
            clean(server.url, masks),
        )
