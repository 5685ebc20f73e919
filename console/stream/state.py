"""The folded whole: how far everything has come, in small immutable records.

Each cell holds the latest event of its kind, so a seek point is those events written again. Bulk
(log lines, samples) is never here; every collection that grows with the night is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import cast

from console.model.text import Clean
from console.stream import host_events as h
from console.stream import run_events as r
from console.stream import server_events as s
from console.stream import session_events as n
from console.stream.events import Event
from console.stream.fact import Fact, Standing

MOST_MARKERS = 500
MOST_STEPS = 200
MOST_BENCHES = 64
MOST_RUNS = 500
MOST_ACTS = 64
MOST_NOTICES = 64


@dataclass(frozen=True, slots=True)
class LogMark:
    """How far a log reaches: numbers from `first` up to before `end`; `dropped` of them lost."""

    first: int = 0
    end: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Log:
    """What is known of one log."""

    listed: s.LogListed | None = None
    feed: s.LogFeedChanged | None = None
    gap: s.LogGap | None = None
    mark: LogMark = LogMark()


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of one server."""

    listed: s.ServerListed | None = None
    health: s.HealthSeen | None = None
    standing: s.StandingChanged | None = None
    engine: s.EngineSeen | None = None
    arm: s.ArmSeen | None = None
    args: s.ArgsSeen | None = None
    load: s.LoadAdvanced | None = None
    load_end: s.LoadEnded | None = None
    condition: s.ConditionSeen | None = None
    metric: s.MetricSeen | None = None
    token: s.TokenSeen | None = None
    process: s.ProcessSeen | None = None
    collective: s.CollectiveSeen | None = None
    drift: s.EnvDrifted | None = None
    envs: Mapping[str, s.EnvRead] = field(default_factory=dict)
    history: Mapping[str, n.HistoryKnown] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Host:
    """What is known of one host."""

    listed: h.HostListed | None = None
    link: h.LinkChanged | None = None
    machine: h.HostSeen | None = None
    no_gpus: h.GpusAbsent | None = None
    joined: h.GpusJoined | None = None
    gpus_listed: Mapping[int, h.GpuListed] = field(default_factory=dict)
    gpus: Mapping[int, h.GpuSeen] = field(default_factory=dict)
    held: Mapping[int, h.GpuHeld] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark."""

    started: r.BenchStarted | None = None
    finished: r.BenchFinished | None = None
    runs: tuple[r.RunMeasured, ...] = ()
    circumstances: Mapping[str, r.CircumstancesTaken] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Act:
    """One act, from request to end."""

    requested: r.ActRequested | None = None
    refused: r.ActRefused | None = None
    advanced: r.ActAdvanced | None = None
    finished: r.ActFinished | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What is known of the session itself."""

    opened: n.SessionOpened | None = None
    clock: n.ClockPaired | None = None
    jumped: n.TimeJumped | None = None
    recording: n.RecordingChanged | None = None
    dropped: n.EventsDropped | None = None
    closed: n.SessionClosed | None = None
    step: n.StepStarted | None = None
    markers: tuple[n.MarkerPut, ...] = ()
    notes: tuple[n.NoteWritten, ...] = ()
    steps: tuple[n.StepFinished, ...] = ()
    notices: tuple[n.Noticed, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Everything, in the order in which it was first heard of."""

    session: Session = Session()
    hosts: Mapping[str, Host] = field(default_factory=dict)
    servers: Mapping[str, Server] = field(default_factory=dict)
    logs: Mapping[str, Log] = field(default_factory=dict)
    benches: Mapping[str, Bench] = field(default_factory=dict)
    acts: Mapping[str, Act] = field(default_factory=dict)
    assumptions: Mapping[str, r.AssumptionStated] = field(default_factory=dict)
    verdicts: tuple[r.VerdictReached, ...] = ()

    def standing(self, server: str) -> Standing:
        """The standing last concluded for a server."""
        cell = self.servers.get(server)
        return cell.standing.standing if cell and cell.standing else Standing.UNKNOWN


@dataclass(frozen=True, slots=True)
class Jump:
    """A seek: State is replaced, as it was at `at_us`."""

    state: State
    at_us: int


Item = Event | Jump


def facts(state: State) -> list[Event]:
    """The events whose fold from nothing gives this State again, in stamped order.

    Log marks are written as `LogMarked`, after all others, since a gap event moves a mark too.
    """
    found = list(_events_of(state))
    found.sort(key=lambda event: event.seq)
    marks: list[Event] = [
        s.LogMarked(Clean(name), log.mark.first, log.mark.end, log.mark.dropped)
        for name, log in state.logs.items()
    ]
    return found + marks


def _events_of(node: object) -> Iterator[Event]:
    match node:
        case LogMark():
            return
        case Fact():
            yield cast("Event", node)
        case tuple():
            for part in node:
                yield from _events_of(part)
        case Mapping():
            for part in node.values():
                yield from _events_of(part)
        case State() | Session() | Host() | Server() | Log() | Bench() | Act():
            for part in fields(node):
                yield from _events_of(getattr(node, part.name))
        case _:
            return
