"""Which loads of a night a script made of it has to wait for, and what a benchmark was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.control.guessed import bench_given
from console.control.to_script import to_script
from console.model.fleet import Arm
from console.model.mask import Masks
from console.services.live import listed
from console.session.journal import Journal
from console.stream.events import Event
from console.stream.fact import Standing
from console.stream.run_events import ActFinished, ActRequested, BenchStarted
from console.stream.server_events import StandingChanged
from tests.control.test_repeat import fleet_in
from tests.session.writing import Writing, c


def stands(server: str, standing: Standing) -> StandingChanged:
    return StandingChanged(c(server), standing, c("why"))


def act(verb: str, server: str, name: str = "a1") -> ActRequested:
    return ActRequested(c(name), c(verb), c(server), c("me"), c("name typed"))


DONE = ActFinished(c("a1"), c("done"), c("ready after 1 s"))
DOWN, STARTING, IDLE = Standing.DOWN, Standing.STARTING, Standing.IDLE


@pytest.mark.parametrize(
    ("events", "verbs"),
    [
        ([stands("base", DOWN), stands("base", STARTING), stands("base", IDLE)], ["wait"]),
        ([stands("base", IDLE), stands("base", Standing.DEGRADED), stands("base", IDLE)], []),
        ([stands("base", Standing.STALLED), stands("base", Standing.GENERATING)], []),
        # An act waits for what it starts, and both arms answer at the address of their slot.
        (
            [
                stands("spec", DOWN),
                act("swap", "spec"),
                stands("base", DOWN),
                stands("base", IDLE),
                stands("spec", STARTING),
                DONE,
                stands("spec", IDLE),
            ],
            ["swap"],
        ),
        (
            [
                act("stop", "base"),
                stands("base", DOWN),
                DONE,
                stands("base", STARTING),
                stands("base", IDLE),
            ],
            ["stop", "wait"],
        ),
    ],
    ids=["by hand", "slow", "stalled", "swap", "stopped"],
)
def test_only_a_load_that_nobody_waited_for_becomes_a_wait(
    tmp_path: Path, events: list[Event], verbs: list[str]
) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.emit(*listed(fleet_in(tmp_path), Masks()), *events)
    lines = to_script(Journal(writing.close())).splitlines()
    told = [line.split(" = ")[0] for line in lines if line.split(" = ")[0] in ("wait", *verbs)]
    assert told == verbs


@pytest.mark.parametrize(
    ("protocol", "workload", "given"),
    [
        ("one prompt, five runs", {"runs": "5", "tokens": "500"}, {"protocol": "story"}),
        ("look", {"runs": "4", "tokens": "64"}, {"protocol": "look", "runs": 4, "tokens": 64}),
        ("quick", {"prompts": "code", "depth": "8k"},
         {"protocol": "quick", "prompts": "code", "depth": "8k"}),
        ("look", {"prompts": "long-form", "depth": "0.5k"}, {"protocol": "look"}),
        ("", {"runs": "seven", "prompts": "mine.jsonl", "depth": "9k"}, {}),
    ],
)  # fmt: skip
def test_a_benchmark_is_given_what_its_start_tells(
    protocol: str, workload: dict[str, str], given: dict[str, object]
) -> None:
    pairs = tuple((c(name), c(value)) for name, value in workload.items())
    started = BenchStarted(c("b1"), c("base"), Arm.BASELINE, 1, c(protocol), pairs, c("here"))
    assert bench_given(started) == given
