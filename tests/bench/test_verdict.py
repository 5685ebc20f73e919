"""Every verdict, in the order of the tests that lead to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.bench.arm import Assumed, Measured, Trial, Workload, summarise
from console.bench.provenance import Circumstances, Group, Unread
from console.bench.stats import Interval
from console.bench.verdict import Verdict, Word, verdict
from tests.bench.arms import (
    BASELINE,
    NOW,
    SPECULATIVE,
    TAKEN,
    arm,
    figures,
    refused,
    trials,
)

BASE = arm("base", BASELINE)
SPEC = arm("spec", SPECULATIVE)
LOST = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
TUNED = Circumstances({**TAKEN, "env": Group(dict(LOST))})


def test_the_story_both_arms_measured_alike() -> None:
    found = verdict(BASE, SPEC)
    assert found.word is Word.FASTER
    assert found.line == "FASTER by 19.2 % [17.8, 20.7]"
    assert found.scope == (
        "5+5 runs, one prompt, these launches, depth 0.5k, one stream, samples are runs"
    )
    assert found.ttft == "TTFT 310 ms baseline, 310 ms speculative"
    assert found.p == pytest.approx(2 / 252)
    assert found.baseline is not None
    assert found.baseline.rate.mid == pytest.approx(62.9, abs=0.05)


def test_the_story_an_assumed_90_is_no_baseline() -> None:
    found = verdict(Assumed("yesterday", 90.0, "typed in"), SPEC)
    assert found.word is Word.NOT_COMPARABLE
    assert found.line == ("NOT COMPARABLE: baseline was assumed, not measured (90 tok/s, typed in)")
    assert (found.ratio, found.withheld) == (None, None)
    other_way = verdict(BASE, Assumed("guess", 75.0, "guidellm"))
    assert "speculative arm was assumed" in other_way.line


def test_the_story_lost_variables_are_named_all_six() -> None:
    found = verdict(replace(BASE, circumstances=TUNED), SPEC)
    assert found.word is Word.NOT_COMPARABLE
    assert all(name in found.line for name in LOST)
    assert len(found.reasons) == 6
    assert "NCCL_PROTO differs (baseline LL, speculative unset)" in found.reasons
    assert found.ratio is None
    assert isinstance(found.withheld, Interval)
    assert found.baseline is not None
    assert found.speculative is not None


def test_the_story_restored_either_sign_may_come_out() -> None:
    base = arm("base", (90.1, 89.9, 90.4, 89.8, 90.2), TUNED)
    spec = arm("spec", (88.6, 88.9, 88.2, 88.8, 88.5), TUNED)
    assert verdict(base, spec).line.startswith("SLOWER by 1.6 % [")
    assert verdict(spec, base).line.startswith("FASTER by 1.7 % [")


def test_an_unread_environment_is_not_comparable() -> None:
    blind = Circumstances({**TAKEN, "env": Group({}, "zeroed by the server")})
    found = verdict(replace(BASE, circumstances=blind), SPEC)
    assert found.line == (
        "NOT COMPARABLE: NCCL_* is unknown"
        " (baseline unread: zeroed by the server, speculative unset)"
    )
    blind = Circumstances({**TAKEN, "env": Group({"NCCL_ALGO": Unread("denied")})})
    assert verdict(replace(BASE, circumstances=blind), SPEC).word is Word.NOT_COMPARABLE


def test_no_circumstances_no_comparison() -> None:
    nothing = Circumstances()
    found = verdict(replace(BASE, circumstances=nothing), replace(SPEC, circumstances=nothing))
    assert found.word is Word.NOT_COMPARABLE


def test_another_workload_is_not_comparable() -> None:
    deep = replace(SPEC, workload=Workload(depth_tokens=8192))
    assert "another depth" in verdict(BASE, deep).line
    assert verdict(BASE, arm("spec", trials(SPECULATIVE, prompt="q"))).line == (
        "NOT COMPARABLE: the arms were given different prompts"
    )


def many_prompts(name: str, rates: tuple[float, ...], texts: tuple[str, ...]) -> Measured:
    made: tuple[Trial, ...] = ()
    for number, (rate, text) in enumerate(zip(rates, texts, strict=True)):
        made += trials([rate, rate * 1.001, rate * 0.999], prompt=f"p{number}", text=text)
    return arm(name, made)


SAME_TEXT = ("a" * 500, "b" * 500, "c" * 500)


def test_several_prompts_are_paired() -> None:
    base = many_prompts("base", (60.0, 62.0, 64.0), SAME_TEXT)
    spec = many_prompts("spec", (72.0, 74.4, 76.8), SAME_TEXT)
    found = verdict(base, spec)
    assert found.line == "FASTER by 20.0 % [20.0, 20.0]"
    assert found.p is None
    assert "9+9 runs, these 3 prompts" in found.scope


def test_texts_that_part_early_for_most_prompts_are_another_model() -> None:
    base = many_prompts("base", (60.0, 62.0, 64.0), SAME_TEXT)
    other = ("a" * 500, "b" * 20 + "x" * 480, "x" * 500)
    found = verdict(base, many_prompts("spec", (72.0, 74.4, 76.8), other))
    assert found.line == "NOT COMPARABLE: texts part within 50 tokens for 2 of 3 prompts"


def test_texts_are_compared_turn_by_turn() -> None:
    """Each turn of a prompt begins with words of its own, and so its answer."""

    def turns(rates: tuple[float, ...], first: int) -> tuple[Trial, ...]:
        texts = [str(turn) * 500 for turn in range(first, first + len(rates))]
        made = (trials((rate,), text=text)[0] for rate, text in zip(rates, texts, strict=True))
        return tuple(replace(trial, turn=turn) for turn, trial in enumerate(made, first))

    base = replace(BASE, trials=turns(BASELINE, 1))
    late = verdict(base, replace(SPEC, trials=turns(SPECULATIVE, 2)))
    assert late.word is Word.FASTER
    assert not any("texts" in caution for caution in late.cautions)
    other = replace(SPEC, trials=turns(SPECULATIVE, 1))
    apart = tuple(replace(trial, text="x" * 500) for trial in other.trials)
    found = verdict(base, replace(other, trials=apart))
    assert "the arms' texts differ for one prompt, from about token 0 on" in found.cautions


def test_texts_that_part_late_or_rarely_are_noted() -> None:
    base = many_prompts("base", (60.0, 62.0, 64.0), SAME_TEXT)
    other = ("a" * 500, "b" * 400 + "x" * 100, "c" * 10 + "x" * 490)
    found = verdict(base, many_prompts("spec", (72.0, 74.4, 76.8), other))
    assert found.word is Word.FASTER
    assert "the arms' texts differ for 2 prompts, from about token 10 on" in found.cautions
    sampled = Workload(temperature=0.7)
    warm = verdict(
        replace(base, workload=sampled), replace(SPEC, workload=sampled, trials=base.trials)
    )
    assert not any("texts" in caution for caution in warm.cautions)


def test_void_runs_make_an_invalid_comparison_when_too_few_are_left() -> None:
    void = figures(75.0, void=("100 chunks after the first, but the server says 50 passes",))
    bad = arm("spec", (*trials((75.0, 75.1)), Trial(void, "p"), refused("stalled")))
    found = verdict(BASE, bad)
    assert found.word is Word.INVALID_RUN
    assert found.reasons == (
        "spec: 100 chunks after the first, but the server says 50 passes",
        "spec: stalled",
    )
    assert found.ratio is None


def test_a_few_void_runs_are_left_out_and_said() -> None:
    foreign = Trial(figures(40.0), "p", void=("a foreign request ran",))
    found = verdict(BASE, arm("spec", (*trials(SPECULATIVE), foreign)))
    assert found.line == "FASTER by 19.2 % [17.8, 20.7]"
    assert "spec: void runs left out: a foreign request ran" in found.cautions


def test_fewer_than_three_runs_give_no_verdict() -> None:
    found = verdict(arm("base", BASELINE[:2]), SPEC)
    assert found.word is Word.NO_VERDICT
    assert found.line == "NO VERDICT: 2+5 runs, three a side are needed"
    assert not found.word.decided


def test_three_runs_give_one_without_a_second_opinion() -> None:
    found = verdict(arm("base", BASELINE[:3]), arm("spec", SPECULATIVE[:3]))
    assert found.word is Word.FASTER
    assert found.p is None
    assert found.scope.startswith("3+3 runs, one prompt, these launches")


def test_below_the_threshold_is_said() -> None:
    spec = arm("spec", tuple(rate * 1.008 for rate in BASELINE))
    assert verdict(BASE, spec).line == "FASTER by 0.8 % [0.2, 1.4], below your 2 % threshold"


def test_the_same_within() -> None:
    spec = arm("spec", tuple(rate * 1.001 for rate in BASELINE))
    assert verdict(BASE, spec).line == "SAME within ±2 %: +0.1 % [-0.5, +0.7]"
    assert verdict(BASE, spec, threshold=0.005).word is Word.NOT_SHOWN


def test_no_difference_shown_says_what_it_could_have_seen() -> None:
    base = arm("base", (60.0, 63.0, 66.0, 62.0, 64.0))
    spec = arm("spec", (62.0, 63.5, 66.5, 61.0, 65.0))
    found = verdict(base, spec)
    assert found.word is Word.NOT_SHOWN
    assert found.line == (
        "NO DIFFERENCE SHOWN: +1.0 % [-4.1, +6.3]; this test could only see 7.4 % or more"
    )
    assert found.cautions[0].startswith("noisy machine: baseline runs scatter by 3.5 %")


def test_welch_and_ranks_may_disagree() -> None:
    spec = arm("spec", (63.3, 63.4, 63.5, 63.6, 120.0))
    found = verdict(BASE, spec)
    assert found.word is Word.UNCLEAR
    assert found.line.startswith("UNCLEAR: look at the runs: ")


def test_a_ttft_loss_is_part_of_the_line() -> None:
    slow = tuple(Trial(figures(rate, ttft_ms=412.0), "p") for rate in SPECULATIVE)
    assert verdict(BASE, arm("spec", slow)).line == (
        "FASTER by 19.2 % [17.8, 20.7], but TTFT +33 %"
    )
    near = tuple(Trial(figures(rate, ttft_ms=340.0), "p") for rate in SPECULATIVE)
    assert verdict(BASE, arm("spec", near)).line == "FASTER by 19.2 % [17.8, 20.7]"


def launches(name: str, means: tuple[float, ...], start_us: int) -> Measured:
    made: tuple[Trial, ...] = ()
    for number, mean in enumerate(means, 1):
        rates = [mean * factor for factor in (0.999, 1.0, 1.001)]
        made += trials(rates, launch=number, start_us=start_us + 2000 * number)
    return arm(name, made)


def test_three_launches_are_the_samples() -> None:
    """Runs scatter by 0.1 %, launches by 3 %: five runs of one launch would see a difference."""
    base = launches("base", (60.0, 62.0, 64.0), 0)
    spec = launches("spec", (61.5, 63.0, 65.5), 1000)
    found = verdict(base, spec)
    assert found.word is Word.NOT_SHOWN
    assert "9+9 runs, one prompt, 3+3 launches" in found.scope
    assert "samples are launches" in found.scope
    assert not any(
        "launches" in caution or "after the other" in caution for caution in found.cautions
    )
    assert verdict(arm("b", base.trials[:3]), arm("s", spec.trials[:3])).word is Word.FASTER


def test_cautions_of_the_order_and_of_one_launch() -> None:
    later = arm("spec", trials(SPECULATIVE, start_us=10_000))
    said = verdict(BASE, later).cautions
    assert "the arms ran one after the other: drift between them is not controlled" in said
    assert any("fewer than three launches" in caution for caution in said)
    between = arm("spec", trials(SPECULATIVE, start_us=5))
    assert not any("after the other" in caution for caution in verdict(BASE, between).cautions)


def test_drift_odd_and_slow_runs_are_said() -> None:
    drifting = arm("base", (64.0, 63.6, 63.3, 63.0, 62.6, 62.2, 61.9))
    assert any("base drifts by -3." in text for text in verdict(drifting, SPEC).cautions)
    odd = arm("base", (50.0, 62.9, 62.7, 63.0, 62.8))
    said = verdict(odd, SPEC).cautions
    assert "base: the first run is slow, the server may not have been warm" in said
    assert "base: odd runs, kept: 50.0 tok/s" in said


def test_warning_differences_ride_along() -> None:
    rebooted = Circumstances({**TAKEN, "host": Group({"boot_id": "b"})})
    base = replace(BASE, circumstances=Circumstances({**TAKEN, "host": Group({"boot_id": "a"})}))
    found = verdict(base, replace(SPEC, circumstances=rebooted))
    assert found.word is Word.FASTER
    assert any("host boot_id differs" in caution for caution in found.cautions)


def test_gaps_of_a_slow_client_are_disowned() -> None:
    limited = tuple(Trial(figures(rate, limited=True), "p") for rate in SPECULATIVE)
    said = verdict(BASE, arm("spec", limited)).cautions
    assert "spec: gap percentiles are the client's own, the decode rate stands" in said


def test_arms_that_slow_down_differently_are_said() -> None:
    falling = tuple(
        Trial(replace(figures(rate), fifths=(rate * 1.08, rate, rate, rate, rate * 0.92)), "p")
        for rate in SPECULATIVE
    )
    even = tuple(Trial(replace(figures(rate), fifths=(rate,) * 5), "p") for rate in BASELINE)
    said = verdict(arm("base", even), arm("spec", falling)).cautions
    assert not any("slow down" in caution for caution in said)
    steeper = tuple(
        replace(t, figures=replace(figures(75.0), fifths=(75.0, 75.0, 75.0, 75.0, 60.0)))
        for t in falling
    )
    said = verdict(arm("base", even), arm("spec", steeper)).cautions
    assert "the arms slow down differently: fifth 5 of 5 is -20 % off" in said


def test_the_lines_are_the_whole_verdict() -> None:
    found = Verdict(Word.SAME, "SAME", "scope", "ttft", ("why",), ("careful",))
    assert found.lines() == ("SAME", "scope", "ttft", "why", "! careful")


def test_a_summary_takes_two_valid_runs() -> None:
    assert summarise(arm("base", BASELINE[:1])) is None
    found = summarise(arm("base", BASELINE))
    assert found is not None
    assert (found.runs, found.launches, found.prompts, found.depth_tokens) == (5, 1, 1, 512)
    assert found.pooled_tok_s == pytest.approx(62.9, abs=0.05)
    assert NOW.groups == TAKEN
