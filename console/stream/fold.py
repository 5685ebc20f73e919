"""fold: the only match over the whole union of events.

Pure: the same State and event give the same State. An event that changes nothing gives back the
very same object, so whoever draws can compare with `is`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, assert_never

from console.stream import host_events as h
from console.stream import run_events as r
from console.stream import server_events as s
from console.stream import session_events as n
from console.stream.events import (
    ActEvent,
    Event,
    HostEvent,
    LogEvent,
    RunEvent,
    ServerEvent,
    SessionEvent,
)
from console.stream.state import (
    MOST_ACTS,
    MOST_BENCHES,
    MOST_MARKERS,
    MOST_NOTICES,
    MOST_RUNS,
    MOST_STEPS,
    Act,
    Bench,
    Host,
    Log,
    LogMark,
    Server,
    Session,
    State,
)

K = TypeVar("K")
V = TypeVar("V")


def fold(state: State, event: Event) -> State:
    """The State after one more event."""
    if isinstance(event, ServerEvent):
        servers = _server(state.servers, event)
        return state if servers is state.servers else replace(state, servers=servers)
    if isinstance(event, LogEvent):
        logs = _log(state.logs, event)
        return state if logs is state.logs else replace(state, logs=logs)
    if isinstance(event, HostEvent):
        return replace(state, hosts=_host(state.hosts, event))
    if isinstance(event, RunEvent):
        return _run(state, event)
    if isinstance(event, ActEvent):
        return replace(state, acts=_act(state.acts, event))
    if isinstance(event, SessionEvent):
        return replace(state, session=_session(state.session, event))
    assert_never(event)


def fold_all(state: State, events: Iterable[Event]) -> State:
    """The State after all of these."""
    for event in events:
        state = fold(state, event)
    return state


def _put(table: Mapping[K, V], key: K, value: V, most: int = 0) -> Mapping[K, V]:
    """A copy with one entry set.

    In a bounded table the entry moves to the end and the oldest ones go: the order is then that
    of the latest events, which a seek point keeps.
    """
    new = dict(table)
    if most:
        new.pop(key, None)
    new[key] = value
    while most and len(new) > most:
        del new[next(iter(new))]
    return new


def whole(before: s.MetricSeen | None, event: s.MetricSeen) -> s.MetricSeen:
    """The reading with all its figures; with those it tells, where the one before is missing."""
    if not event.since:
        return event
    known = before.figures if before is not None and before.seq == event.since else ()
    return replace(event, figures=tuple({**dict(known), **dict(event.figures)}.items()), since=0)


def _server(servers: Mapping[str, Server], event: ServerEvent) -> Mapping[str, Server]:
    old = servers.get(event.server, Server())
    match event:
        case s.ServerListed():
            new = replace(old, listed=event)
        case s.HealthSeen():
            new = replace(old, health=event)
        case s.StandingChanged():
            new = replace(old, standing=event)
        case s.EngineSeen():
            new = replace(old, engine=event)
        case s.ArmSeen():
            new = replace(old, arm=event)
        case s.ArgsSeen():
            new = replace(old, args=event)
        case s.LoadAdvanced():
            new = replace(old, load=event)
        case s.LoadEnded():
            new = replace(old, load_end=event)
        case s.ConditionSeen():
            new = replace(old, condition=event)
        case s.MetricSeen():
            new = replace(old, metric=whole(old.metric, event))
        case s.TokenSeen():
            new = replace(old, token=event)
        case s.EnvRead():
            new = replace(old, envs=_put(old.envs, event.source, event, most=64))
        case s.ProcessSeen():
            new = replace(old, process=event)
        case s.CollectiveSeen():
            new = replace(old, collective=event)
        case s.EnvDrifted():
            new = replace(old, drift=event)
        case n.HistoryKnown():
            new = replace(old, history=_put(old.history, event.topic, event, most=64))
        case _:
            assert_never(event)
    return _put(servers, event.server, new)


def _log(logs: Mapping[str, Log], event: LogEvent) -> Mapping[str, Log]:
    old = logs.get(event.log, Log())
    mark = old.mark
    match event:
        case s.LogListed():
            new = replace(old, listed=event)
        case s.LogAdvanced():
            if event.count == 0:
                return logs
            first = mark.first if mark.end else event.first
            new = replace(old, mark=LogMark(first, event.first + event.count, mark.dropped))
        case s.LogGap():
            first = mark.first if mark.end else event.at
            dropped = mark.dropped + (event.lost_lines or 0)
            new = replace(old, gap=event, mark=LogMark(first, event.at + event.span, dropped))
        case s.LogFeedChanged():
            new = replace(old, feed=event)
        case s.LogMarked():
            new = replace(old, mark=LogMark(event.first, event.end, event.dropped))
        case _:
            assert_never(event)
    return _put(logs, event.log, new)


def _host(hosts: Mapping[str, Host], event: HostEvent) -> Mapping[str, Host]:
    old = hosts.get(event.host, Host())
    match event:
        case h.HostListed():
            new = replace(old, listed=event)
        case h.LinkChanged():
            new = replace(old, link=event)
        case h.HostSeen():
            new = replace(old, machine=event)
        case h.GpuListed():
            new = replace(old, gpus_listed=_put(old.gpus_listed, event.gpu, event, most=256))
        case h.GpuSeen():
            new = replace(old, gpus=_put(old.gpus, event.gpu, event, most=256))
        case h.GpuHeld():
            new = replace(old, held=_put(old.held, event.gpu, event, most=256))
        case h.GpusJoined():
            new = replace(old, joined=event)
        case h.GpusAbsent():
            new = replace(old, no_gpus=event)
        case _:
            assert_never(event)
    return _put(hosts, event.host, new)


def _run(state: State, event: RunEvent) -> State:
    match event:
        case r.AssumptionStated():
            table = _put(state.assumptions, event.name, event, most=MOST_BENCHES)
            return replace(state, assumptions=table)
        case r.VerdictReached():
            return replace(state, verdicts=(*state.verdicts, event)[-MOST_BENCHES:])
        case r.BenchStarted() | r.BenchFinished() | r.RunMeasured() | r.CircumstancesTaken():
            old = state.benches.get(event.bench, Bench())
            new = _bench(old, event)
            return replace(state, benches=_put(state.benches, event.bench, new, MOST_BENCHES))
        case _:
            assert_never(event)


def _bench(
    old: Bench,
    event: r.BenchStarted | r.BenchFinished | r.RunMeasured | r.CircumstancesTaken,
) -> Bench:
    match event:
        case r.BenchStarted():
            return replace(old, started=event)
        case r.BenchFinished():
            return replace(old, finished=event)
        case r.RunMeasured():
            return replace(old, runs=(*old.runs, event)[-MOST_RUNS:])
        case r.CircumstancesTaken():
            table = _put(old.circumstances, event.group, event, most=64)
            return replace(old, circumstances=table)
        case _:
            assert_never(event)


def _act(acts: Mapping[str, Act], event: ActEvent) -> Mapping[str, Act]:
    old = acts.get(event.act, Act())
    match event:
        case r.ActRequested():
            new = replace(old, requested=event)
        case r.ActRefused():
            new = replace(old, refused=event)
        case r.ActAdvanced():
            new = replace(old, advanced=event)
        case r.ActFinished():
            new = replace(old, finished=event)
        case _:
            assert_never(event)
    return _put(acts, event.act, new, most=MOST_ACTS)


def _session(old: Session, event: SessionEvent) -> Session:
    match event:
        case n.SessionOpened():
            return replace(old, opened=event)
        case n.ClockPaired():
            return replace(old, clock=event)
        case n.TimeJumped():
            return replace(old, jumped=event)
        case n.RecordingChanged():
            return replace(old, recording=event)
        case n.EventsDropped():
            return replace(old, dropped=event)
        case n.SessionClosed():
            return replace(old, closed=event)
        case n.MarkerPut():
            return replace(old, markers=(*old.markers, event)[-MOST_MARKERS:])
        case n.NoteWritten():
            return replace(old, notes=(*old.notes, event)[-MOST_MARKERS:])
        case n.StepStarted():
            return replace(old, step=event)
        case n.StepFinished():
            return replace(old, steps=(*old.steps, event)[-MOST_STEPS:])
        case n.Noticed():
            return replace(old, notices=(*old.notices, event)[-MOST_NOTICES:])
        case _:
            assert_never(event)
