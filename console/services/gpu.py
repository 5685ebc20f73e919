"""The GPUs of a host: one long-lived nvidia-smi, and now and then who holds their memory.

Owns which fields are asked for and what a host without the tool says. A field that the driver
does not report is absent, never 0.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator

from console.engines.nvidia import (
    Gpu,
    NoGpus,
    explain,
    is_header,
    parse_apps,
    parse_gpu,
    parse_gpus,
    parse_header,
    query_fields,
)
from console.model.clock import US_PER_S, Clock, Pace
from console.model.failure import Failure, WireError
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.gpu_script import apps_argv, fields_argv, query_argv
from console.services.parts import Out, Parts
from console.services.topology import joined
from console.stream.events import Event
from console.stream.host_events import GpuHeld, GpuListed, GpusAbsent, GpuSeen, GpusJoined
from console.transport.wire import Use, Wire

_FIXED = ("memory_total_mib", "power_limit_w", "clock_max_mhz", "pcie_gen_max", "pcie_width_max")
_MOST_APPS = 64
_MOST_GPUS = 256
_MOST_LINE = 65_536


async def gpus(wire: Wire, clock: Clock, pace: Pace, masks: Masks) -> AsyncGenerator[Event, None]:
    """What a host's GPUs are and do, until the wire is closed.

    A host that has none says why once and is asked no more, until its link is lost.
    """
    name = clean(wire.host.name, masks)
    pause_s = pace.reconnect_first_s
    told = ""
    while True:
        try:
            await wire.up()
            fields = await _fields(wire, pace)
            if isinstance(fields, NoGpus):
                yield GpusAbsent(name, clean(fields.why, masks))
                return
            watched = _Gpus(name, masks)
            async for event in _follow(wire, clock, pace, masks, fields, watched):
                pause_s = pace.reconnect_first_s
                yield event
            why = watched.why
        except WireError as error:
            if error.kind is Failure.CLOSED:
                return
            why = error.why
        if why != told:
            told = why
            yield GpusAbsent(name, clean(why, masks))
        await clock.sleep(pause_s)
        pause_s = min(2 * pause_s, pace.reconnect_most_s)


async def _fields(wire: Wire, pace: Pace) -> tuple[str, ...] | NoGpus:
    """The fields that this driver knows; asking for another makes it refuse the whole query."""
    help_text = await wire.run(fields_argv(), deadline_s=pace.read_deadline_s)
    fields = query_fields(help_text.out.decode("utf-8", "replace"))
    if help_text.code in (126, 127) or not fields:
        said = (help_text.out + help_text.err).decode("utf-8", "replace")
        return NoGpus("this host has no nvidia-smi" if help_text.code == 127 else explain(said))
    first = await wire.run(query_argv(fields), deadline_s=pace.read_deadline_s)
    said = (first.out + first.err).decode("utf-8", "replace")
    found = parse_gpus(said)
    if isinstance(found, NoGpus):
        return found
    return fields if found else NoGpus(explain(said))


async def _follow(
    wire: Wire, clock: Clock, pace: Pace, masks: Masks, fields: tuple[str, ...], watched: _Gpus
) -> AsyncGenerator[Event, None]:
    """Readings as nvidia-smi prints them; ends when it ends."""
    every_ms = max(20, round(pace.gpu_s * 1000))
    apps_us, asked = clock.now_us(), False
    parts = Parts(await wire.open(query_argv(fields, every_ms), use=Use.TAIL))
    rest = b""
    try:
        while True:
            part = await parts.next(pace.gpu_apps_s)
            if not isinstance(part, Out):
                continue
            if not part.data:
                return
            *lines, rest = (rest + part.data).split(b"\n")
            rest = rest[-_MOST_LINE:]
            for line in lines:
                for event in watched.line(line.decode("utf-8", "replace")):
                    yield event
            if clock.now_us() >= apps_us:
                apps_us = clock.now_us() + round(pace.gpu_apps_s * US_PER_S)
                for event in await _apps(wire, pace, watched):
                    yield event
                if not asked:
                    asked = True
                    seen = await joined(wire, pace, masks)
                    if isinstance(seen, GpusJoined):
                        yield seen
    finally:
        await parts.close()


async def _apps(wire: Wire, pace: Pace, watched: _Gpus) -> list[Event]:
    done = await wire.run(apps_argv(), deadline_s=pace.read_deadline_s)
    return list(watched.apps(done.out.decode("utf-8", "replace").splitlines()))


class _Gpus:
    """The GPUs of one host as they were last read; only what changed becomes an event."""

    def __init__(self, host: Clean, masks: Masks) -> None:
        self.why = "nvidia-smi ended"
        self._host = host
        self._masks = masks
        self._header: tuple[str, ...] = ()
        self._last: dict[int, Gpu] = {}
        self._held: dict[int, tuple[tuple[Clean, Clean], ...]] = {}
        self._index: dict[str, int] = {}

    def line(self, text: str) -> Iterator[Event]:
        """One line of the running query."""
        if is_header(text):
            self._header = parse_header(text)
            return
        gpu = parse_gpu(self._header, text)
        if gpu is None:
            if text.strip():
                self.why = explain(text)
            return
        index = gpu.index if gpu.index is not None else len(self._index)
        if index not in self._last and len(self._last) >= _MOST_GPUS:
            return
        before = self._last.get(index)
        self._last[index] = gpu
        if before is None:
            self._index[gpu.texts.get("uuid", "")] = index
            yield self._listed(index, gpu)
        if before != gpu:
            figures = tuple(
                (Clean(name), value) for name, value in gpu.figures.items() if name not in _FIXED
            )
            reasons = (*gpu.throttle, *(f"{name} reads ERR!" for name in gpu.broken))
            yield GpuSeen(
                self._host, index, figures, tuple(clean(word, self._masks) for word in reasons)
            )

    def apps(self, lines: Iterable[str]) -> Iterator[Event]:
        """Who holds memory, where that changed."""
        found: dict[int, list[tuple[Clean, Clean]]] = {index: [] for index in self._last}
        for app in parse_apps(lines):
            held = found.get(self._of(app.uuid))
            if held is None or len(held) >= _MOST_APPS:
                continue
            size = "?" if app.used_mib is None else f"{app.used_mib:.0f} MiB"
            text = clean(f"{app.name or 'name unknown'}, {size}", self._masks)
            held.append((Clean(str(app.pid)), text))
        for index, pairs in found.items():
            now = tuple(pairs)
            if now != self._held.get(index, ()):
                self._held[index] = now
                yield GpuHeld(self._host, index, now)

    def _of(self, uuid: str) -> int:
        """The GPU of a process; a slice's own id belongs to the only GPU that is cut in slices."""
        if uuid.startswith("MIG-"):
            cut = [n for n, gpu in self._last.items() if gpu.texts.get("mig") == "Enabled"]
            return cut[0] if len(cut) == 1 else -1
        return self._index.get(uuid, -1)

    def _listed(self, index: int, gpu: Gpu) -> GpuListed:
        facts = [(name, value) for name, value in gpu.texts.items() if name not in ("pstate",)]
        facts += [(name, f"{gpu.figures[name]:g}") for name in _FIXED if name in gpu.figures]
        pairs = tuple((Clean(name), clean(value, self._masks)) for name, value in facts)
        name = clean(gpu.texts.get("name", ""), self._masks)
        return GpuListed(self._host, index, name, pairs)
