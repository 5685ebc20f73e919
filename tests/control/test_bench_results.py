"""What a script is given of a benchmark, beyond its figures."""

from __future__ import annotations

from console.control.bench_outcome import bench_outcome
from console.model.exits import Exit
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean
from console.stream.fold import fold_all
from console.stream.run_events import BenchFinished, BenchStarted
from console.stream.state import State

USUAL = "baseline 62.9 tok/s, 90.1 usual (last 12 days ago)"


def ended(valid: bool, why: str) -> State:
    begun = BenchStarted(
        Clean("b1"), Clean("base"), Arm.BASELINE, 1, Clean("story"), (), Clean("here")
    )
    figures = ((Clean("decode_tok_s"), 62.9), (Clean("runs"), 5.0))
    return fold_all(State(), [begun, BenchFinished(Clean("b1"), valid, Clean(why), figures)])


def test_a_baseline_outside_its_history_is_told_from_one_within() -> None:
    outcome = bench_outcome(ended(True, USUAL), "b1", Masks())
    assert (outcome.exit, outcome.results["departed"]) == (Exit.OK, USUAL)
    assert bench_outcome(ended(True, ""), "b1", Masks()).results["departed"] == "none"


def test_a_benchmark_that_does_not_count_has_departed_from_nothing() -> None:
    outcome = bench_outcome(ended(False, "2 of 5 runs count"), "b1", Masks())
    assert (outcome.exit, outcome.results["departed"]) == (Exit.STEP, "none")


def test_a_failure_of_the_wire_keeps_its_code() -> None:
    lost = "link lost: the link was lost; 0 of 5 runs count"
    assert bench_outcome(ended(False, lost), "b1", Masks()).exit is Exit.UNREACHABLE
    silent = "timeout: the worker was silent for 60 s; 0 of 5 runs count"
    assert bench_outcome(ended(False, silent), "b1", Masks()).exit is Exit.DEADLINE
    refused = "unreachable: connection refused; 0 of 5 runs count"
    assert bench_outcome(ended(False, refused), "b1", Masks()).exit is Exit.STEP
