"""What happens, as lines for a person at a terminal that cannot be drawn on.

A line each for what a screen would show in passing: standings, loads, log lines, links, benchmarks,
acts, notices. Holds at most so many that nobody has read yet; what is left out is counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from console.model.fleet import LogId
from console.model.span import plain_text
from console.model.text import Clean, plain
from console.model.zone import in_zone
from console.render.header import host_spans, session_utc
from console.render.results import verdict_lines
from console.render.standings import standing_spans
from console.render.units import clock, rate
from console.stream.host_events import LinkChanged
from console.stream.logs import lines as log_lines
from console.stream.run_events import (
    ActAdvanced,
    ActFinished,
    AssumptionStated,
    BenchFinished,
    BenchStarted,
    RunMeasured,
    VerdictReached,
)
from console.stream.server_events import (
    EnvDrifted,
    LoadAdvanced,
    LogAdvanced,
    LogFeedChanged,
    LogGap,
    StandingChanged,
)
from console.stream.session_events import (
    EventsDropped,
    MarkerPut,
    NoteWritten,
    Noticed,
    RecordingChanged,
)
from console.stream.state import Item, Jump, State
from console.stream.timeline import Timeline

MOST_LINES = 5_000
LOAD_S = 10
"""Seconds between two lines about one load."""


class Telling:
    """Takes what happens and gives it as lines.

    Args:
        zone: the time zone of the clock before each line.
    """

    def __init__(self, timeline: Timeline, zone: str) -> None:
        self._timeline = timeline
        self._zone = zone
        self._lines: deque[str] = deque()
        self._left_out = 0
        self._standings: dict[str, str] = {}
        self._loads_us: dict[str, int] = {}

    def take(self, item: Item, state: State) -> None:
        """The subscriber given to a timeline."""
        for line in self._told(item, state):
            if len(self._lines) >= MOST_LINES:
                self._lines.popleft()
                self._left_out += 1
            self._lines.append(line)

    def begin(self) -> None:
        """Tell how everything stands when somebody begins to look."""
        state = self._timeline.state
        for name, host in state.hosts.items():
            self._lines.append(self._line("host", plain_text(host_spans(name, host))))
        for name in state.servers:
            self._lines.extend(self._standing(name, state))
        for notice in state.session.notices:
            self.take(notice, state)

    def drain(self) -> list[str]:
        """The lines since the last time, and how many of them there was no room for."""
        found = list(self._lines)
        self._lines.clear()
        if self._left_out:
            text = f"{self._left_out:,} lines left out: they came faster than they were read"
            found.insert(0, self._line("--", text))
            self._left_out = 0
        return found

    def _told(self, item: Item, state: State) -> Iterator[str]:
        match item:
            case Jump():
                self._standings.clear()
                yield self._line("--", f"at {clock(item.at_us)} of the session")
                for name in state.servers:
                    yield from self._standing(name, state)
            case LogAdvanced():
                first, end = item.first, item.first + item.count
                for text in log_lines(self._timeline.logs, LogId(item.log), first, end):
                    yield f"{plain(item.log)} | {plain(text)}"
            case LogGap():
                yield self._line(item.log, f"-- {plain(item.text)}")
            case StandingChanged():
                yield from self._standing(item.server, state)
            case LoadAdvanced():
                yield from self._load(item, state)
            case LinkChanged():
                host = state.hosts[item.host]
                why = f": {plain(item.why)}" if item.why else ""
                yield self._line("host", plain_text(host_spans(item.host, host)) + why)
                for detail in item.detail:
                    yield f"    {plain(detail)}"
            case _:
                yield from self._done(item, state)

    def _done(self, item: Item, state: State) -> Iterator[str]:
        """What was measured, done, marked, noticed."""
        match item:
            case BenchStarted():
                yield self._line(item.server, f"benchmark {item.bench}: {plain(item.protocol)}")
            case RunMeasured():
                told = plain(item.void) or f"{rate(item.decode_tok_s)} tok/s"
                counted = sum(not run.warm_up for run in state.benches[item.bench].runs)
                kind = "warm-up" if item.warm_up else f"run {counted}"
                yield self._line(item.bench, f"{kind}: {told}")
            case BenchFinished():
                why = f": {plain(item.why)}" if item.why else ""
                yield self._line(item.bench, ("valid" if item.valid else "not valid") + why)
            case VerdictReached():
                for line in verdict_lines(state):
                    yield self._line("verdict", plain_text(line))
            case AssumptionStated():
                text = f"{rate(item.decode_tok_s)} tok/s, {plain(item.source)}: an assumption"
                yield self._line(item.name, text)
            case ActAdvanced():
                yield self._line(item.act, f"{plain(item.phase)}  {plain(item.text)}")
            case ActFinished():
                yield self._line(item.act, f"{plain(item.outcome)}  {plain(item.text)}")
            case EnvDrifted():
                yield self._line(item.server, plain(item.why))
            case LogFeedChanged() if item.why:
                yield self._line(item.log, f"log {item.feed.value}: {plain(item.why)}")
            case Noticed():
                remedy = f" ({plain(item.remedy)})" if item.remedy else ""
                yield self._line(item.subject, f"{item.severity}: {plain(item.text)}{remedy}")
            case MarkerPut():
                yield self._line("marker", plain(item.name))
            case NoteWritten():
                yield self._line("note", plain(item.text))
            case RecordingChanged():
                why = f": {plain(item.why)}" if item.why else f" to {plain(item.path)}"
                yield self._line("recording", f"{item.recording.value}{why}")
            case EventsDropped():
                yield self._line("recording", f"{item.count} events left out: {plain(item.why)}")
            case _:
                pass

    def _standing(self, name: str, state: State) -> Iterator[str]:
        """How a server stands, unless that was told already."""
        told = plain_text(standing_spans(state.servers[name]))
        if self._standings.get(name) != told:
            self._standings[name] = told
            yield self._line(name, told)

    def _load(self, item: LoadAdvanced, state: State) -> Iterator[str]:
        """How far a load is: at once, then every so often."""
        due_us = self._loads_us.get(item.server, -LOAD_S * 1_000_000) + LOAD_S * 1_000_000
        if item.t_us >= due_us or item.t_us < due_us - 2 * LOAD_S * 1_000_000:
            self._loads_us[item.server] = item.t_us
            yield from self._standing(item.server, state)

    def _line(self, about: str, text: str) -> str:
        utc = session_utc(self._timeline.state, self._timeline.now_us)
        moment = in_zone(utc, self._zone).strftime("%H:%M:%S") if utc else "--:--:--"
        return f"{moment}  {plain(Clean(about)):<14} {text.strip()}"
