"""Several logs as one, by arrival: their chunks in one ring, each naming the log it came from.

Begins with the newest lines of each log and goes on from there; the lines themselves are shared
with the store they came from.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.model.clock import Clock
from console.model.fleet import Arm, LogId
from console.model.palette import Role
from console.model.span import Span, Spans, fit, width
from console.render.label import label
from console.stream.logs import Chunk, Logs, Ring
from console.stream.state import LogMark, State
from console.ui.panes.log import Log
from console.ui.sight import Sight
from console.ui.theme import Ink
from console.ui.window import Line

MERGED = LogId("all logs")
BEGIN_LINES = 20_000
"""How much of each log is merged when merging begins."""
_WIDEST = 24
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
            start = self._seen.get(log)
            if start is None:
                start = max(logs.reach(log)[0], end - BEGIN_LINES)
            if end > start:
                found += [_cut(chunk, log, start, end) for chunk in logs.chunks(log, start, end)]
            self._seen[log] = end
        for chunk in sorted(found, key=lambda chunk: chunk.t_us):
            self.ring.hold(MERGED, chunk._replace(first=self.end))
            self.end += chunk.span


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

    def head(self, sight: Sight) -> tuple[Spans, tuple[LogMark, ...]]:
        cells = sight.state.logs.values()
        title = (Span("Logs", Role.TITLE), Span(f"  {len(cells)} merged by arrival", Role.DIM))
        return title, tuple(cell.mark for cell in cells)

    def _whose(self, line: Line) -> Spans:
        return self._names.get(line.log, ())


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
    return {
        log: (Span(fit(text, wide), role), Span(" │ ", Role.DIM))
        for log, (text, role) in names.items()
    }
