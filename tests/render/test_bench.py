"""A benchmark in words: how far it is and its runs."""

from __future__ import annotations

from dataclasses import replace

from console.model.fleet import Arm
from console.model.text import Clean
from console.render.bench import progress, run_lines
from console.stream.fold import fold_all
from console.stream.run_events import BenchStarted, CircumstancesTaken, RunMeasured
from console.stream.server_events import TokenSeen
from console.stream.state import Bench, State

NAME = Clean("b1")
STARTED = BenchStarted(
    NAME, Clean("kimi"), Arm.BASELINE, 1, Clean("look"), ((Clean("runs"), Clean("5")),), Clean("h"),
    t_us=1_000_000,
)  # fmt: skip
TAKEN = CircumstancesTaken(NAME, Clean("env"), Clean("d"), ())


def bench(*events: BenchStarted | CircumstancesTaken | RunMeasured) -> Bench:
    return fold_all(State(), list(events)).benches["b1"]


def run(number: int, at_s: float, **fields: object) -> RunMeasured:
    made = RunMeasured(NAME, number, 500, 310_000, 62.9, t_us=round(at_s * 1e6))
    return replace(made, **fields)  # type: ignore[arg-type]


def test_how_far_it_is() -> None:
    assert progress(bench(STARTED), None, 2_000_000) == "reading the circumstances · 1.0 s"
    assert progress(bench(STARTED, TAKEN), None, 3_000_000) == "warming up · 2.0 s"
    going = bench(STARTED, TAKEN, run(1, 11, warm_up=True), run(2, 21), run(3, 31))
    token = TokenSeen(Clean("kimi"), Clean("bench"), 62.84, t_us=32_000_000)
    told = progress(going, token, 36_000_000)
    assert told == "run 3 of 5 · 35 s · about 25 s left · 62.8 tok/s now"
    old = replace(token, t_us=500_000)
    assert "now" not in progress(going, old, 36_000_000)
    assert "now" not in progress(going, replace(token, source=Clean("log")), 36_000_000)


def test_of_several_launches_it_says_which() -> None:
    workload = ((Clean("runs"), Clean("5")), (Clean("launches"), Clean("3")))
    second = replace(STARTED, launch=2, workload=workload)
    going = bench(second, TAKEN, run(1, 11, warm_up=True))
    assert progress(going, None, 12_000_000).startswith("launch 2 of 3 · run 1 of 5 · 11 s")


def test_more_runs_than_planned_are_said_to_be_added() -> None:
    runs = [run(n, 10 * n) for n in range(1, 6)]
    assert progress(bench(STARTED, TAKEN, *runs), None, 51_000_000) == "all 5 runs done · 50 s"
    workload = ((Clean("runs"), Clean("5")), (Clean("within"), Clean("0.01")))
    told = progress(bench(replace(STARTED, workload=workload), TAKEN, *runs), None, 51_000_000)
    assert told == "run 6, until the interval is narrow enough · 50 s"


def test_every_run_has_its_line_and_its_reason() -> None:
    figures = ((Clean("accept_len"), 2.334),)
    rows = run_lines(
        bench(
            STARTED,
            run(1, 11, warm_up=True, decode_tok_s=58.0),
            run(2, 21, figures=figures, notes=(Clean("cycles are uneven"),)),
            RunMeasured(NAME, 3, void=Clean("stalled: no byte for 60 s")),
        )
    )
    assert rows == (
        "     RUN   TOK/S     TTFT  TOKENS  ACCEPT",
        " warm-up    58.0   310 ms     500       –",
        "       1    62.9   310 ms     500    2.33  cycles are uneven",
        "       2       –        –       –       –  void: stalled: no byte for 60 s",
    )
