"""The whole union of events, by subject, and the names their kinds have in a session file.

Every kind an event can have is in KINDS exactly once; fold and codec cover all of them.
"""

from __future__ import annotations

from console.stream import host_events as h
from console.stream import run_events as r
from console.stream import server_events as s
from console.stream import session_events as n
from console.stream.fact import Fact

ServerEvent = (
    s.ServerListed
    | s.HealthSeen
    | s.StandingChanged
    | s.EngineSeen
    | s.ArmSeen
    | s.ArgsSeen
    | s.LoadAdvanced
    | s.LoadEnded
    | s.MetricSeen
    | s.TokenSeen
    | s.EnvRead
    | s.ProcessSeen
    | s.CollectiveSeen
    | s.ConditionSeen
    | s.EnvDrifted
    | n.HistoryKnown
)
LogEvent = s.LogListed | s.LogAdvanced | s.LogGap | s.LogFeedChanged | s.LogMarked
HostEvent = (
    h.HostListed
    | h.LinkChanged
    | h.HostSeen
    | h.GpuListed
    | h.GpuSeen
    | h.GpuHeld
    | h.GpusJoined
    | h.GpusAbsent
)
RunEvent = (
    r.BenchStarted
    | r.RunMeasured
    | r.CircumstancesTaken
    | r.BenchFinished
    | r.VerdictReached
    | r.AssumptionStated
)
ActEvent = r.ActRequested | r.ActRefused | r.ActAdvanced | r.ActFinished
SessionEvent = (
    n.SessionOpened
    | n.ClockPaired
    | n.TimeJumped
    | n.MarkerPut
    | n.NoteWritten
    | n.StepStarted
    | n.StepFinished
    | n.RecordingChanged
    | n.EventsDropped
    | n.Noticed
    | n.SessionClosed
)
Event = ServerEvent | LogEvent | HostEvent | RunEvent | ActEvent | SessionEvent

KINDS: dict[str, type[Fact]] = {
    "server": s.ServerListed,
    "health": s.HealthSeen,
    "standing": s.StandingChanged,
    "engine": s.EngineSeen,
    "arm": s.ArmSeen,
    "args": s.ArgsSeen,
    "load": s.LoadAdvanced,
    "load_end": s.LoadEnded,
    "metric": s.MetricSeen,
    "token": s.TokenSeen,
    "env": s.EnvRead,
    "process": s.ProcessSeen,
    "collective": s.CollectiveSeen,
    "condition": s.ConditionSeen,
    "drift": s.EnvDrifted,
    "history": n.HistoryKnown,
    "log_listed": s.LogListed,
    "log": s.LogAdvanced,
    "gap": s.LogGap,
    "feed": s.LogFeedChanged,
    "log_mark": s.LogMarked,
    "host": h.HostListed,
    "link": h.LinkChanged,
    "machine": h.HostSeen,
    "gpu_listed": h.GpuListed,
    "gpu": h.GpuSeen,
    "gpu_held": h.GpuHeld,
    "gpus_joined": h.GpusJoined,
    "no_gpus": h.GpusAbsent,
    "bench": r.BenchStarted,
    "run": r.RunMeasured,
    "circumstances": r.CircumstancesTaken,
    "bench_end": r.BenchFinished,
    "verdict": r.VerdictReached,
    "assumed": r.AssumptionStated,
    "act": r.ActRequested,
    "act_refused": r.ActRefused,
    "act_phase": r.ActAdvanced,
    "act_end": r.ActFinished,
    "opened": n.SessionOpened,
    "clock": n.ClockPaired,
    "jump": n.TimeJumped,
    "marker": n.MarkerPut,
    "note": n.NoteWritten,
    "step": n.StepStarted,
    "step_end": n.StepFinished,
    "recording": n.RecordingChanged,
    "dropped": n.EventsDropped,
    "notice": n.Noticed,
    "closed": n.SessionClosed,
}
