"""How far a load is: its phases in order and a bar where the log has a fraction."""

from __future__ import annotations

from collections.abc import Sequence

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.spans import fitted
from console.render.units import duration
from console.stream.loads import earlier_loads
from console.stream.server_events import LoadAdvanced
from console.stream.state import Server

_USUAL = ("arguments", "distributed", "weights", "kv cache", "graphs", "http", "warm-up")
_MOST_BAR = 40


def loading(server: Server) -> LoadAdvanced | None:
    """The load on its way, if one is."""
    load, end = server.load, server.load_end
    return load if load is not None and (end is None or end.seq < load.seq) else None


def load_lines(server: Server, now_us: int, room: int) -> tuple[Spans, ...]:
    """Phases, bar and what is waited for; or how the last load ended; nothing without any."""
    load = loading(server)
    if load is not None:
        lines = [_phases(server, load), _bar(load, now_us, room)]
        if load.slowest:
            lines.append((Span(label(load.slowest), Role.WARNING),))
        return tuple(fitted(line, room) for line in lines)
    end = server.load_end
    if end is None:
        return ()
    if end.ready:
        return (fitted((Span("✓ ", Role.GOOD), Span(f"loaded in {duration(end.took_us)}")), room),)
    where = ""
    if end.first_line is not None:
        last = end.first_line + end.line_count - 1
        where = f"  log lines {end.first_line + 1:,}–{last + 1:,}"
    after = f"  {duration(end.took_us)} after its start" if end.took_us >= 1_000_000 else ""
    why = Span(label(end.why or end.marker))
    failed = (Span("✗ ", Role.ERROR), why, Span(after + where, Role.DIM))
    return (fitted(failed, room),)


def _phases(server: Server, load: LoadAdvanced) -> Spans:
    """The phases of this server's last load, or the usual ones: done, here, to come."""
    names: Sequence[str] = _USUAL
    known = earlier_loads(server.history)
    if known and known[0].basis != "startup times":
        names = [name for name, _ in known[0].stages]
    here = next((n for n, name in enumerate(names) if name == load.phase), None)
    if here is None:
        stem = load.phase.partition(" (")[0]
        here = next((n for n, name in enumerate(names) if name == stem), None)
    spans: list[Span] = []
    for n, name in enumerate(names):
        if here is None or n > here:
            break
        if n == here:
            name = load.phase
        spans.append(
            Span(f"▶ {label(name)}  ", Role.STARTING)
            if n == here
            else Span(f"✓ {label(name)}  ", Role.GOOD)
        )
    if here is None:
        return (Span(f"▶ {label(load.phase)}", Role.STARTING),)
    rest = "  ".join(label(name) for name in names[here + 1 :])
    return (*spans, Span(rest, Role.DIM))


def _bar(load: LoadAdvanced, now_us: int, room: int) -> Spans:
    """Fraction and estimate; without a fraction only how long this phase has not moved."""
    since_us = now_us - load.t_us
    left = ""
    if load.eta_us is not None:
        left = f"~{duration(max(0, load.eta_us - since_us))} left"
    quiet = f"last progress {duration(since_us)} ago" if since_us >= 10_000_000 else ""
    told = "   ".join(part for part in (left, quiet) if part)
    if load.done is None or not load.total:
        return (Span(told or "no fraction in its log", Role.DIM),)
    share = min(1.0, load.done / load.total)
    cells = max(8, min(_MOST_BAR, room // 2))
    full = int(share * cells)
    return (
        Span("█" * full, Role.STARTING),
        Span("░" * (cells - full), Role.DIM),
        Span(f" {load.done:,}/{load.total:,} {share:.0%}", Role.STRONG),
        Span(f"   {told}" if told else "", Role.DIM),
    )
