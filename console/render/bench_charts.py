"""What was measured, drawn: runs of both arms, the live rate, acceptance, the cycle, the history.

Arms are told apart by marker and label before any colour. Figures come from State as they are; a
figure nobody measured is dotted and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.bench.breakeven import Cycle
from console.bench.metrics import Figures
from console.bench.stats import Interval, log_interval
from console.model.clock import utc_from_text
from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.charts import BRAILLE, LEVEL, MOST_LOOKED_AT, Axes, Points, plotted
from console.render.label import label
from console.render.spans import cells, joined, wrapped
from console.render.units import rate
from console.stream.measured import figures_of
from console.stream.run_events import AssumptionStated
from console.stream.series import Columns
from console.stream.session_events import HistoryKnown
from console.stream.state import Bench, State

MARKS: dict[Arm, tuple[str, str, Role]] = {
    Arm.BASELINE: ("●", "┃", Role.BASELINE),
    Arm.SPECULATIVE: ("▲", "║", Role.SPECULATIVE),
}
"""Of each arm: the mark of a run, of its interval, and the role."""
WARM_UP, VOID = "·", "×"
RUNS_TITLE = "tok/s per run, decode only"
GAP = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """The benchmarks of both arms that a chart shows."""

    baseline: Bench | None
    speculative: Bench | None

    def both(self) -> tuple[tuple[Arm, Bench], ...]:
        """Those that are there, the baseline first."""
        pairs = ((Arm.BASELINE, self.baseline), (Arm.SPECULATIVE, self.speculative))
        return tuple((arm, bench) for arm, bench in pairs if bench is not None)


def shown(state: State) -> Shown:
    """What was compared last, with anything newer in its place; else the newest of each arm."""
    found: dict[Arm, Bench] = {}
    for bench in state.benches.values():
        if bench.started is not None:
            found[bench.started.arm] = bench
    return Shown(found.get(Arm.BASELINE), found.get(Arm.SPECULATIVE))


def runs_chart(state: State, width: int, height: int) -> tuple[Spans, ...]:
    """tok/s of every run of both arms with their intervals, assumptions dotted, a legend below;
    () where nothing was measured."""
    arms = shown(state).both()
    if not any(bench.runs for _, bench in arms):
        return ()
    series: list[Points] = []
    ticks: dict[float, str] = {}
    at = 1.0
    for arm, bench in arms:
        series += _arm_points(arm, bench, at, ticks)
        at += len(bench.runs) + GAP
    legend = _legend(arms, list(state.assumptions.values()), width)
    levels = [stated.decode_tok_s for stated in state.assumptions.values()]
    lines = plotted(series, Axes(ticks, levels=levels), width, height - len(legend) - 1)
    title = (Span(RUNS_TITLE, Role.DIM),)
    return (title, *lines, *legend) if lines else (title, *legend)


def _arm_points(arm: Arm, bench: Bench, at: float, ticks: dict[float, str]) -> list[Points]:
    mark, bar, role = MARKS[arm]
    good: list[tuple[float, float]] = []
    void: list[tuple[float, float]] = []
    warm: list[tuple[float, float]] = []
    for number, run in enumerate(bench.runs):
        ticks[at + number] = "w" if run.warm_up else arm.value[0].upper()
        if run.decode_tok_s is not None:
            kind = warm if run.warm_up else void if run.void else good
            kind.append((at + number, run.decode_tok_s))
    found = [Points(warm, WARM_UP, Role.DIM), Points(void, VOID, Role.WARNING)]
    found.append(Points(good, mark, role))
    mean = mean_of(bench)
    if mean is not None:
        right = at + len(bench.runs)
        span = [mean.low + (mean.high - mean.low) * n / 20 for n in range(21)]
        found.append(Points([(right, y) for y in span], bar, role))
    return found


def mean_of(bench: Bench) -> Interval | None:
    """Geometric mean of the runs that count with its 95 % interval; None with fewer than two."""
    found = (figures_of(run) for run in bench.runs if not run.void and not run.warm_up)
    rates = [figures.decode_tok_s for figures in found if isinstance(figures, Figures)]
    return log_interval(rates) if len(rates) > 1 else None


def _legend(
    arms: Sequence[tuple[Arm, Bench]], believed: Sequence[AssumptionStated], width: int
) -> tuple[Spans, ...]:
    """`● baseline 62.9 [62.6, 63.2]`, side by side where there is room."""
    parts: list[Spans] = []
    for arm, bench in arms:
        mark, bar, role = MARKS[arm]
        mean = mean_of(bench)
        told = rate(mean.mid) if mean else "–"
        between = f" {bar} [{rate(mean.low)}, {rate(mean.high)}]" if mean else ""
        parts.append((Span(f"{mark} {arm.value} ", role), Span(told, Role.STRONG), Span(between)))
    for stated in believed:
        text = f"{LEVEL} {stated.decode_tok_s:g} assumed ({label(stated.name)})"
        parts.append((Span(text, Role.NOTE),))
    lines: list[Spans] = []
    for part in parts:
        together = joined((lines[-1], part), "    ") if lines else part
        if lines and cells(together) <= width:
            lines[-1] = together
        else:
            lines.append(part)
    return tuple(lines)


def live_chart(columns: Columns, arm: Arm, width: int, height: int) -> tuple[Spans, ...]:
    """The live decode rate over time, seconds before the newest sample on the x axis."""
    if not columns.t_us:
        return ()
    newest = columns.t_us[-1]
    step = 1 + len(columns.t_us) // MOST_LOOKED_AT
    pairs = [
        ((t_us - newest) / 1e6, value)
        for t_us, value in zip(columns.t_us[::step], columns.value[::step], strict=True)
    ]
    first = pairs[0][0]
    ticks = {first: f"{first:.0f} s", first / 2: f"{first / 2:.0f} s", 0.0: "now"}
    line = Points(pairs, BRAILLE, MARKS[arm][2])
    lines = plotted([line], Axes(ticks, floor=0.0), width, height - 1)
    return ((Span("tok/s now", Role.DIM),), *lines) if lines else ()


def acceptance_chart(bench: Bench, width: int) -> tuple[Spans, ...]:
    """How often a draft is right at each position, one bar each; () where that is not told."""
    shares: dict[int, list[float]] = {}
    for run in bench.runs:
        figures = dict(run.figures)
        for name, value in figures.items():
            position = name.removeprefix("accept_")
            if name.startswith("accept_") and position.isdecimal() and not run.void:
                shares.setdefault(int(position), []).append(value)
    if not shares:
        return ()
    lines = [*_told("share of passes with the draft right, by position", width, Role.DIM)]
    room = max(4, width - 12)
    for place in sorted(shares)[:16]:
        known = [max(0.0, min(1.0, share)) for share in shares[place] if share == share]
        if not known:
            continue
        mean = sum(known) / len(known)
        bar = "█" * round(mean * room)
        head, end = Span(f"{place:>3} ", Role.DIM), Span(f" {100 * mean:.0f} %")
        lines.append((head, Span(bar, Role.SPECULATIVE), end))
    return tuple(lines)


def cycle_chart(cycle: Cycle, width: int) -> tuple[Spans, ...]:
    """One token of the baseline and one verify cycle to the same scale, verify and the rest apart
    where the server tells them."""
    base_ms = 1e3 / cycle.base_tok_s
    longest = max(base_ms, cycle.cycle_ms)
    room = max(8, width - 12)

    def bar(ms: float, char: str) -> str:
        return char * max(1, round(room * min(1.0, max(0.0, ms / longest))))

    base = (
        Span("baseline    ", Role.BASELINE),
        Span(bar(base_ms, "█"), Role.BASELINE),
    )
    if cycle.verify_ms is None or cycle.rest_ms is None:
        parts: Spans = (Span(bar(cycle.cycle_ms, "█"), Role.SPECULATIVE),)
        told = f"cycle {cycle.cycle_ms:.1f} ms for {cycle.length:.2f} tokens; "
        told += "the server does not tell verify and draft apart"
    else:
        verify, rest = bar(cycle.verify_ms, "█"), bar(cycle.rest_ms, "▒")
        parts = (Span(verify, Role.SPECULATIVE), Span(rest, Role.NOTE))
        told = f"cycle {cycle.cycle_ms:.1f} ms for {cycle.length:.2f} tokens: "
        told += f"█ verify {cycle.verify_ms:.1f} ms, ▒ draft and rest {cycle.rest_ms:.1f} ms"
    need = f"one token {base_ms:.1f} ms; break-even at {cycle.break_even:.2f} tokens a cycle"
    return (
        base,
        (Span("speculative ", Role.SPECULATIVE), *parts),
        *_told(told, width),
        *_told(need, width, Role.DIM),
    )


_CHANGES = (("environment", "E"), ("reboot", "B"), ("restart", "R"))


def history_chart(history: HistoryKnown, width: int, height: int) -> tuple[Spans, ...]:
    """Earlier baselines, oldest left, with E where the environment changed, R for a restart and B
    for a reboot below."""
    marks = dict(history.values)
    pairs, ticks = [], {}
    for number, (when, tok_s) in enumerate(history.figures[-60:]):
        pairs.append((float(number), tok_s))
        changed = marks.get(when, "")
        letter = next((letter for word, letter in _CHANGES if word in changed), "")
        if letter:
            ticks[float(number)] = letter
    role = MARKS[Arm.BASELINE][2]
    if not pairs:
        return ()
    first, last = (_day(history.figures[place][0]) for place in (-len(pairs), -1))
    head = (Span("baseline of record, tok/s", Role.DIM),)
    foot = f"{first} to {last} · E environment changed, R restarted, B rebooted"
    legend = _told(foot, width, Role.DIM)
    room = height - 1 - len(legend)
    lines = plotted([Points(pairs, "●", role)], Axes(ticks), width, room)
    return (head, *lines, *legend) if lines else ()


def _told(text: str, width: int, role: Role = Role.TEXT) -> tuple[Spans, ...]:
    """A text in lines of that width: what a figure is must never be cut off it."""
    return tuple((Span(line, role),) for line in wrapped(text, max(1, width)))


def _day(utc: str) -> str:
    try:
        return utc_from_text(utc).strftime("%Y-%m-%d")
    except ValueError:
        return "?"
