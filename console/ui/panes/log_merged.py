"""Several logs as one, by arrival: their chunks in one ring, each naming the log it came from.

Begins with the newest lines of each log and goes on from there; what it leaves out is said where
they begin. The lines themselves are shared with the store they came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.model.clock import Clock
from console.model.fleet import Arm, LogId
from console.model.palette import Role
from console.model.span import Span, Spans, fit, width
from console.model.text import Clean
from console.render.label import label
from console.render.reading import rank
from console.stream.fact import GapKind
from console.stream.logs import Chunk, Logs, Ring
from console.stream.server_events import LogGap
from console.stream.state import Log as LogCell
from console.stream.state import State
from console.ui.panes.log import Log
from console.ui.sight import Sight
from console.ui.theme import Ink
from console.ui.window import Line

MERGED = LogId("all logs")
BEGIN_LINES = 20_000
"""How much of each log is merged when merging begins."""
_WIDEST = 24
_WIDEST_RANK = 8
_ARMS = {Arm.BASELINE: Role.BASELINE, Arm.SPECULATIVE: Role.SPECULATIVE}


class Merged:
    """The merged lines so far."""

    def __init__(self) -> None:
        self.ring = Ring()
        self.end = 0
        self._seen: dict[LogId, int] = {}

    def follows(self, ends: Mapping[LogId, int]) -> bool:
        """Whether the logs only went on since; a player that went back needs merging anew."""
        return all(ends.get(log, 0) >= seen for log, seen in self._seen.items())

    def take(self, logs: Logs, ends: Mapping[LogId, int]) -> None:
        """Merge what came in since, up to the numbers before which each log ends."""
        found: list[Chunk] = []
        for log, end in ends.items():
            chunks = _came(logs, log, self._seen.get(log), end)
            begun = next(chunks, None)
            if begun is not None:
                found += [*_left_out(logs, log, self._seen.get(log), begun), begun, *chunks]
            self._seen[log] = end
        for chunk in sorted(found, key=lambda chunk: chunk.t_us):
            self.ring.hold(MERGED, chunk._replace(first=self.end))
            self.end += chunk.span


def _came(logs: Logs, log: LogId, seen: int | None, end: int) -> Iterator[Chunk]:
    """What came in of a log since, its newest lines when none was merged yet."""
    start = max(logs.reach(log)[0], end - BEGIN_LINES) if seen is None else seen
    if end > start:
        for chunk in logs.chunks(log, start, end):
            yield _cut(chunk, log, start, end)


def _left_out(logs: Logs, log: LogId, seen: int | None, begun: Chunk) -> Iterator[Chunk]:
    """A notice before a chunk, where lines between it and the last one merged are missing."""
    first, told = logs.reach(log)[0], []
    if begun.first > max(first, seen or 0):
        missing = begun.first - max(first, seen or 0)
        told.append(f"{missing:,} earlier lines are left out here; the log alone shows them")
    if first > (seen or 0):
        told.append(f"{first - (seen or 0):,} are no longer held")
    if told:
        text = Clean("; ".join(told))
        gap = LogGap(Clean(log), begun.first, 1, GapKind.INEXACT, text)
        yield Chunk(begun.first, begun.t_us, (text,), 1, gap, log)


def _cut(chunk: Chunk, log: LogId, start: int, end: int) -> Chunk:
    """The part of a chunk from `start` up to before `end`; a gap stays whole."""
    if chunk.gap is not None or (chunk.first >= start and chunk.end <= end):
        return chunk._replace(log=log)
    first = max(chunk.first, start)
    lines = chunk.lines[first - chunk.first : end - chunk.first]
    return Chunk(first, chunk.t_us, lines, len(lines), None, log)


class MergedLog(Log):
    """The pane of all logs."""

    def __init__(self, ink: Ink, clock: Clock) -> None:
        super().__init__(ink, clock, "merged")
        self._merged = Merged()
        self._names: dict[LogId, Spans] = {}
        self._ranks: dict[Line, str] = {}
        self._rank_cells = 0
        self.rows.before = lambda line: (*self._whose(line), *self.times.before(line))

    def where(self, sight: Sight) -> tuple[Logs, LogId, int]:
        """The merged log, brought up to date."""
        ends = {LogId(name): cell.mark.end for name, cell in sight.state.logs.items()}
        if not self._merged.follows(ends):
            self._merged = Merged()
            self.window.follow()
        self._merged.take(sight.logs, ends)
        if len(self._names) != len(ends):
            self._names = _names(sight.state)
            self.rows.forget()
        return self._merged.ring, MERGED, self._merged.end

    def head(self, sight: Sight) -> tuple[Spans, str, tuple[LogCell, ...]]:
        cells = sight.state.logs.values()
        title = (Span("Logs", Role.TITLE), Span(f"  {len(cells)} merged by arrival", Role.DIM))
        return title, "", tuple(cells)

    def show(self, sight: Sight) -> None:
        super().show(sight)
        self._ranks = {line: self._rank(line) for line in self.window.lines}
        widest = min(_WIDEST_RANK, max(map(len, self._ranks.values()), default=0))
        if widest > self._rank_cells:
            # Once there is a column it stays, or lines would jump with each that names no rank.
            self._rank_cells = widest
            self.again(anew=True)

    def _whose(self, line: Line) -> Spans:
        told = self._names.get(line.log, ())
        if self._rank_cells:
            told = (*told, Span(f" {fit(self._rank(line), self._rank_cells)}", Role.LOG_RANK))
        return (*told, Span(" │ ", Role.DIM))

    def _rank(self, line: Line) -> str:
        told = self._ranks.get(line)
        if told is None:
            told = self._ranks[line] = rank(line.text)
        return told


def _names(state: State) -> dict[LogId, Spans]:
    """What stands before a line of each log: its host where there are several, and its server."""
    hosts = {server.listed.host for server in state.servers.values() if server.listed}
    names: dict[LogId, tuple[str, Role]] = {}
    for name in state.logs:
        listed = state.servers[name].listed if name in state.servers else None
        host = f"{listed.host}/" if listed is not None and len(hosts) > 1 else ""
        role = _ARMS.get(listed.arm, Role.LOG_RANK) if listed is not None else Role.LOG_RANK
        names[LogId(name)] = (label(f"{host}{name}"), role)
    wide = min(_WIDEST, max((width(text) for text, _ in names.values()), default=0))
    return {log: (Span(fit(text, wide), role),) for log, (text, role) in names.items()}
