"""What a benchmark needs before it can begin: who answers at the address, and where to time it.

Owns finding engine and model and choosing the worker's place. Starts no request that makes tokens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from console.bench.job import worker_argv
from console.bench.plan import Plan
from console.bench.provenance import Group
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Engine, Fleet, Host, Server
from console.model.mask import Masks
from console.model.text import Clean
from console.services.bench import Benching
from console.services.bench_load import GpuLoad
from console.services.bench_run import Requests
from console.services.bench_taken import Taking
from console.services.circumstances import environment_of, server_says
from console.services.credential import key_headers
from console.services.engine import Found, find
from console.services.timing import OWN_PYTHON, THROUGH, Place, place_of
from console.services.tunnel import tunnel
from console.stream.server_events import HealthSeen
from console.stream.state import Item, State
from console.stream.timeline import Timeline
from console.transport.http import Http
from console.transport.local import LocalWire
from console.transport.wire import Wire

HEALTH = "/health"


class ReadEnvironment(Protocol):
    """Reads a server's environment into the stream, see `Environs.read`."""

    async def __call__(self, server: str, *, answers: bool = False) -> object: ...


class OtherArm(Exception):
    """What answers is the other arm; the text says which, and what shows it."""


class Probes:
    """How many health requests a person has sent to a server since a benchmark of it began: each
    may cost it a token."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._sent = 0

    def take(self, item: Item, state: State) -> None:
        """One item of the timeline."""
        del state
        self._sent += isinstance(item, HealthSeen) and item.server == self._server

    def __call__(self) -> int:
        return self._sent


async def who_answers(server: Server, http: Http, deadline_s: float) -> Found:
    """Engine, version, model and arguments at a server's address.

    Raises:
        WireError: nothing answers there; NOT_HTTP for an engine that is not known.
    """
    found = await find(server.url, http, deadline_s)
    if not found.answered:
        # Why nothing answers stands in the error of any request.
        await http.get(server.url.rstrip("/") + HEALTH, deadline_s=deadline_s)
    if found.engine is None:
        raise WireError(Failure.NOT_HTTP, f"no known engine answers: {found.why}")
    return found


def authorities(server: Server) -> str:
    """PEM text of the authorities trusted for a server, "" for the system's own.

    Raises:
        WireError: its file cannot be read, UNREADABLE.
    """
    if not server.ca_file:
        return ""
    try:
        return Path(server.ca_file).expanduser().read_text("ascii")
    except (OSError, UnicodeError) as error:
        raise WireError(Failure.UNREADABLE, f"ca_file {server.ca_file}: {error}") from error


@asynccontextmanager
async def prepared(
    bench: Clean,
    server: Server,
    arm: Arm,
    plan: Plan,
    wire: Wire,
    http: Http,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    probes: Callable[[], int],
    load: GpuLoad,
    environment: Callable[[bool], Awaitable[Group]],
) -> AsyncIterator[Benching]:
    """A benchmark that may begin; what it needs is open for as long as the body runs.
    `environment` reads it; it is told whether the server itself says that it is the one meant.

    Raises:
        WireError: the server does not answer, or its key cannot be had.
        OtherArm: what answers runs with a draft where none was meant, or without.
    """
    found = await who_answers(server, http, pace.read_deadline_s)
    running = found.running
    if running is not None and running.arm is not None and running.arm is not arm:
        raise OtherArm(f"what answers is no {arm.value} arm: {running}")
    headers = key_headers(server, masks)
    engine = found.engine or Engine.AUTO
    said = server_says(server, found, masks)

    def benching(url: str, timed_on: Wire, place: Place) -> Benching:
        requests = Requests(
            server, engine, found.model, url, plan.sampling, http, clock, pace, headers, probes,
            authorities(server), plan.dialect,
        )  # fmt: skip
        version = f"{engine.value} {found.version}".strip()
        taking = Taking(
            bench, version, said, requests, wire, masks,
            lambda: environment(running is not None and running.arm is arm),
        )  # fmt: skip
        return Benching(bench, arm, plan, requests, timed_on, place, masks, load, taking)

    async with _timed_at(server.url, wire, pace.read_deadline_s) as place:
        yield benching(*place)


@asynccontextmanager
async def _timed_at(
    url: str, wire: Wire, deadline_s: float
) -> AsyncIterator[tuple[str, Wire, Place]]:
    """The server's address as a worker sees it, the wire to that worker, and its place: beside the
    server, or on this machine where the host has no Python."""
    place = await place_of(url, wire, deadline_s)
    if place is not None:
        yield url, wire, place
        return
    at = urlsplit(url)
    here = LocalWire(Host("this machine"))
    text = f"this machine, through the connection to {wire.host.name} (it has no python3)"
    try:
        async with tunnel(wire, at.hostname or "127.0.0.1", at.port or 80) as port:
            near = urlunsplit((at.scheme, f"127.0.0.1:{port}", at.path, "", ""))
            yield near, here, Place(text, worker_argv(OWN_PYTHON), THROUGH)
    finally:
        await here.close()


class Benchmarks:
    """Benchmarks of a fleet's servers; KeyError for a name the fleet has not."""

    def __init__(
        self,
        fleet: Fleet,
        wire_of: Callable[[str], Wire],
        http: Callable[[str], Http],
        pause: Callable[[str], Awaitable[None]],
        resume: Callable[[str], None],
        timeline: Timeline,
        clock: Clock,
        pace: Pace,
        masks: Masks,
        read_environment: ReadEnvironment,
    ) -> None:
        self._read_environment = read_environment
        self._fleet = fleet
        self._wire_of = wire_of
        self._http = http
        self._pause = pause
        self._resume = resume
        self._timeline = timeline
        self._clock = clock
        self._pace = pace
        self._masks = masks

    @asynccontextmanager
    async def begin(
        self, bench: Clean, server: str, arm: Arm, plan: Plan
    ) -> AsyncIterator[Benching]:
        """A benchmark of a server, which is asked for nothing else as long as the body runs.

        Raises:
            WireError: the server does not answer, or its key cannot be had.
        OtherArm: what answers runs with a draft where none was meant, or without.
        """
        entry, probes = self._fleet.server(server), Probes(server)
        load = GpuLoad(self._fleet.host_of(entry).name)
        await self._pause(server)
        self._timeline.subscribe(probes.take)
        self._timeline.subscribe(load.take)
        try:
            async with prepared(
                bench, entry, arm, plan, self._wire_of(server), self._http(server),
                self._clock, self._pace, self._masks, probes, load,
                lambda answers: self._environment(server, answers),
            ) as found:  # fmt: skip
                yield found
        finally:
            self._timeline.unsubscribe(probes.take)
            self._timeline.unsubscribe(load.take)
            self._resume(server)

    async def _environment(self, server: str, answers: bool) -> Group:
        try:
            await self._read_environment(server, answers=answers)
        except WireError as error:
            return Group({}, f"environment: {error.why}")
        return environment_of(self._timeline.state.servers[server])
