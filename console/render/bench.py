"""A benchmark in words: how far it is, its runs one by one, what it adds up to.

The same words for the screen and for commands; never a figure nobody measured.
"""

from __future__ import annotations

from console.bench.metrics import DEFINITIONS
from console.render.label import label
from console.render.units import EMPTY, duration, rate
from console.stream.run_events import RunMeasured
from console.stream.server_events import TokenSeen
from console.stream.state import Bench

DEFINITION = f"decode tok/s = {DEFINITIONS['decode_tok_s']}"
_HEAD = ("RUN", "TOK/S", "TTFT", "TOKENS", "ACCEPT")
_WIDTHS = (8, 7, 8, 7, 7)


def wanted(bench: Bench) -> int:
    """How many runs are to count; 0 where that is not told."""
    return _number(bench, "runs")


def _told(bench: Bench, name: str) -> str:
    told: dict[str, str] = dict(bench.started.workload) if bench.started is not None else {}
    return told.get(name, "")


def _number(bench: Bench, name: str) -> int:
    text = _told(bench, name)
    return int(text) if text.isdecimal() else 0


def progress(bench: Bench, token: TokenSeen | None, now_us: int) -> str:
    """`run 3 of 5 · 41 s · about 20 s left · 62.8 tok/s now`; what it waits for before the first.

    What is left, of this launch where there are several, follows from how long runs took so far.
    """
    assert bench.started is not None
    elapsed_us = max(0, now_us - bench.started.t_us)
    done = sum(1 for run in bench.runs if not run.warm_up)
    of = wanted(bench)
    if not bench.circumstances:
        what = "reading the circumstances"
    elif done == 0 and not any(run.warm_up for run in bench.runs):
        what = "warming up"
    elif of and done >= of and _told(bench, "within") in ("", "0"):
        what = f"all {of} runs done"
    elif of and done >= of:
        what = f"run {done + 1}, until the interval is narrow enough"
    else:
        what = f"run {done + 1}" + (f" of {of}" if of else "")
    launches = _number(bench, "launches")
    turn = [f"launch {bench.started.launch} of {launches}"] if launches > 1 else []
    parts = [*turn, what, duration(elapsed_us)]
    left_us = _left_us(bench, done, of, now_us)
    if left_us:
        parts.append(f"about {duration(left_us)} left")
    live = token is not None and token.source == "bench" and token.t_us >= bench.started.t_us
    if live and token is not None and token.decode_tok_s is not None:
        parts.append(f"{rate(token.decode_tok_s)} tok/s now")
    return " · ".join(parts)


def _left_us(bench: Bench, done: int, of: int, now_us: int) -> int | None:
    if not bench.runs or not of or bench.started is None:
        return None
    began_us = bench.started.t_us
    each_us = (bench.runs[-1].t_us - began_us) / len(bench.runs)
    since_us = now_us - bench.runs[-1].t_us
    return max(0, round((of - done) * each_us - since_us))


def run_lines(bench: Bench) -> tuple[str, ...]:
    """A table of all runs, those after the warm-ups numbered; void ones with their reason."""
    found, number = [_row(_HEAD)], 0
    for run in bench.runs:
        number += not run.warm_up
        found.append(_row(_cells(run, number)) + _aside(run))
    return tuple(found)


def _cells(run: RunMeasured, number: int) -> tuple[str, ...]:
    figures: dict[str, float] = dict(run.figures)
    length = figures.get("accept_len")
    return (
        "warm-up" if run.warm_up else str(number),
        rate(run.decode_tok_s),
        EMPTY if run.ttft_us is None else duration(run.ttft_us),
        EMPTY if run.tokens is None else str(run.tokens),
        EMPTY if length is None else f"{length:.2f}",
    )


def _row(cells: tuple[str, ...]) -> str:
    return " ".join(f"{cell:>{room}}" for cell, room in zip(cells, _WIDTHS, strict=True))


def _aside(run: RunMeasured) -> str:
    said = [f"void: {label(run.void)}"] if run.void else []
    said += [label(note) for note in run.notes]
    return f"  {'; '.join(said)}" if said else ""
