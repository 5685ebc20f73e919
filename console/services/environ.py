"""Reading what is really in a server's environment: every process that can tell, in one command.

Owns which process counts as what and how much each of them tells. A block that a renamed process
has overwritten says nothing about what it lacks; the SSH shell's own environment is never asked.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit

from console.model.clock import Clock, Pace, utc_text
from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Engine, Fleet, Server
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.waiting import sleep_or
from console.nccl.catalogue import is_allowed
from console.nccl.importing.environ import PARTLY, entries, unreadable
from console.nccl.importing.read import import_source
from console.services.container import Configured, configured
from console.services.environ_said import CutShort, File, Process, Said, read_said
from console.services.environ_script import environ_argv
from console.services.nccl_file import Spoken, nccl_settings
from console.services.ranks import named
from console.services.recipe_file import file_values
from console.stream.environment import GONE
from console.stream.events import Event
from console.stream.fact import NOTHING, Completeness, Pairs
from console.stream.host_events import HostSeen
from console.stream.server_events import EnvRead, ProcessSeen
from console.transport.wire import Wire

_SKEW_US = 2_000_000
_FORWARDERS = frozenset({"docker-proxy", "rootlessport", "slirp4netns"})
_DRAFTS = re.compile(r"--?(?:speculative[-_]|spec-|draft|model-draft|md$)")


class Reader:
    """Reads one server's environment and remembers what was told of it.

    `contested`: a server of the other arm has the same port, so the arguments decide whose it is.
    """

    def __init__(
        self,
        server: Server,
        port: int,
        wire: Wire,
        clock: Clock,
        pace: Pace,
        masks: Masks,
        *,
        contested: bool = False,
    ) -> None:
        self._server = server
        self._port = port
        self._wire = wire
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._contested = contested
        self._told: dict[str, EnvRead] = {}
        self._machine: HostSeen | None = None

    async def read(self) -> list[Event]:
        """One reading: one command on the host. Sources that say what they said are left out.

        Raises:
            WireError: the host was not reached, or its answer is not whole.
        """
        recipe = self._server.recipe
        path = recipe.env_file if recipe is not None else ""
        if recipe is not None and path and not path.startswith("/"):
            path = f"{recipe.cwd.rstrip('/')}/{path}"
        before = self._clock.utc()
        deadline_s = self._pace.read_deadline_s * self._pace.scale
        argv = environ_argv(self._port, path)
        done, container = await asyncio.gather(
            self._wire.run(argv, deadline_s=deadline_s, most_bytes=4 * 1_048_576),
            configured(self._wire, deadline_s),
        )
        middle = before + (self._clock.utc() - before) / 2
        try:
            said = read_said(done.out)
        except CutShort as error:
            told = done.err.decode("utf-8", "replace").strip().splitlines()[-1:]
            why = f"environment: {error}" + (f": {told[0]}" if told else "")
            raise WireError(Failure.REMOTE, why) from error
        if said.launcher is not None and _name(said.launcher) in _FORWARDERS:
            said.holder, said.processes = "forwarded", []
        if self._contested and _is_other(said, self._server):
            said.holder = "other"
            said.processes.clear()
            said.files = [file for file in said.files if file.kind == "recipe"]
        nccl = await nccl_settings(self._wire, said, deadline_s)
        # The process comes last: it says that the sources before it are of one reading.
        sources = self._sources(said, container, nccl)
        return [*self._host(said, middle), *sources, self._process(said, container)]

    def _host(self, said: Said, middle: datetime) -> Iterator[HostSeen]:
        skew_us = None
        if said.now is not None:
            skew_us = round((said.now - middle).total_seconds() * 1e6)
        host = clean(self._wire.host.name, self._masks)
        seen = HostSeen(host, self._clean(said.boot_id), self._clean(said.kernel), skew_us)
        old = self._machine
        if old is not None and (old.boot_id, old.kernel) == (seen.boot_id, seen.kernel):
            moved = None not in (old.skew_us, skew_us)
            if not moved or abs((old.skew_us or 0) - (skew_us or 0)) < _SKEW_US:
                return
        self._machine = seen
        yield seen

    def _process(self, said: Said, container: Configured | None) -> ProcessSeen:
        name, launcher = self._clean(self._server.name), said.launcher
        if launcher is None:
            return ProcessSeen(name, why=self._clean(said.unfound(self._port)))
        # The engine's own word for it is exact; a clock tick and the boot time give two seconds.
        started = container.started if container is not None else None
        libraries = [one.library for one in said.processes if one.library]
        return ProcessSeen(
            name,
            launcher.pid,
            _utc(said.moment(launcher.start_ticks)),
            self._clean(said.container or (container.id if container is not None else "")),
            _utc(started or said.moment(said.container_ticks)),
            self._clean(libraries[0]) if libraries else NOTHING,
        )

    def _sources(
        self, said: Said, container: Configured | None, nccl: Spoken | None
    ) -> Iterator[EnvRead]:
        events = (*self._events(said), *self._configured(container), *self._spoken(nccl))
        found: dict[str, EnvRead] = {event.source: event for event in events}
        for source, event in found.items():
            if self._told.get(source) != event:
                yield event
        for source, old in self._told.items():
            if source not in found:
                gone = replace(
                    old,
                    completeness=Completeness.UNREADABLE,
                    values=(),
                    pid=None,
                    why=GONE,
                )
                if old.why != GONE:
                    yield gone
                found[source] = gone
        self._told = found

    def _events(self, said: Said) -> Iterator[EnvRead]:
        launcher = said.launcher
        if launcher is None:
            why = said.unfound(self._port)
            yield self._event("launcher", Completeness.UNREADABLE, (), why)
        for source, process in named(said.processes):
            yield self._of_process(source, process)
        for file in said.files:
            if file.kind == "conf":
                yield self._of_file(f"conf {file.label}", file, "nccl.conf")
        yield from self._recipe(said)

    def _spoken(self, nccl: Spoken | None) -> Iterator[EnvRead]:
        if nccl is not None:
            pairs = self._pairs(nccl[1].items())
            yield self._event("nccl log", Completeness.PARTLY, pairs, pid=nccl[0])

    def _configured(self, container: Configured | None) -> Iterator[EnvRead]:
        if container is not None:
            how = Completeness.UNREADABLE if container.why else Completeness.WHOLE
            values = self._pairs(container.values.items())
            yield self._event("container's configuration", how, values, container.why)

    def _recipe(self, said: Said) -> Iterator[EnvRead]:
        recipe = self._server.recipe
        if recipe is None:
            return
        typed = import_source(shlex.join(recipe.argv), "recipe.sh", "shell").values()
        file = next((one for one in said.files if one.kind == "recipe"), None)
        read = None if file is None else self._of_file("recipe", file, "env")
        if read is None:
            yield self._event("recipe", Completeness.WHOLE, self._pairs(typed.items()))
            return
        both = dict(read.values) | dict(self._pairs(typed.items()))
        why = read.why if read.completeness is not Completeness.WHOLE else NOTHING
        if file is not None and file.state == "none":
            yield self._event("recipe", Completeness.UNREADABLE, tuple(both.items()), read.why)
            return
        yield self._event("recipe", read.completeness, tuple(both.items()), why)

    def _of_file(self, source: str, file: File, kind: str) -> EnvRead:
        if file.state == "shut":
            return self._event(source, Completeness.UNREADABLE, (), file.why)
        if file.state == "none":
            return self._event(source, Completeness.WHOLE, (), "no such file")
        if kind == "env":
            values = file_values(row for _, row in file.rows)
        else:
            values = import_source(file.text(), file.label, kind).values()
        return self._event(source, Completeness.WHOLE, self._pairs(values.items()))

    def _of_process(self, source: str, process: Process) -> EnvRead:
        if process.block is None:
            why = (process.shut or "could not be read").lower()
            if process.uid is not None:
                why += f": the process belongs to uid {process.uid}"
            return self._event(source, Completeness.UNREADABLE, (), why, process.pid)
        why = unreadable(process.block)
        held: dict[str, str] = {}
        for _, name, value in entries(process.block):
            if is_allowed(name):
                held.setdefault(name, value)
        how = Completeness.WHOLE
        if why:
            how = Completeness.PARTLY if why == PARTLY else Completeness.UNREADABLE
        return self._event(source, how, self._pairs(held.items()), why, process.pid)

    def _pairs(self, values: Iterable[tuple[str, str]]) -> Pairs:
        return tuple((self._clean(name), self._clean(value)) for name, value in values)

    def _event(
        self,
        source: str,
        how: Completeness,
        values: Pairs,
        why: str = "",
        pid: int | None = None,
    ) -> EnvRead:
        name = self._clean(self._server.name)
        return EnvRead(name, self._clean(source), how, values, pid, self._clean(why))

    def _clean(self, text: str) -> Clean:
        return clean(text.encode("utf-8", "surrogateescape"), self._masks)


def _is_other(said: Said, server: Server) -> bool:
    """Whether the launcher's arguments are those of the other arm."""
    if said.launcher is None or server.engine is Engine.TRTLLM:
        return False
    drafts = any(_DRAFTS.match(option) for option in said.options)
    return drafts is (server.arm is Arm.BASELINE)


def _name(process: Process) -> str:
    return process.title.rpartition("/")[2]


def _utc(moment: datetime | None) -> Clean:
    return Clean(utc_text(moment)) if moment is not None else NOTHING


def port_of(fleet: Fleet, server: Server) -> int:
    """The port to look for: that of the server's address, else its slot's."""
    parts = urlsplit(server.url)
    slot = fleet.slot(server.slot)
    return parts.port or slot.port or (443 if parts.scheme == "https" else 80)


async def environ(
    reader: Reader,
    wire: Wire,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    server: str,
    wanted: Callable[[], bool],
    asked: asyncio.Event,
    turn: asyncio.Semaphore,
) -> AsyncGenerator[Event, None]:
    """Read now, when the link comes back, when `asked`, and every `environ_s`.

    Nothing is read while `wanted` says that another server of the slot is up.
    """
    failed = ""
    while True:
        asked.clear()
        pause_s = pace.environ_s
        try:
            await wire.up()
            if wanted():
                async with turn:
                    events = await reader.read()
                for event in events:
                    yield event
            failed = ""
        except WireError as error:
            if error.kind is Failure.CLOSED:
                return
            if error.why != failed:
                yield ProcessSeen(clean(server, masks), why=clean(error.why, masks))
            failed, pause_s = error.why, pace.reconnect_first_s
        await sleep_or(clock, pause_s, asked)
