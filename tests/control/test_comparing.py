"""Comparing recorded benchmarks: which arms a name means, the words, and what they count as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from console.bench.provenance import Group, Unread, Unset
from console.control.bench_history import TOPIC, with_history
from console.control.bench_outcome import rate_words
from console.control.bench_request import BadRequest, read_plan
from console.control.benching import assumed, next_name
from console.control.comparing import compare_outcome
from console.model.clock import ManualClock
from console.model.exits import Exit
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean
from console.stream.events import Event
from console.stream.fold import fold_all
from console.stream.measured import circumstances_taken, run_measured
from console.stream.run_events import AssumptionStated, BenchFinished, BenchStarted
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.state import State
from tests.bench import arms

MASKS = Masks()
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
TAKEN: Mapping[str, Group] = {
    "args": Group({"tp_size": "8"}),
    "env": Group({}),
    "gpu": Group({"uuids": "GPU-0"}),
    "host": Group({"name": "gpu8", "boot_id": "a"}),
    "launch": Group({"launch_id": "1"}),
    "model": Group({"name": "kimi"}),
    "request": Group({"max_tokens": "500"}),
}


def bench(
    name: str,
    server: str,
    arm: Arm,
    rates: Sequence[float],
    taken: Mapping[str, Group] = TAKEN,
    length: float | None = None,
    protocol: str = "look",
) -> list[Event]:
    from console.bench.acceptance import Acceptance

    accepted = None if length is None else Acceptance(length, 217, "response", None, ())
    own = Clean(name)
    started = BenchStarted(own, Clean(server), arm, 1, Clean(protocol), (), Clean("host"))
    groups = [circumstances_taken(own, key, group, MASKS) for key, group in taken.items()]
    runs = [
        replace(
            run_measured(own, n, arms.figures(rate, acceptance=accepted), MASKS), prompt=Clean("p")
        )
        for n, rate in enumerate(rates, 1)
    ]
    mean = sum(rates) / len(rates)
    finished = BenchFinished(own, True, Clean(""), ((Clean("decode_tok_s"), mean),))
    return [started, *groups, *runs, finished]


def folded(*events: Event) -> State:
    return fold_all(State(), [replace(e, seq=n, t_us=n * 1000) for n, e in enumerate(events, 1)])


BOTH = (
    *bench("b1", "kimi-base", Arm.BASELINE, arms.BASELINE),
    *bench("s2", "kimi-eagle3", Arm.SPECULATIVE, arms.SPECULATIVE, length=2.33),
)
BELIEVED = AssumptionStated(Clean("believed"), 90.0, Clean("an earlier session"))


def test_the_story_is_faster_by_nineteen_per_cent() -> None:
    outcome, event = compare_outcome(folded(*BOTH, BELIEVED), {}, MASKS)
    assert outcome.exit is Exit.OK
    assert outcome.lines[0] == "FASTER by 19.2 % [17.8, 20.7]"
    assert "break-even 1.95 tokens a cycle, got 2.33" in outcome.lines
    assert outcome.lines[-2:] == (
        "if the baseline were 90 tok/s: 75.0 tok/s, -16.7 % (projection, not a measurement)",
        (
            "if both arms ran where the baseline makes 90 tok/s: 88.7 tok/s, -1.5 % (projection,"
            " not a measurement)"
        ),
    )
    assert event is not None
    assert (event.verdict, event.text) == ("FASTER", outcome.lines[0])
    assert event.reasons == tuple(outcome.lines[1:])
    assert event.ratio == pytest.approx(1.192, abs=0.001)


@pytest.mark.parametrize(
    ("names", "code", "line"),
    [
        ({"baseline": "b1", "speculative": "s2"}, Exit.OK, "FASTER by 19.2 %"),
        ({"baseline": "kimi-base", "speculative": "kimi-eagle3"}, Exit.OK, "FASTER by 19.2 %"),
        ({"baseline": "believed"}, Exit.ASSERTION, "NOT COMPARABLE: baseline was assumed"),
        ({"baseline": "believed", "expect": "not comparable"}, Exit.OK, "NOT COMPARABLE"),
        ({"expect": "SLOWER"}, Exit.ASSERTION, "FASTER by 19.2 %"),
        ({"expect": "FSTER"}, Exit.USAGE, 'expect: no verdict "FSTER"'),
        ({"baseline": "b9"}, Exit.STEP, 'no benchmark, server or assumption "b9"'),
    ],
)
def test_names_and_expectations(names: dict[str, str], code: Exit, line: str) -> None:
    outcome, _ = compare_outcome(folded(*BOTH, BELIEVED), names, MASKS)
    assert outcome.exit is code
    assert outcome.text.startswith(line)


def test_no_benchmark_is_said() -> None:
    outcome, event = compare_outcome(State(), {}, MASKS)
    assert (outcome.exit, event) == (Exit.STEP, None)
    assert outcome.text == "no benchmark of a baseline arm in this session"


def test_lost_variables_are_all_named() -> None:
    tuned = {**TAKEN, "env": Group(dict(SIX))}
    state = folded(
        *bench("b1", "kimi-base", Arm.BASELINE, arms.BASELINE, tuned),
        *bench("s2", "kimi-eagle3", Arm.SPECULATIVE, arms.SPECULATIVE),
    )
    outcome, event = compare_outcome(state, {}, MASKS)
    assert outcome.exit is Exit.ASSERTION
    assert outcome.text.startswith("NOT COMPARABLE: ")
    assert event is not None
    assert event.ratio is None
    for name, value in SIX.items():
        assert name in outcome.text
        assert any(
            f"{name} differs (baseline {value}, speculative unset)" in r for r in event.reasons
        )


def test_an_unread_environment_is_no_empty_one() -> None:
    unread = {**TAKEN, "env": Group({}, "belongs to another user")}
    state = folded(
        *bench("b1", "kimi-base", Arm.BASELINE, arms.BASELINE, unread),
        *bench("s2", "kimi-eagle3", Arm.SPECULATIVE, arms.SPECULATIVE, unread),
    )
    outcome, _ = compare_outcome(state, {}, MASKS)
    assert outcome.text.startswith("NOT COMPARABLE: NCCL_* is unknown")


def ended(
    rate: float, env: Mapping[str, str | Unset | Unread]
) -> tuple[BenchFinished, list[Event]]:
    """A baseline of this rate ends, under this environment."""
    told: list[Event] = []
    taken = {**TAKEN, "env": Group(env)}
    events = bench("b1", "kimi-base", Arm.BASELINE, [rate] * 3, taken)
    cell = folded(*events).benches["b1"]
    finished = events[-1]
    assert isinstance(finished, BenchFinished)
    return with_history(finished, cell, ManualClock(), told.append, MASKS), told


def test_a_fallen_baseline_is_said_before_any_comparison() -> None:
    for rate in (90.0, 90.3, 90.1):
        finished, told = ended(rate, dict(SIX))
        assert finished.why == ""
        assert not any(isinstance(event, Noticed) for event in told)
    finished, told = ended(62.9, {})
    assert finished.valid
    assert finished.why.startswith("baseline 62.9 tok/s, 90.1 usual (last today)")
    assert all(f"{name} {value} -> unset" in finished.why for name, value in SIX.items())
    assert [event.text for event in told if isinstance(event, Noticed)] == [finished.why]
    (known,) = [event for event in told if isinstance(event, HistoryKnown)]
    assert known.topic == TOPIC
    assert [value for _, value in known.figures][-1] == pytest.approx(62.9)
    fresh = bench("b1", "kimi-base", Arm.BASELINE, arms.BASELINE)
    state = folded(*fresh[:-1], finished, *BOTH[len(fresh) :])
    outcome, _ = compare_outcome(state, {}, MASKS)
    assert outcome.lines[1] == f"! {finished.why}"


def speculative_ended(boot: str) -> list[Event]:
    """A speculative arm ends on a host that runs since this boot; what is said."""
    told: list[Event] = []
    taken = {**TAKEN, "host": Group({"name": "gpu8", "boot_id": boot})}
    events = bench("s1", "kimi-eagle3", Arm.SPECULATIVE, arms.SPECULATIVE, taken)
    cell = folded(*events).benches["s1"]
    finished = events[-1]
    assert isinstance(finished, BenchFinished)
    assert with_history(finished, cell, ManualClock(), told.append, MASKS) is finished
    return told


def test_a_speculative_arm_never_enters_the_history() -> None:
    assert speculative_ended("a") == []
    assert ended(62.9, {})[0].why == ""
    assert speculative_ended("a") == []


def test_a_baseline_from_before_a_reboot_is_stale() -> None:
    ended(62.9, {})
    (said,) = speculative_ended("b")
    assert isinstance(said, Noticed)
    assert said.text == (
        "stale baseline: the host was rebooted since; 62.9 tok/s on 2026-02-24: measure it again"
    )


@pytest.mark.parametrize(
    ("what_if", "said"),
    [
        ("length=2", "2 tokens per cycle: 64.4 tok/s, +2.3 % (projection, not a measurement)"),
        ("saving=4.79", "verify 4.79 ms shorter: 88.7 tok/s, +41.0 % (projection, not a"),
        ("verify=27", "verify 27 ms as told: 4.1 ms for draft and rest, verify costs 1.70"),
        (
            "baseline=70",
            "if the baseline were 70 tok/s: 75.0 tok/s, +7.1 % (projection, not a measurement)",
        ),
    ],
)
def test_what_ifs_are_answered_as_projections(what_if: str, said: str) -> None:
    outcome, event = compare_outcome(folded(*BOTH), {"what_if": what_if}, MASKS)
    assert outcome.exit is Exit.OK
    assert any(line.startswith(said) for line in outcome.lines), outcome.lines
    assert event is not None
    assert event.reasons == tuple(outcome.lines[1:])


@pytest.mark.parametrize(
    ("what_if", "said"),
    [
        ("lenght=2", 'what_if: "lenght=2": baseline, restored, length,'),
        ("length=two", 'what_if: length: a number was expected, not "two"'),
        ("length=-1", "what_if: length=-1: a number above 0 was expected"),
        ("saving=40", "what_if: saving=40: nothing of the 31.1 ms is left"),
        ("verify=40", "what_if: verify=40: longer than the cycle of 31.1 ms"),
        ("drafts=3:1", "what_if: drafts=3: a number of drafts was expected; it is told by none"),
    ],
)
def test_what_ifs_that_mean_nothing_are_refused(what_if: str, said: str) -> None:
    outcome, event = compare_outcome(folded(*BOTH), {"what_if": what_if}, MASKS)
    assert (outcome.exit, event) == (Exit.USAGE, None)
    assert outcome.text.startswith(said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"protocol": "quik"}, 'protocol: no protocol "quik" (did you mean "quick"?)'),
        ({"tokens": 1}, "tokens: 2 at least: the first is not decoded"),
        ({"depth": "9k"}, 'depth: "9k" is none of as is, 0.5k, 8k, 32k'),
        ({"api": "openai"}, 'api: "openai" is none of own, completions, chat'),
        ({"runs": 0}, "runs: a whole number from 1 to 100 was expected"),
        ({"within": 1.5}, "within: a share such as 0.01 was expected"),
        ({"prompts": "poems"}, 'prompts: no set and no file "poems"'),
    ],
)
def test_what_means_nothing_is_refused(given: dict[str, str | int | float], said: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_plan(given, Arm.BASELINE)
    assert str(caught.value).startswith(said)


def test_random_tokens_never_reach_a_speculative_arm(tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text('{"id": "r", "prompt": [1, 2, 3]}\n')
    assert read_plan({"prompts": str(path)}, Arm.BASELINE).chosen[0].text == (1, 2, 3)
    with pytest.raises(BadRequest, match="token numbers cannot be said in a chat"):
        read_plan({"prompts": str(path), "api": "chat"}, Arm.BASELINE)
    with pytest.raises(BadRequest, match="r is token ids: acceptance on them means nothing"):
        read_plan({"prompts": str(path)}, Arm.SPECULATIVE)


def test_the_plan_of_the_story() -> None:
    plan = read_plan({}, Arm.BASELINE)
    assert (plan.name, plan.wanted, plan.sampling.max_tokens) == ("one prompt, five runs", 5, 500)
    assert plan.depth_tokens == 512
    assert plan.seconds(62.5, 0.5) == pytest.approx(6 * 8.5)
    assert plan.minutes(62.5) == "about 1 minute"


def test_an_assumption_is_typed_in_or_read_from_a_file(tmp_path: Path) -> None:
    assert assumed({"tok_s": 90}) == (90.0, "typed in")
    path = tmp_path / "bench.json"
    path.write_text(
        '{"backend": "vllm", "model_id": "m", "mean_tpot_ms": 11.1, "mean_ttft_ms": 300,'
        ' "max_concurrency": 1, "date": "x", "endpoint_type": "openai", "duration": 1.0,'
        ' "completed": 5, "output_throughput": 80.0, "num_prompts": 5, "request_rate": "inf"}'
    )
    tok_s, source = assumed({"file": str(path)})
    assert tok_s == pytest.approx(1000 / 11.1)
    assert source.startswith("vllm")
    with pytest.raises(BadRequest, match="no such file"):
        assumed({"file": str(tmp_path / "none")})
    with pytest.raises(BadRequest, match="tok_s or file was expected"):
        assumed({})


def test_names_count_on_and_rates_have_words() -> None:
    assert next_name(State(), Arm.SPECULATIVE) == "s1"
    assert next_name(folded(*BOTH), Arm.BASELINE) == "b3"
    assert rate_words({}) == "no run counts"
    told = {"decode_tok_s": 62.94, "low": 62.6, "high": 63.2, "runs": 5.0, "ttft_us": 310_000.0}
    assert rate_words(told) == "62.9 tok/s [62.6, 63.2], 5 runs, TTFT 310 ms"


def confirmed(*launch_ids: str, env: Mapping[str, str] | None = None) -> list[Event]:
    """Benchmarks of both arms by turns, one of each for each of these launches."""
    events: list[Event] = []
    for number, launch in enumerate(launch_ids):
        for place, (arm, rates) in enumerate(
            ((Arm.BASELINE, arms.BASELINE), (Arm.SPECULATIVE, arms.SPECULATIVE))
        ):
            name = f"{arm.value[0]}{2 * number + place + 1}"
            moved = [rate * (0.99 + 0.01 * number) for rate in rates]
            groups = {**TAKEN, "launch": Group({"launch_id": f"{arm.value} {launch}"})}
            if number == 0 and env is not None:
                groups["env"] = Group(dict(env))
            events += bench(name, f"kimi-{arm.value}", arm, moved, groups, protocol="confirmed")
    return events


def test_a_confirmed_benchmark_rests_on_its_launches() -> None:
    outcome, _ = compare_outcome(folded(*confirmed("1", "2", "3")), {}, MASKS)
    assert outcome.exit is Exit.OK
    assert "15+15 runs, one prompt, 3+3 launches" in outcome.lines[1]
    assert "samples are launches" in outcome.lines[1]


def test_one_launch_measured_three_times_is_one_launch() -> None:
    outcome, _ = compare_outcome(folded(*confirmed("1", "1", "1")), {}, MASKS)
    assert "15+15 runs, one prompt, these launches" in outcome.lines[1]
    assert "samples are runs" in outcome.lines[1]


def test_a_launch_under_other_circumstances_is_left_out_and_said() -> None:
    outcome, _ = compare_outcome(folded(*confirmed("1", "2", "3", env=SIX)), {}, MASKS)
    assert outcome.exit is Exit.OK
    assert "! launch b1 is left out: NCCL_ALGO was Ring, is unset" in outcome.lines
    assert "! launch s2 is left out: NCCL_ALGO was Ring, is unset" in outcome.lines
    assert any("10+10 runs, one prompt, these launches" in line for line in outcome.lines)
