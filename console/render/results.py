"""What was measured and what it means, as far as this session holds any: runs, verdicts.

Says in words when there is nothing; never shows a figure nobody measured.
"""

from __future__ import annotations

import textwrap

from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.bench import progress
from console.render.label import label
from console.render.units import EMPTY, counted, rate
from console.stream.run_events import VerdictReached
from console.stream.state import Bench, State

NO_BENCH = "No benchmark in this session."
NO_VERDICT = "No comparison in this session."
_WORDS: dict[str, tuple[str, Role]] = {
    "FASTER": ("▲", Role.GOOD),
    "SLOWER": ("▼", Role.WARNING),
    "SAME": ("=", Role.NOTE),
    "NOT COMPARABLE": ("✗", Role.ERROR),
    "INVALID RUN": ("✗", Role.ERROR),
}
ARM_MARKS: dict[Arm, tuple[str, Role]] = {
    Arm.BASELINE: ("●", Role.BASELINE),
    Arm.SPECULATIVE: ("▲", Role.SPECULATIVE),
}


def bench_lines(state: State) -> tuple[Spans, ...]:
    """One line a benchmark, newest first: arm, server, its runs' decode rates."""
    found = [_bench(bench) for bench in state.benches.values() if bench.started is not None]
    return tuple(reversed(found)) or ((Span(NO_BENCH, Role.DIM),),)


def verdict_lines(state: State, room: int = 0) -> tuple[Spans, ...]:
    """The newest verdict in its own words, wrapped at `room` cells; 0 leaves lines whole."""
    return (*verdict_head(state, room), *verdict_reasons(state, room))


def verdict_head(state: State, room: int = 0) -> tuple[Spans, ...]:
    """The newest verdict without its reasons, or that there is none."""
    if not state.verdicts:
        return ((Span(NO_VERDICT, Role.DIM),),)
    newest = state.verdicts[-1]
    mark, role = _WORDS.get(newest.verdict, ("?", Role.NOTE))
    own = newest.text.startswith(newest.verdict)
    head = label(newest.text) if own else f"{label(newest.verdict)}{_interval(newest)}"
    lines = wrapped(f"{mark} ", head, room, role, Role.STRONG)
    if newest.text and not own:
        lines += wrapped("", label(newest.text), room)
    return tuple(lines)


def verdict_reasons(state: State, room: int = 0) -> tuple[Spans, ...]:
    """Why, and under which circumstances."""
    if not state.verdicts:
        return ()
    newest = state.verdicts[-1]
    own = newest.text.startswith(newest.verdict)
    lines: list[Spans] = []
    for reason in newest.reasons:
        text = label(reason)
        warns = text.startswith("! ") or not own
        lines += wrapped("! " if warns else "", text.removeprefix("! "), room, Role.WARNING)
    return tuple(lines)


def wrapped(
    mark: str, text: str, room: int, mark_role: Role = Role.TEXT, role: Role = Role.TEXT
) -> list[Spans]:
    """A text behind a mark in `room` cells, its further lines below its first word."""
    space = room - len(mark)
    parts = textwrap.wrap(text, space, break_on_hyphens=False) if space > 8 else [text]
    first, *rest = parts or [""]
    indent = Span(" " * len(mark))
    head: Spans = (Span(mark, mark_role), Span(first, role)) if mark else (Span(first, role),)
    return [head, *(((indent, Span(part, role)) if mark else (Span(part, role),)) for part in rest)]


def progress_lines(state: State, now_us: int, room: int) -> tuple[Spans, ...]:
    """How far each benchmark under way is; () when none is."""
    lines: list[Spans] = []
    for bench in state.benches.values():
        if bench.started is None or bench.finished is not None:
            continue
        server = state.servers.get(bench.started.server)
        told = progress(bench, server.token if server is not None else None, now_us)
        mark, role = ARM_MARKS[bench.started.arm]
        text = f"{label(bench.started.server)}: {told}"
        lines += wrapped(f"{mark} ", text, room, role)
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
