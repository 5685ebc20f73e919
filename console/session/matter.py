"""Which log lines of a session matter: those around a change, those that report an error.

Bounded: a page of evidence is read by people. What was left out is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from console.model.fleet import LogId
from console.model.text import plain
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.stream.fact import Standing
from console.stream.logs import last_lines, lines
from console.stream.server_events import LoadEnded, LogAdvanced, LogGap, LogListed, StandingChanged
from console.stream.session_events import MarkerPut

MOST_PARTS = 40
MOST_LINES = 30
_AROUND = 2
_KINDS = ("gap", "load_end", "log", "log_listed", "marker", "standing")
_TELLING = (Standing.ALIVE, Standing.GENERATING, Standing.DOWN, Standing.STALLED, Standing.DEGRADED)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of one log that stand together, and why they matter."""

    t_us: int
    why: str
    lines: tuple[str, ...]


@dataclass(slots=True)
class _Log:
    parts: list[Part] = field(default_factory=list)
    left_out: int = 0
    end: int = 0
    shown: int = 0

    def add(self, part: Part) -> None:
        if len(self.parts) < MOST_PARTS:
            self.parts.append(part)
        else:
            self.left_out += 1


def lines_that_matter(
    journal: Journal, grave: Callable[[str], bool]
) -> Mapping[str, tuple[Part, ...]]:
    """By log, in order: at each standing and marker the last lines, a load's own, gaps, errors."""
    return _Reading(journal, grave).read()


class _Reading:
    """One pass over a session."""

    def __init__(self, journal: Journal, grave: Callable[[str], bool]) -> None:
        self.journal = journal
        self.logs = JournalLogs(journal)
        self.grave = grave
        self.found: dict[str, _Log] = {}
        self.logs_of: dict[str, list[str]] = {}

    def read(self) -> Mapping[str, tuple[Part, ...]]:
        index = self.journal.index
        for number in range(len(index)):
            if index.kind_of(number) in _KINDS:
                self._take(self.journal.event(number, bulk=True))
        told: dict[str, tuple[Part, ...]] = {}
        for log, held in self.found.items():
            more = Part(self.journal.length_us, f"{held.left_out:,} further places left out", ())
            told[log] = (*held.parts, more) if held.left_out else tuple(held.parts)
        return {log: parts for log, parts in told.items() if parts}

    def _take(self, event: object) -> None:
        match event:
            case LogListed():
                self.logs_of.setdefault(event.server, []).append(event.log)
            case LogAdvanced():
                held = self.found.setdefault(event.log, _Log())
                held.end = event.first + event.count
                bad = [plain(line) for line in event.lines if self.grave(plain(line))]
                if bad:
                    held.add(Part(event.t_us, "errors", tuple(bad[:MOST_LINES])))
            case LogGap():
                held = self.found.setdefault(event.log, _Log())
                held.end = event.at + event.span
                held.add(Part(event.t_us, "lines are missing here", (plain(event.text),)))
            case LoadEnded() if event.first_line is not None:
                end = event.first_line + min(event.line_count, MOST_LINES)
                for log in self.logs_of.get(event.server, [event.server]):
                    shown = tuple(map(plain, lines(self.logs, LogId(log), event.first_line, end)))
                    self._add(log, Part(event.t_us, f"the load ended: {event.marker}", shown))
            case StandingChanged() if event.standing in _TELLING:
                for log in self.logs_of.get(event.server, [event.server]):
                    self._around(log, event.t_us, f"{event.standing.value}: {event.why}")
            case MarkerPut():
                for log in self.found:
                    self._around(log, event.t_us, f"marked: {event.name}")
            case _:
                return

    def _around(self, log: str, t_us: int, why: str) -> None:
        """The last lines at this time, unless they stand on the page already."""
        held = self.found.setdefault(log, _Log())
        if held.end > held.shown:
            held.shown = held.end
            newest = tuple(map(plain, last_lines(self.logs, LogId(log), _AROUND, held.end)))
            self._add(log, Part(t_us, why, newest))

    def _add(self, log: str, part: Part) -> None:
        if part.lines:
            self.found.setdefault(log, _Log()).add(part)
