"""What the environments come to in a word, and what to do next."""

from __future__ import annotations

import pytest

from console.model.fleet import Arm
from console.model.span import plain_text
from console.render.advice import env_problems, env_spans, next_steps, swap_to
from console.stream.fact import Completeness, Standing
from console.stream.run_events import (
    ActFinished,
    ActRequested,
    BenchFinished,
    BenchStarted,
    RunMeasured,
    VerdictReached,
)
from console.stream.server_events import EnvDrifted, EnvRead
from tests.ui.stage import Stage, c

WANTED = (("NCCL_PROTO", "LL"), ("NCCL_ALGO", "Ring"), ("NCCL_NTHREADS", "512"))


def two_arms() -> Stage:
    stage = Stage()
    stage.server("base", standing=Standing.IDLE)
    stage.server("eagle", arm=Arm.SPECULATIVE, standing=Standing.DOWN)
    return stage


def read(
    stage: Stage,
    source: str,
    *values: tuple[str, str],
    completeness: Completeness = Completeness.WHOLE,
) -> None:
    pairs = tuple((c(name), c(value)) for name, value in values)
    stage.emit(EnvRead(c("base"), c(source), completeness, pairs, 1234))


def measured(stage: Stage, bench: str, server: str, arm: Arm) -> None:
    stage.emit(
        BenchStarted(c(bench), c(server), arm, 1, c("quick"), (), c("worker/1")),
        RunMeasured(c(bench), 0, 500, 310_000, 62.9),
        BenchFinished(c(bench), True, c(""), ()),
    )


def word(stage: Stage) -> str:
    return plain_text(env_spans(stage.timeline.state.servers["base"]))


def test_an_environment_that_nobody_read_is_a_question_mark() -> None:
    stage = two_arms()
    assert word(stage) == "?"
    read(stage, "wanted", *WANTED)
    read(stage, "launcher", completeness=Completeness.UNREADABLE)
    assert word(stage) == "?"
    assert env_problems(stage.timeline.state) == ()


def test_one_that_nothing_is_held_to_is_a_dash() -> None:
    stage = two_arms()
    read(stage, "launcher", ("NCCL_PROTO", "LL"))
    assert word(stage) == "–"


def test_what_is_wanted_and_missing_is_counted_and_named() -> None:
    stage = two_arms()
    read(stage, "wanted", *WANTED)
    read(stage, "launcher")
    assert word(stage) == "✗ 3 lost"
    assert env_problems(stage.timeline.state) == (
        "base runs without NCCL_PROTO=LL NCCL_ALGO=Ring and 1 more of its profile",
    )
    read(stage, "launcher", *WANTED[:2], ("NCCL_NTHREADS", "256"))
    assert word(stage) == "≠ 1 differ"
    read(stage, "launcher", *WANTED)
    assert word(stage) == "✓"
    assert env_problems(stage.timeline.state) == ()


def test_a_drift_since_the_last_good_run_is_said_in_its_own_words() -> None:
    stage = two_arms()
    read(stage, "launcher")
    lost = (c("NCCL_PROTO"), c("NCCL_ALGO"))
    stage.emit(EnvDrifted(c("base"), lost, (), c("host rebooted; 2 lost")))
    assert word(stage) == "✗ 2 lost"
    assert env_problems(stage.timeline.state) == ("base: host rebooted; 2 lost",)
    stage.emit(EnvDrifted(c("base"), (), (), c("as before")))
    assert word(stage) == "✓"


def test_steps_lead_through_the_night_in_their_order() -> None:
    stage = two_arms()

    def verbs(selected: str = "base") -> list[str]:
        return [verb for verb, _ in next_steps(stage.timeline.state, selected)]

    assert verbs() == ["env", "bench"]
    read(stage, "wanted", *WANTED)
    read(stage, "launcher")
    assert verbs() == ["mode.environment", "restart", "bench"]
    read(stage, "launcher", *WANTED)
    stage.emit(BenchStarted(c("b"), c("base"), Arm.BASELINE, 1, c("quick"), (), c("w")))
    assert verbs() == ["bench.stop"]
    measured(stage, "b", "base", Arm.BASELINE)
    assert next_steps(stage.timeline.state, "base") == (
        ("swap", "swap arms to eagle, then measure it"),
    )
    measured(stage, "s", "eagle", Arm.SPECULATIVE)
    assert verbs() == ["compare"]
    stage.emit(VerdictReached(c("b"), c("s"), c("FASTER"), c("FASTER by 19 %")))
    assert verbs() == []


def test_a_swap_starts_the_selected_server_or_where_it_is_up_the_other_of_its_slot() -> None:
    stage = two_arms()
    state = stage.timeline.state
    assert (swap_to(state, "base"), swap_to(state, "eagle")) == ("eagle", "eagle")
    stage.server("third", standing=Standing.DOWN)
    assert swap_to(stage.timeline.state, "base") == "base", "which of two is not guessed"
    assert swap_to(stage.timeline.state, "gone") == "gone"


def test_of_what_an_act_is_changing_nothing_is_said() -> None:
    stage = two_arms()
    read(stage, "wanted", *WANTED)
    read(stage, "launcher")
    slot = c("gpu8a")
    stage.emit(ActRequested(c("a"), c("restart"), c("base"), c("ann"), c("typed"), slot=slot))
    assert env_problems(stage.timeline.state) == ()
    assert next_steps(stage.timeline.state, "base") == ()
    stage.emit(ActFinished(c("a"), c("failed"), c("no GPU is free")))
    assert len(env_problems(stage.timeline.state)) == 1
    assert next_steps(stage.timeline.state, "base") != ()


@pytest.mark.parametrize("selected", ["", "gone"])
def test_without_a_server_there_is_no_next_step(selected: str) -> None:
    assert next_steps(two_arms().timeline.state, selected) == ()
