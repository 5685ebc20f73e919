"""How a server stands, as a pure judgement over its latest facts and the time.

Owns the order of evidence: what the log says of a load or a failure, what a health path proves,
whether tokens are made. Claims no more than was seen and always says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from console.engines.health import Meaning, Reading, read_health
from console.engines.versions import version
from console.model.clock import US_PER_S, Pace
from console.model.failure import Failure
from console.model.fleet import Engine
from console.stream.fact import Condition, Standing
from console.stream.server_events import HealthSeen
from console.stream.state import Server, State

UP = (
    Standing.ALIVE,
    Standing.GENERATING,
    Standing.IDLE,
    Standing.DEGRADED,
    Standing.STALLED,
)
"""Standings of a server that has finished loading."""


class Stands(NamedTuple):
    """A conclusion and its reason, one line that stays the same while nothing changes."""

    standing: Standing
    why: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The times that part one standing from another, in microseconds."""

    fresh_us: int
    token_stall_us: int
    load_stall_us: int
    metric_us: int
    scale: float = 1.0

    @classmethod
    def of(cls, pace: Pace) -> Limits:
        """Those of a pace."""
        return cls(
            round(pace.fresh_s * US_PER_S),
            round(pace.token_stall_s * US_PER_S),
            round(pace.stall_s * US_PER_S),
            round(5 * pace.metrics_s * US_PER_S),
            pace.scale,
        )

    def said(self, limit_us: int) -> str:
        """A limit in words, as long as it is for people in real time."""
        seconds = round(limit_us / US_PER_S * self.scale)
        return f"{seconds // 60} min" if seconds >= 120 else f"{seconds} s"


def stands(name: str, server: Server, state: State, now_us: int, limits: Limits) -> Stands | None:
    """How a server stands; None as long as nothing was asked and its log says nothing."""
    other = _other_arm(name, server, state)
    if other is not None:
        return Stands(Standing.DOWN, other)
    health = server.health
    if health is None:
        return _by_log(server, now_us, limits)
    reading = _read(server, health, limits)
    if health.code == 200 and health.failure is None:
        return _not_its_own(server) or _up(server, reading, now_us, limits)
    failed = _failed(server)
    if failed and health.failure in (None, Failure.REFUSED, Failure.CLOSED, Failure.TIMEOUT):
        return Stands(Standing.DOWN, failed)
    return _not_up(server, health, reading, now_us, limits)


def _not_its_own(server: Server) -> Stands | None:
    """A server that did not get its port is down, whoever answers there."""
    if server.load_end is None or server.load_end.marker != "port-taken":
        return None
    failed = _failed(server)
    return Stands(Standing.DOWN, f"{failed}; another process answers there") if failed else None


def _by_log(server: Server, now_us: int, limits: Limits) -> Stands | None:
    """What the log alone says, where no health path was asked."""
    if loading := _loading(server, now_us, limits):
        return loading
    if failed := _failed(server):
        return Stands(Standing.DOWN, failed)
    if _fresh(server, now_us, limits):
        return (
            _silent(server)
            or _slowed(server)
            or Stands(
                Standing.GENERATING,
                f"tokens in the last {limits.said(limits.fresh_us)}, by its log",
            )
        )
    return None


def _other_arm(name: str, server: Server, state: State) -> str | None:
    """Why a server is not loaded: another one of its slot is up."""
    arm, listed = server.arm, server.listed
    if arm is None or arm.arm is not None or listed is None:
        return None
    if server.load is not None and server.load.seq > arm.seq:
        return None
    for other, cell in state.servers.items():
        place = cell.listed
        if other == name or place is None or cell.standing is None:
            continue
        same = (place.host, place.slot) == (listed.host, listed.slot)
        if same and cell.standing.standing in UP:
            return f"not loaded: {arm.evidence}"
    return None


def _read(server: Server, health: HealthSeen, limits: Limits) -> Reading:
    engine, number = Engine.AUTO, ""
    if server.engine is not None:
        engine, number = server.engine.engine, server.engine.version
    elif server.listed is not None:
        engine = server.listed.engine
    before = server.standing.standing if server.standing else Standing.UNKNOWN
    return read_health(
        engine,
        version(number) if number else None,
        health.path,
        health.code,
        round(health.wait_us * limits.scale),
        health.failure,
        was_up=before in (*UP, Standing.DRAINING) and not _is_loading(server),
    )


def _is_loading(server: Server) -> bool:
    load, end = server.load, server.load_end
    return load is not None and (end is None or end.seq < load.seq)


def _failed(server: Server) -> str:
    """What the log showed as the end of this load or server, "" where it showed none."""
    end = server.load_end
    if end is None or end.ready or _is_loading(server):
        return ""
    return end.why or end.marker or "the load failed"


def _loading(server: Server, now_us: int, limits: Limits) -> Stands | None:
    load = server.load
    if load is None or not _is_loading(server):
        return None
    if now_us - load.t_us >= limits.load_stall_us:
        where = f": {load.slowest}" if load.slowest else ""
        limit = limits.said(limits.load_stall_us)
        return Stands(
            Standing.STALLED, f"loading: no progress for over {limit} in {load.phase}{where}"
        )
    return Stands(Standing.STARTING, f"loading: {load.phase}")


def _not_up(
    server: Server, health: HealthSeen, reading: Reading, now_us: int, limits: Limits
) -> Stands:
    why = health.why or reading.why
    match reading.meaning:
        case Meaning.DOWN:
            end = server.load_end
            if end is not None and end.ready and end.seq > health.seq:
                return Stands(Standing.STARTING, "ready by its log, health not asked since")
            return _loading(server, now_us, limits) or Stands(Standing.DOWN, reading.why)
        case Meaning.LOADING | Meaning.WARMING:
            return _loading(server, now_us, limits) or Stands(Standing.STARTING, reading.why)
        case Meaning.STUCK if health.failure is Failure.CLOSED:
            return Stands(Standing.REACHABLE, why)
        case Meaning.STUCK if busy := _compiling(server, now_us, limits):
            return Stands(Standing.DEGRADED, f"{busy}; {why or reading.why}")
        case Meaning.STUCK if health.failure is Failure.TIMEOUT:
            return _stalled(server, now_us, limits) or Stands(Standing.DEGRADED, why)
        case Meaning.STUCK:
            stuck = not _fresh(server, now_us, limits)
            return Stands(Standing.STALLED if stuck else Standing.DEGRADED, reading.why)
        case Meaning.DRAINING:
            return Stands(Standing.DRAINING, reading.why)
        case Meaning.DEAD:
            return Stands(Standing.REACHABLE, reading.why)
        case Meaning.KEY | Meaning.STRANGE:
            return Stands(Standing.REACHABLE, why)
        case Meaning.UNKNOWN:
            return Stands(Standing.UNKNOWN, why)
        case Meaning.ANSWERS | Meaning.GENERATES | Meaning.SLOW:
            # Read from a 200 whose body never ended.
            return Stands(Standing.DEGRADED, why)
    assert_never(reading.meaning)


def _up(server: Server, reading: Reading, now_us: int, limits: Limits) -> Stands:
    """A server that answers 200: what else is known of it."""
    if failed := _failed(server):
        return Stands(Standing.DEGRADED, f"answers, but its log says: {failed}")
    if stalled := _stalled(server, now_us, limits):
        busy = _compiling(server, now_us, limits)
        return Stands(Standing.DEGRADED, f"{busy}; {stalled.why}") if busy else stalled
    if known := _silent(server) or _slowed(server):
        return known
    if reading.meaning is Meaning.SLOW:
        return Stands(Standing.DEGRADED, f"slow: {reading.why}")
    if _fresh(server, now_us, limits):
        return Stands(Standing.GENERATING, f"tokens in the last {limits.said(limits.fresh_us)}")
    running = _figures(server, now_us, limits).get("running")
    if running is None:
        return Stands(Standing.ALIVE, reading.why)
    if running > 0:
        return Stands(Standing.ALIVE, "requests run, no token seen yet")
    return Stands(Standing.IDLE, f"no request runs; {reading.why}")


def _shown(server: Server, condition: Condition) -> str:
    """Why it is in that condition by its log, "" where it is not, or not any more."""
    seen, load = server.condition, server.load
    if seen is None or seen.condition is not condition:
        return ""
    return seen.why if load is None or load.seq < seen.seq else ""


def _compiling(server: Server, now_us: int, limits: Limits) -> str:
    """What is compiled and how long it still takes; a bar that stood still explains nothing."""
    seen, why = server.condition, _shown(server, Condition.COMPILING)
    if seen is None or not why or now_us - seen.t_us > limits.load_stall_us:
        return ""
    return why + (f", about {limits.said(seen.eta_us)} left" if seen.eta_us else "")


def _silent(server: Server) -> Stands | None:
    why = _shown(server, Condition.SILENT)
    return Stands(Standing.STALLED, why) if why else None


def _slowed(server: Server) -> Stands | None:
    why = _shown(server, Condition.SLOWED)
    return Stands(Standing.DEGRADED, why) if why else None


def _fresh(server: Server, now_us: int, limits: Limits) -> bool:
    return server.token is not None and now_us - server.token.t_us <= limits.fresh_us


def _figures(server: Server, now_us: int, limits: Limits) -> Mapping[str, float]:
    """The latest figures, none when they are old: then they say nothing about now."""
    metric = server.metric
    if metric is None or now_us - metric.t_us > limits.metric_us:
        return {}
    return dict(metric.figures)


def _stalled(server: Server, now_us: int, limits: Limits) -> Stands | None:
    """Requests run and no token comes; None also where nothing would show one."""
    figures, metric = _figures(server, now_us, limits), server.metric
    running = figures.get("running")
    if metric is None or not running:
        return None
    seen_us = []
    for name in ("quiet_s", "busy_s") if server.token is not None else ("quiet_s",):
        if name in figures:
            seen_us.append(metric.t_us - round(figures[name] * US_PER_S))
            break
    if not seen_us:
        return None
    if server.token is not None:
        seen_us.append(server.token.t_us)
    if now_us - max(seen_us) < limits.token_stall_us:
        return None
    limit = limits.said(limits.token_stall_us)
    return Stands(Standing.STALLED, f"requests run, but no token for over {limit}")
