"""The environment of a server as text: who says what, what is in effect, whether it matters.

Pure: State in, spans out, each verdict a shape and a word. Knows no terminal; judges nothing that
room nccl has not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from console.model.palette import Role
from console.model.span import Span, Spans, width
from console.nccl.allreduce import Path
from console.nccl.check import check
from console.nccl.finding import Finding, Severity
from console.nccl.truth import Cell, CellState, Extent, Reading, Row, Source, Verdict
from console.nccl.version import NEWEST
from console.render.label import label
from console.render.spans import fitted, wrapped
from console.stream.environment import (
    allreduce,
    basis,
    effective,
    machine,
    nccl_version,
    readings,
    table,
    wanted_of,
)
from console.stream.fact import Completeness
from console.stream.state import Server, State

VERDICTS: dict[Verdict, tuple[str, str, Role]] = {
    Verdict.SAME: ("✓", "same", Role.GOOD),
    Verdict.DIFFERS: ("≠", "differs", Role.ERROR),
    Verdict.LOST: ("✗", "lost", Role.ERROR),
    Verdict.EXTRA: ("+", "extra", Role.WARNING),
    Verdict.UNREADABLE: ("?", "unreadable", Role.WARNING),
    Verdict.UNKNOWN: ("·", "", Role.DIM),
    Verdict.UNSET: ("–", "unset", Role.DIM),
}
_SEVERITIES = {
    Severity.ERROR: Role.ERROR,
    Severity.WARNING: Role.WARNING,
    Severity.NOTE: Role.NOTE,
}
_TITLES = {
    Source.WANTED: "WANTED",
    Source.RECIPE: "RECIPE",
    Source.CONTAINER_CONFIG: "CONFIGURED",
    Source.CONTAINER_INIT: "CONTAINER",
    Source.LAUNCHER: "LAUNCHER",
    Source.TRACKER: "TRACKER",
    Source.RANK: "RANKS",
    Source.CONF_FILE: "CONF FILE",
    Source.NCCL_LOG: "NCCL SAYS",
}
_ALWAYS = (Source.WANTED, Source.LAUNCHER, Source.TRACKER, Source.RANK)
_CONTAINER = (Source.CONTAINER_INIT, Source.CONTAINER_CONFIG)
_LEAST = (Source.CONF_FILE, *_CONTAINER, Source.NCCL_LOG, Source.RECIPE, Source.LAUNCHER)
"""Columns that go first where there is little room."""

_NAME, _CELL, _EFFECT = 24, 10, 22
_GAP = "  "
_TIGHT_EFFECT = 16
_MOST_HEAD = 34
_TIGHT = 36
"""Cells of a name and an effect where there is next to no room."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table at one width: its heading and a line per variable."""

    heading: Spans
    lines: tuple[Spans, ...]


def truth_table(server: Server, room: int) -> Table:
    """The truth table in `room` cells; what was wanted first, diagnostics last."""
    rows = ordered(server)
    shown = _columns(server, room)
    wide = _widths(rows, shown, room)
    titles = [_title(source, server) for source in shown]
    heading = _line(["VARIABLE", *titles, "IN EFFECT"], [Role.DIM] * (len(shown) + 2), wide)
    return Table(heading, tuple(_row(row, shown, wide) for row in rows))


def ordered(server: Server) -> list[Row]:
    """The rows as they are shown."""
    asked = wanted_of(server)
    wanted = [name for name, _ in asked.values] if asked is not None else []
    rank = {str(name): place for place, name in enumerate(wanted)}

    def place(row: Row) -> tuple[bool, int, bool, str]:
        return row.diagnostic, rank.get(row.name, 999), not row.name.startswith("NCCL_"), row.name

    return sorted(table(server), key=place)


def _columns(server: Server, room: int) -> list[Source]:
    present = {reading.source for reading in readings(server) if _has_a_say(reading)}
    shown = [source for source in _TITLES if source in present or source in _ALWAYS]
    for source in _LEAST:
        taken = _NAME + _EFFECT + len(_GAP) + len(shown) * (_CELL + len(_GAP))
        if taken <= room:
            break
        if source in shown:
            shown.remove(source)
    for source in (Source.TRACKER, Source.RANK, Source.WANTED):
        if _TIGHT + len(shown) * (6 + len(_GAP)) <= room:
            break
        shown.remove(source)
    return shown


def _has_a_say(reading: Reading) -> bool:
    """A conf file that is not there needs no column."""
    whole = reading.extent is Extent.WHOLE
    return reading.source is not Source.CONF_FILE or bool(reading.values) or not whole


def _widths(rows: Iterable[Row], shown: Sequence[Source], room: int) -> list[int]:
    longest = max((width(row.name) for row in rows), default=_NAME)
    name = min(max(longest, 8), 34 if room >= 100 else 22, room - 14 - len(shown) * 8)
    left = room - name - len(_GAP) * (len(shown) + 1) - (_EFFECT if room >= 100 else _TIGHT_EFFECT)
    each = max(6, min(16, left // max(1, len(shown))))
    effect = max(8, room - name - (each + len(_GAP)) * len(shown) - len(_GAP))
    return [name, *([each] * len(shown)), effect]


def _title(source: Source, server: Server) -> str:
    if source is not Source.RANK:
        return _TITLES[source]
    numbers = sorted(
        int(label_[5:])
        for one in readings(server)
        if one.source is Source.RANK and (label_ := one.label)[5:].isdecimal()
    )
    return f"RANKS {numbers[0]}–{numbers[-1]}" if len(numbers) > 1 else "RANK"


def _row(row: Row, shown: Sequence[Source], wide: list[int]) -> Spans:
    texts, roles = [row.name], [Role.DIM if row.diagnostic else Role.TEXT]
    for source in shown:
        cells = [cell for cell in row.cells if cell.source is source]
        text, role = _cells(cells)
        texts.append(text)
        roles.append(role)
    return (*_line(texts, roles, wide[:-1]), Span(_GAP), *fitted(effect(row), wide[-1]))


def _line(texts: list[str], roles: list[Role], wide: list[int]) -> Spans:
    found: list[Span] = []
    for text, role, cells in zip(texts, roles, wide, strict=True):
        if found:
            found.append(Span(_GAP))
        found.extend(fitted((Span(label(text), role),), cells))
    return tuple(found)


def _cells(cells: Sequence[Cell]) -> tuple[str, Role]:
    """What one column says: one source, or several ranks or files as one."""
    if not cells:
        return "", Role.DIM
    said = [cell for cell in cells if cell.state is not CellState.SILENT]
    values = [cell.value for cell in said if cell.state is CellState.VALUE]
    if cells[0].source is Source.CONF_FILE and values:
        return values[0] or '""', Role.TEXT
    if not said:
        return "", Role.DIM
    closed = sum(cell.state is CellState.UNREADABLE for cell in said)
    if closed == len(said):
        return "unreadable", Role.WARNING
    if not values:
        return ("–", Role.DIM) if not closed else ("– or unread", Role.WARNING)
    each = sorted(set(values))
    if len(each) > 1:
        return f"{' | '.join(each)}", Role.ERROR
    text = each[0] or '""'
    if len(said) == 1:
        return text, Role.TEXT
    if len(values) == len(said):
        return f"{text} on all {len(said)}", Role.TEXT
    return f"{text} on {len(values)} of {len(said)}", Role.WARNING


def effect(row: Row) -> Spans:
    """The value in effect and the verdict, or who decides where nothing was wanted."""
    shape, word, role = VERDICTS[row.verdict]
    now = row.effect
    if not now.known:
        return (Span(f"{shape or '?'} {word or 'unknown'}", role),)
    value = " | ".join(now.split) or ("unset" if now.value is None else label(now.value) or '""')
    if row.verdict is Verdict.EXTRA and (by := _by_itself(row)):
        return (Span(value), Span(f"  {by}", Role.DIM))
    if row.verdict is Verdict.UNKNOWN:
        return (Span(value), Span(f"  {label(now.by)}", Role.DIM))
    if row.verdict is Verdict.UNSET:
        return (Span("unset", Role.DIM),)
    return (Span(value), Span(f"  {shape} {word}", role))


def _by_itself(row: Row) -> str:
    """Who set what nobody wanted, where that needs no attention: the engine, or another library."""
    launched = [cell.state for cell in row.cells if cell.source is Source.LAUNCHER]
    if launched == [CellState.UNSET] and not row.effect.by.startswith("container's"):
        return "engine"
    return "" if row.name.startswith("NCCL_") else label(row.effect.by)


def basis_text(server: Server) -> str:
    """Which reading decides, and what the ranks' readings lack."""
    decides, lack = basis(server)
    process = server.process
    if decides is None or (process is not None and process.pid is None):
        return label(process.why) if process is not None and process.why else "not read yet"
    pid = f" {decides.pid}" if decides.pid is not None else ""
    name = "resource_tracker" if decides.source == "tracker" else label(decides.source)
    told = f"source: {name}{pid} ({decides.completeness.value})"
    if decides.completeness is not Completeness.WHOLE and decides.why:
        told += f": {label(decides.why)}"
    return f"{told}; ranks: {label(lack)}" if lack else told


def findings_title(server: Server) -> str:
    """What the findings are about."""
    version = nccl_version(server)
    held = f"NCCL {version}" if version is not None else f"NCCL {NEWEST} assumed"
    wanted = wanted_of(server)
    if wanted is None:
        return f"Findings for what is in effect ({held})"
    return f"Findings for the wanted profile {label(wanted.why)} ({held})"


def findings(server: Server, state: State) -> tuple[Finding, ...]:
    """What NCCL would make of the wanted profile, else of what is in effect; worst first."""
    wanted = wanted_of(server)
    env: Mapping[str, str]
    if wanted is not None:
        env = {str(name): str(value) for name, value in wanted.values}
    else:
        env = effective(server)[0]
    found = check(env, nccl_version(server) or NEWEST, machine(server, state))
    return tuple(sorted(found, key=lambda one: -one.severity.rank))


def finding_lines(found: Iterable[Finding], room: int) -> list[Spans]:
    """Each finding in one or more lines: severity, what was written, what becomes of it."""
    lines: list[Spans] = []
    heads = [(f"{one.severity.value:<8}{label(written(one))}", one) for one in found]
    fits = [cells for head, _ in heads if (cells := width(head) + 2) <= _MOST_HEAD]
    indent = max([12, *fits]) if room >= 60 else 8
    for head, one in heads:
        text = f"{label(one.why)}{_reads(one)}"
        rows = wrapped(text, max(12, room - indent))
        first = fitted((Span(head, _SEVERITIES[one.severity]),), indent - 1)
        if width(head) > indent - 1:
            lines.append(fitted((Span(head, _SEVERITIES[one.severity]),), room))
            first = fitted((), indent - 1)
        for number, row in enumerate(rows or [""]):
            start = first if number == 0 else fitted((), indent - 1)
            lines.append(fitted((*start, Span(f" {row}")), room))
    return lines


def written(one: Finding) -> str:
    """What a finding is about, as it was written: `NAME=value`, or several of them."""
    whole = any(one.written.startswith(f"{name}=") for name in one.names)
    if whole:
        return one.written
    return ", ".join(one.names) + (f"={one.written}" if one.written else "")


def _reads(one: Finding) -> str:
    told = f"; NCCL uses {one.reads_as}" if one.reads_as and one.reads_as != one.written else ""
    return label(told + (f"; meant: {one.meant}" if one.meant not in one.why else ""))


def matter_lines(server: Server, room: int) -> list[Spans]:
    """Whether these variables reach decode: the way of its all-reduce and what proves it."""
    way = allreduce(server)
    if way.path is Path.UNKNOWN:
        text = "Which way decode's all-reduce goes is unknown"
    else:
        where = f"log line {way.line}" if way.line else "argument"
        text = f"Decode's all-reduce goes through {way.path.value} ({where}: {label(way.proof)})"
    role = Role.TEXT if not way.caution else Role.WARNING
    text += f": {way.caution}." if way.caution else "."
    return [fitted((Span(row, role),), room) for row in wrapped(text, room)]


def drift_spans(server: Server) -> Spans:
    """What was lost or changed since the last good run; nothing where nothing was."""
    drift = server.drift
    if drift is None or not (drift.lost or drift.changed):
        return ()
    return (Span(f"✗ {label(drift.why)}", Role.ERROR),)
