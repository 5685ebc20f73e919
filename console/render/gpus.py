"""The GPUs of a host, a line each: what they hold and do, and what slows them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from console.engines.throttle import SLOWS
from console.engines.topology import meaning
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.spans import fitted
from console.render.units import EMPTY
from console.stream.host_events import GpuListed, GpuSeen, GpusJoined
from console.stream.joined import apart, by_nvlink, matrix_lines, worst
from console.stream.state import Host

_BUSY_PCT = 20.0


def gpu_lines(host: Host | None, room: int) -> tuple[Spans, ...]:
    """A head and a line for each GPU, or why there is none."""
    if host is None:
        return ((Span("the host is not known", Role.DIM),),)
    newest = max((seen.seq for seen in host.gpus.values()), default=-1)
    if host.no_gpus is not None and host.no_gpus.seq > newest:
        return (fitted((Span(label(host.no_gpus.why), Role.DIM),), room),)
    if not host.gpus:
        return ((Span("no reading of the GPUs yet", Role.DIM),),)
    head = "GPU   UTIL  POWER        MEMORY              TEMP  SM CLOCK  PCIE"
    lines = [fitted((Span(head, Role.DIM),), room)]
    lines += [
        fitted(_gpu(seen, host.gpus_listed.get(index), host, index), room)
        for index, seen in sorted(host.gpus.items())
    ]
    if host.joined is not None and host.joined.links:
        lines.append(fitted(_joined(host.joined), room))
        shown = host.joined if apart(host.joined) else replace(host.joined, peers=())
        lines += [fitted((Span(label(line), Role.DIM),), room) for line in matrix_lines(shown)]
    return tuple(lines)


def _joined(joined: GpusJoined) -> Spans:
    """How the GPUs reach each other: by what, over the longest way, and who cannot."""
    way = worst(joined)
    by = "NVLink" if by_nvlink(joined) else "PCIe only"
    text = f"joined by {by}, longest way {label(way)}"
    text += f" ({meaning(way)})" if meaning(way) else ""
    cannot = apart(joined)
    if cannot:
        pair, word = cannot[0]
        more = f" and {len(cannot) - 1} more" if len(cannot) > 1 else ""
        told = f"; no peer access {label(pair)} ({label(word)}){more}"
        return (Span(text, Role.DIM), Span(told, Role.WARNING))
    return (Span(text + ("; peer access works" if joined.peers else ""), Role.DIM),)


def _gpu(seen: GpuSeen, listed: GpuListed | None, host: Host, index: int) -> Spans:
    now: Mapping[str, float] = {str(name): value for name, value in seen.figures}
    fixed = {str(name): str(value) for name, value in listed.facts} if listed else {}
    memory = _of(now.get("memory_used_mib"), fixed.get("memory_total_mib"), "MiB")
    power = _of(now.get("power_w"), fixed.get("power_limit_w"), "W")
    cells = (
        f"{index:>3}",
        f"{_plain(now.get('util_pct'), ' %'):>5}",
        f"{power:<11}",
        f"{memory:<17}",
        f"{_plain(now.get('temp_c'), ' °C'):>5}",
        f"{_plain(now.get('clock_mhz'), ' MHz'):>8}",
        _pcie(now, fixed),
    )
    return (Span("  ".join(cells)), *_slowed(seen), *_held(host, index))


def _plain(value: float | None, unit: str) -> str:
    return EMPTY if value is None else f"{value:.0f}{unit}"


def _of(value: float | None, most: str | None, unit: str) -> str:
    if value is None:
        return EMPTY
    return f"{value:,.0f}/{float(most):,.0f} {unit}" if most else f"{value:,.0f} {unit}"


def _pcie(now: Mapping[str, float], fixed: Mapping[str, str]) -> str:
    """Generation and width; at rest a GPU lets its link sleep, so only a busy one is judged."""
    generation, width = now.get("pcie_gen"), now.get("pcie_width")
    if generation is None:
        return EMPTY
    text = f"{generation:.0f}" + (f" x{width:.0f}" if width is not None else "")
    most, wide = fixed.get("pcie_gen_max"), fixed.get("pcie_width_max")
    if now.get("util_pct", 0.0) < _BUSY_PCT:
        return f"{text} (at rest)"
    narrow = width is not None and wide is not None and width < float(wide)
    if (most is not None and generation < float(most)) or narrow:
        return f"{text} of {most or '?'} x{wide or '?'}"
    return text


def _slowed(seen: GpuSeen) -> Spans:
    bad = [label(word) for word in seen.throttle if word in SLOWS or word.endswith("ERR!")]
    return (Span("  ▼ " + ", ".join(bad), Role.WARNING),) if bad else ()


def _held(host: Host, index: int) -> Spans:
    held = host.held.get(index)
    if held is None or not held.held:
        return ()
    pid, what = held.held[0]
    more = f" and {len(held.held) - 1} more" if len(held.held) > 1 else ""
    return (Span(f"  {pid} {label(what)}{more}", Role.WARNING if more else Role.DIM),)
