"""The worker that times requests, as a child here or on the server's own host.

Owns where it runs, says so, and hands on its records. The clock of a run is the worker's: nothing
here may be taken for a measured time.
"""

from __future__ import annotations

import ipaddress
import platform
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from console.bench.job import (
    Done,
    Garbled,
    Job,
    Ready,
    Record,
    read_record,
    worker_argv,
    worker_preamble,
)
from console.model import fleet as f
from console.model.failure import Failure, WireError
from console.services.parts import Err, Parts
from console.transport.wire import Stream, Use, Wire

MOST_RECORD = 64 * 1024 * 1024
_READY_S = 20.0
OWN_PYTHON = sys.executable
BESIDE = "beside the server"
THROUGH = "through this console's connection"
NETWORK = "over the network"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker runs: `text` for people, `argv` its command, `way` how its requests get to the
    server, which is in every number."""

    text: str
    argv: tuple[str, ...]
    way: str = BESIDE


def version_argv() -> list[str]:
    """Whether the host's Python is one that the worker runs on: `True`."""
    return ["python3", "-c", "import sys; print(sys.version_info >= (3, 9))"]


def elsewhere(url: str, wire: Wire) -> str:
    """The other machine that an address given for this one leads to, "" where it is this one. What
    is read here is then nothing of the server's. Hosts reached by SSH speak of their own."""
    host = (urlsplit(url).hostname or "").lower()
    if wire.host.wire is not f.Wire.LOCAL or wire.host.enter:
        return ""
    if host in ("", "localhost", platform.node().lower()):
        return ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_loopback or address.is_unspecified:
        return ""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))  # only an address of this machine can be bound; nothing is sent
    except OSError:
        return host
    return ""


async def place_of(url: str, wire: Wire, deadline_s: float) -> Place | None:
    """Where to time requests to a server of this host; None when it has no Python of 3.9 or later.

    Raises:
        WireError: the host cannot be asked.
    """
    host = wire.host
    far = elsewhere(url, wire)
    if far:
        return Place(f"this machine, over the network to {far}", worker_argv(OWN_PYTHON), NETWORK)
    if host.wire is f.Wire.LOCAL and not host.enter:
        return Place("this machine, beside the server", worker_argv(OWN_PYTHON))
    done = await wire.run(version_argv(), deadline_s=deadline_s)
    if done.code != 0 or done.out.strip() != b"True":
        return None
    return Place(f"host {host.name}, beside the server", worker_argv())


class Worker:
    """A worker that runs. Close it; that ends a run of its, and what came until then is kept."""

    def __init__(self, stream: Stream, ready: Ready, parts: Parts, rest: bytes) -> None:
        self.ready = ready
        self._stream = stream
        self._parts = parts
        self._held = rest

    @classmethod
    async def start(cls, wire: Wire, place: Place) -> Self:
        """Start it and wait until it takes jobs.

        Raises:
            WireError: it does not start; `why` holds what it said instead.
        """
        stream = await wire.open(place.argv, use=Use.TAIL)
        parts = Parts(stream)
        worker = cls(stream, Ready("", "", 0), parts, b"")
        # Whatever ends the start, a cancel too: no worker may be left behind.
        async with AsyncExitStack() as undo:
            undo.push_async_callback(worker.close)
            await stream.write(worker_preamble())
            match await worker._record(_READY_S):
                case Ready() as ready:
                    worker.ready = ready
                case Garbled(line):
                    raise WireError(Failure.REMOTE, f"the worker said: {line[:200]}")
                case _:
                    raise WireError(Failure.REMOTE, "the worker answered before it was asked")
            undo.pop_all()
        return worker

    async def work(self, job: Job) -> AsyncIterator[Record]:
        """The records of one job, `Done` left out.

        Raises:
            WireError: the link was lost or the worker ended.
        """
        await self._stream.write(job.line())
        quiet_s = job.connect_s + job.stall_s * 2
        while True:
            record = await self._record(quiet_s)
            if isinstance(record, Done):
                return
            yield record

    async def close(self) -> None:
        """End it."""
        await self._parts.close()

    async def _record(self, quiet_s: float) -> Record:
        """The next line, as a record."""
        while True:
            line, found, rest = self._held.partition(b"\n")
            if found:
                self._held = rest
                return read_record(line.decode("utf-8", "replace"))
            if len(self._held) > MOST_RECORD:
                raise WireError(Failure.TOO_LARGE, f"a record of over {MOST_RECORD:,} bytes")
            part = await self._parts.next(quiet_s)
            if part is None:
                raise WireError(Failure.TIMEOUT, f"the worker was silent for {quiet_s:g} s")
            if isinstance(part, Err):
                return Garbled(part.line)
            if not part.data:
                raise WireError(Failure.REMOTE, "the worker ended")
            self._held += part.data
