"""The page of both arms: their runs one by one, and what stands beside the verdict.

Cycle and break-even only where acceptance was told; everything projected says so.
"""

from __future__ import annotations

from statistics import fmean

from console.bench.breakeven import Cycle, with_believed
from console.bench.provenance import Severity, differences
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.bench import DEFINITION, run_lines
from console.render.bench_charts import (
    MARKS,
    Shown,
    acceptance_chart,
    cycle_chart,
    history_chart,
    live_chart,
    mean_of,
    shown,
)
from console.render.label import label
from console.render.results import NO_BENCH, wrapped
from console.stream.measured import circumstances_of
from console.stream.series import Series, SeriesKey
from console.stream.session_events import HistoryKnown
from console.stream.state import Bench, State

TOPIC = "baseline of record"
LIVE_US = 120_000_000
CHART_LINES = 11
_ROLES = {
    Severity.INVALIDATES: Role.ERROR,
    Severity.WARN: Role.WARNING,
    Severity.EXPECTED: Role.DIM,
}
_MARKS = {Severity.INVALIDATES: "✗", Severity.WARN: "!", Severity.EXPECTED: "·"}


def runs_page(state: State, room: int) -> tuple[Spans, ...]:
    """Every run of the newest benchmark of each arm, with what it was and how it ended."""
    lines: list[Spans] = []
    for arm, bench in shown(state).both():
        started, finished = bench.started, bench.finished
        assert started is not None
        mark, _, role = MARKS[arm]
        head = Span(f"{mark} {label(started.bench)} {label(started.server)} ", role)
        lines.append((head, Span(f"{label(started.protocol)}, timed on {label(started.worker)}")))
        head_row, *rows = run_lines(bench)
        lines.append((Span(head_row, Role.DIM),))
        for row in rows:
            lines += _run(row, len(head_row), room)
        if finished is not None and finished.why:
            lines += wrapped("! ", label(finished.why), room, Role.WARNING)
        lines.append(())
    if not lines:
        return ((Span(NO_BENCH, Role.DIM),),)
    return (*lines, *wrapped("", DEFINITION, room, role=Role.DIM))


def _run(row: str, cells: int, room: int) -> list[Spans]:
    """A run's figures; what is to be said of it below them where it has no room beside."""
    role = Role.WARNING if row[cells:].startswith("  void: ") else Role.TEXT
    if len(row) <= room:
        return [(Span(row, role),)]
    return [(Span(row[:cells]),), *wrapped(" " * 8, row[cells:].strip(), room, role=role)]


def beside_page(state: State, series: Series, now_us: int, room: int) -> tuple[Spans, ...]:
    """Live rate, cycle, acceptance, history and what differs, as far as there is any of it."""
    arms = shown(state)
    parts = [
        _live(arms, series, now_us, room),
        _cycle(state, arms, room),
        acceptance_chart(arms.speculative, room) if arms.speculative is not None else (),
        _history(state, room),
        _differences(arms, room),
    ]
    lines: list[Spans] = []
    for part in parts:
        if part:
            lines += [*part, ()]
    return tuple(lines[:-1])


def _live(arms: Shown, series: Series, now_us: int, room: int) -> tuple[Spans, ...]:
    for arm, bench in arms.both():
        if bench.finished is None and bench.started is not None:
            key = SeriesKey(bench.started.server, "decode_tok_s")
            first_us = max(bench.started.t_us, now_us - LIVE_US)
            return live_chart(series.window(key, first_us, now_us + 1), arm, room, CHART_LINES)
    return ()


def cycle_of(arms: Shown) -> Cycle | None:
    """The cycle of the speculative arm against the baseline; None where either is missing."""
    if arms.baseline is None or arms.speculative is None:
        return None
    base, spec = mean_of(arms.baseline), mean_of(arms.speculative)
    lengths = [
        value
        for run in arms.speculative.runs
        for name, value in run.figures
        if name == "accept_len" and not run.void and not run.warm_up and 0 < value < 1e6
    ]
    if base is None or spec is None or not lengths:
        return None
    return Cycle.from_rates(spec.mid, fmean(lengths), base.mid)


def _cycle(state: State, arms: Shown, room: int) -> tuple[Spans, ...]:
    cycle = cycle_of(arms)
    if cycle is None:
        return ()
    what = with_believed(cycle, [one.decode_tok_s for one in state.assumptions.values()])
    told = (line for one in what for line in wrapped("", one.text(), room, Role.TEXT, Role.NOTE))
    return (*cycle_chart(cycle, room), *told)


def history_known(state: State) -> HistoryKnown | None:
    """The history of the baseline that is shown."""
    bench = shown(state).baseline
    server = state.servers.get(bench.started.server) if bench and bench.started else None
    return server.history.get(TOPIC) if server is not None else None


def _history(state: State, room: int) -> tuple[Spans, ...]:
    known = history_known(state)
    if known is None or len(known.figures) < 2:
        return ()
    return history_chart(known, room, CHART_LINES)


def _differences(arms: Shown, room: int) -> tuple[Spans, ...]:
    if arms.baseline is None or arms.speculative is None:
        return _unread(arms.baseline or arms.speculative)
    found = differences(circumstances_of(arms.baseline), circumstances_of(arms.speculative))
    head: Spans = (Span("circumstances of both arms", Role.DIM),)
    if not found:
        return (head, (Span("the same in all that was read", Role.GOOD),))
    rows: list[Spans] = [head]
    for one in found:
        rows += wrapped(f"{_MARKS[one.severity]} ", label(one.text()), room, _ROLES[one.severity])
    return tuple(rows)


def _unread(bench: Bench | None) -> tuple[Spans, ...]:
    if bench is None:
        return ()
    groups = circumstances_of(bench).groups
    told = [f"{name}: not read: {group.unread}" for name, group in groups.items() if group.unread]
    return tuple((Span("! ", Role.WARNING), Span(label(text))) for text in told)
