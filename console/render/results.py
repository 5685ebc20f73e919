"""What was measured and what it means, as far as this session holds any: runs, verdicts.

Says in words when there is nothing; never shows a figure nobody measured.
"""

from __future__ import annotations

from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.spans import wrapped
from console.render.units import EMPTY, counted, rate
from console.stream.run_events import VerdictReached
from console.stream.state import Bench, State

NO_BENCH = "No benchmark in this session."
NO_VERDICT = "No comparison in this session."
ARM_MARKS: dict[Arm, tuple[str, Role]] = {
    Arm.BASELINE: ("●", Role.BASELINE),
    Arm.SPECULATIVE: ("▲", Role.SPECULATIVE),
}


def bench_lines(state: State) -> tuple[Spans, ...]:
    """One line a benchmark, newest first: arm, server, its runs' decode rates."""
    found = [_bench(bench) for bench in state.benches.values() if bench.started is not None]
    return tuple(reversed(found)) or ((Span(NO_BENCH, Role.DIM),),)


def verdict_lines(state: State, room: int) -> tuple[Spans, ...]:
    """The newest verdict, its interval and every reason, wrapped to `room` cells."""
    if not state.verdicts:
        return ((Span(NO_VERDICT, Role.DIM),),)
    newest = state.verdicts[-1]
    lines: list[Spans] = [(Span(label(newest.verdict), Role.STRONG), Span(_interval(newest)))]
    lines.extend((Span(part),) for part in wrapped(label(newest.text), room))
    for reason in newest.reasons:
        for place, part in enumerate(wrapped(label(reason), room - 2)):
            lines.append((Span("  " if place else "! ", Role.WARNING), Span(part)))
    return tuple(lines)


def _bench(bench: Bench) -> Spans:
    assert bench.started is not None
    mark, role = ARM_MARKS[bench.started.arm]
    runs = [run for run in bench.runs if not run.warm_up]
    rates = " ".join(EMPTY if run.void else rate(run.decode_tok_s) for run in runs)
    state = "running" if bench.finished is None else "" if bench.finished.valid else "not valid"
    head = Span(f"{mark} {bench.started.arm.value} ", role)
    name = Span(f"{label(bench.started.server)} ", Role.STRONG)
    told = Span(f"{rates} tok/s" if rates else counted(0, "run"))
    return (head, name, told, Span(f"  {state}", Role.WARNING)) if state else (head, name, told)


def _interval(verdict: VerdictReached) -> str:
    if verdict.ratio is None:
        return ""
    change = f"  {(verdict.ratio - 1) * 100:+.1f} %"
    if verdict.low is None or verdict.high is None:
        return change
    return f"{change} [{(verdict.low - 1) * 100:.1f}, {(verdict.high - 1) * 100:.1f}]"
