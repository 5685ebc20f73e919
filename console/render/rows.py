"""The table of servers: from State, stores and the time to cells of spans.

Which columns stand at which width, what each cell says. Pure; knows no terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Span, Spans, fit, width
from console.render.advice import env_spans
from console.render.label import label
from console.render.spans import fitted
from console.render.standings import UP, arm_span, running_arm, standing, standing_spans
from console.render.units import EMPTY, UNKNOWN, age, count, duration, rate
from console.stream.fact import Standing
from console.stream.series import Series, SeriesKey
from console.stream.state import Server

RECENT_US = 120_000_000
RECENT_BUCKETS = 12
FRESH_US = 10_000_000
"""A decode rate older than this is no longer what the server does now."""

_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title and how wide it may be; the flexible one takes what is left."""

    id: str
    title: str
    least: int
    most: int
    right: bool = False


_SERVER = Column("server", "SERVER", 6, 24)
_SLOT = Column("slot", "SLOT", 4, 16)
_ARM = Column("arm", "ARM", 11, 11)
_ARM_SHORT = Column("arm_short", "ARM", 4, 4)
_STANDING = Column("standing", "STANDING", 14, 200)
_TOK_S = Column("tok_s", "TOK/S", 6, 6, right=True)
_RECENT = Column("recent", "LAST 2 MIN", RECENT_BUCKETS, RECENT_BUCKETS)
_ACCEPT = Column("accept", "ACCEPT", 6, 6, right=True)
_QUEUE = Column("queue", "R+Q", 5, 7)
_TOKEN = Column("token", "LAST TOKEN", 10, 10)
_NCCL = Column("nccl", "NCCL", 4, 12)
_HEALTH = Column("health", "HEALTH", 16, 16)
_ENGINE = Column("engine", "ENGINE", 10, 24)

_TINY = (_SERVER, _STANDING)
_SMALL = (_SERVER, _ARM_SHORT, _STANDING, _TOK_S, _TOKEN)
_NARROW = (_SERVER, _ARM_SHORT, _STANDING, _TOK_S, _TOKEN, _NCCL)
_MIDDLE = (_SERVER, _SLOT, _ARM, _STANDING, _TOK_S, _RECENT, _ACCEPT, _QUEUE, _TOKEN)
_WIDE = (
    _SERVER,
    _SLOT,
    _ARM,
    _ENGINE,
    _STANDING,
    _HEALTH,
    _TOK_S,
    _RECENT,
    _ACCEPT,
    _QUEUE,
    _TOKEN,
    _NCCL,
)


def columns(room: int) -> tuple[Column, ...]:
    """The columns that stand in `room` cells, gaps not counted."""
    if room < 50:
        return _TINY
    if room < 66:
        return _SMALL
    if room < 100:
        return _NARROW
    return _MIDDLE if room < 150 else _WIDE


@dataclass(frozen=True, slots=True)
class Row:
    """One server: its cells by column id."""

    name: str
    cells: Mapping[str, Spans]


def server_row(name: str, server: Server, now_us: int, recent: Sequence[float | None]) -> Row:
    """The cells of one server; `recent` are its buckets of decode rate, oldest first."""
    arm = running_arm(server)
    return Row(
        name,
        {
            "server": (Span(label(name), Role.STRONG),),
            "slot": _slot(server),
            "arm": (arm_span(arm),) if arm else (Span(UNKNOWN, Role.DIM),),
            "arm_short": (arm_span(arm, short=True),) if arm else (Span(UNKNOWN, Role.DIM),),
            "standing": standing_spans(server),
            "tok_s": _tok_s(server, now_us),
            "recent": (Span(sparkline(recent), Role.TEXT),),
            "accept": _accept(server, arm, now_us),
            "queue": _queue(server),
            "token": _token(server, now_us),
            "nccl": env_spans(server),
            "health": _health(server),
            "engine": _engine(server),
        },
    )


def recent_rates(series: Series, name: str, now_us: int) -> tuple[float | None, ...]:
    """Mean decode rate in each of twelve buckets of ten seconds up to now; None where none came."""
    step = RECENT_US // RECENT_BUCKETS
    # Buckets lie on whole steps of the session, so that a bar does not change once it is past.
    first = now_us // step - RECENT_BUCKETS + 1
    sums = [0.0] * RECENT_BUCKETS
    counts = [0] * RECENT_BUCKETS
    found = series.window(SeriesKey(name, "decode_tok_s"), first * step, now_us + 1)
    for t_us, value in zip(found.t_us, found.value, strict=True):
        place = min(t_us // step - first, RECENT_BUCKETS - 1)
        sums[place] += value
        counts[place] += 1
    return tuple(total / n if n else None for total, n in zip(sums, counts, strict=True))


def sparkline(values: Sequence[float | None]) -> str:
    """One bar a value, from zero; a steady rate stands at two thirds; nothing is a space."""
    known = [value for value in values if value is not None]
    top = max(known, default=0.0) * 1.5
    if top <= 0:
        return "".join(" " if value is None else _BARS[0] for value in values)
    return "".join(
        " " if value is None else _BARS[min(7, max(0, int(value / top * 8)))] for value in values
    )


@dataclass(frozen=True, slots=True)
class Place:
    """A column put to a width."""

    column: Column
    room: int


GAP = 2
_AMPLE = 64
"""Cells of a standing where there is room for more."""


def layout(room: int, rows: Iterable[Row]) -> tuple[Place, ...]:
    """Widths of the columns so that they fill `room` cells: the standing takes what is left.

    On a very wide screen no more than there is to read in it: figures stand near their names.
    """
    chosen = columns(room)
    rows = tuple(rows)
    rooms = {}
    for column in chosen:
        widest = max((_wide(row.cells[column.id]) for row in rows), default=0)
        rooms[column.id] = max(column.least, len(column.title), min(column.most, widest))
    free = room - GAP * (len(chosen) - 1)
    others = sum(rooms.values()) - rooms["standing"]
    if free - others < _STANDING.least:
        rooms["server"] = max(8, rooms["server"] - (_STANDING.least - (free - others)))
        others = sum(rooms.values()) - rooms["standing"]
    rooms["standing"] = max(2, min(free - others, max(_AMPLE, rooms["standing"])))
    rooms[chosen[-1].id] += max(0, free - others - rooms["standing"])
    return tuple(Place(column, rooms[column.id]) for column in chosen)


def head_spans(places: Sequence[Place]) -> Spans:
    """The line of titles."""
    return _line(((Span(p.column.title, Role.DIM),), p) for p in places)


def row_spans(row: Row, places: Sequence[Place]) -> Spans:
    """One server's line."""
    return _line((row.cells[p.column.id], p) for p in places)


def _line(parts: Iterable[tuple[Spans, Place]]) -> Spans:
    found: list[Span] = []
    for spans, place in parts:
        if found:
            found.append(Span(" " * GAP))
        found.extend(fitted(spans, place.room, place.column.right))
    return tuple(found)


def _wide(spans: Spans) -> int:
    return sum(width(span.text) for span in spans)


def _slot(server: Server) -> Spans:
    if server.listed is None:
        return (Span(UNKNOWN, Role.DIM),)
    port = f":{server.listed.port}" if server.listed.port else ""
    # Of a long name the end may go, never the port: it tells a host's slots apart.
    host, room = label(server.listed.host), _SLOT.most - len(port)
    return (Span((host if width(host) <= room else fit(host, room)) + port),)


def _tok_s(server: Server, now_us: int) -> Spans:
    token = server.token
    if token is None or token.decode_tok_s is None or now_us - token.t_us > FRESH_US:
        return (Span(EMPTY, Role.DIM),)
    return (Span(rate(token.decode_tok_s), Role.STRONG),)


def _accept(server: Server, arm: Arm | None, now_us: int) -> Spans:
    token = server.token
    if token is not None and token.accept_len is not None and now_us - token.t_us <= FRESH_US:
        return (Span(f"{token.accept_len:.2f}"),)
    unknown = arm is Arm.SPECULATIVE and standing(server) is Standing.GENERATING
    return (Span(UNKNOWN if unknown else EMPTY, Role.DIM),)


def _queue(server: Server) -> Spans:
    figures: dict[str, float] = {}
    if server.metric is not None:
        figures.update(server.metric.figures)
    running, waiting = figures.get("running"), figures.get("queued")
    if running is None and waiting is None:
        return (Span(UNKNOWN if standing(server) in UP else EMPTY, Role.DIM),)
    return (Span(f"{_whole(running)}+{_whole(waiting)}"),)


def _whole(value: float | None) -> str:
    return UNKNOWN if value is None else count(round(value))


def _token(server: Server, now_us: int) -> Spans:
    if server.token is None:
        return (Span(EMPTY, Role.DIM),)
    return (Span(age(now_us - server.token.t_us)),)


def _health(server: Server) -> Spans:
    seen = server.health
    if seen is None or (server.arm is not None and server.arm.arm is None):
        return (Span(EMPTY, Role.DIM),)
    if seen.failure is not None:
        return (Span(seen.failure.value, Role.WARNING),)
    role = Role.TEXT if seen.code == 200 else Role.WARNING
    return (Span(str(seen.code), role), Span(f" in {duration(seen.wait_us)}", Role.DIM))


def _engine(server: Server) -> Spans:
    if server.engine is None:
        return (Span(UNKNOWN, Role.DIM),)
    version = label(server.engine.version)
    return (Span(f"{server.engine.engine.value} {version}".rstrip()),)
