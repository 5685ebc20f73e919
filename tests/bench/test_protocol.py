"""Levels, order and minutes."""

from __future__ import annotations

import pytest

from console.bench.protocol import (
    PROTOCOLS,
    Expected,
    Level,
    Load,
    Measure,
    Protocol,
    Side,
    Step,
    WarmUp,
    minutes,
    more_runs,
    seconds,
    steps,
    warm,
)
from tests.bench.arms import BASELINE, SPECULATIVE


def letters(plan: tuple[Step, ...], kind: type[Step]) -> str:
    return "".join(step.side[0].upper() for step in plan if isinstance(step, kind))


@pytest.mark.parametrize(
    ("level", "launches", "warmups", "runs", "prompts"),
    [
        (Level.LOOK, 1, 1, 3, 1),
        (Level.STORY, 1, 1, 5, 1),
        (Level.QUICK, 1, 2, 5, 3),
        (Level.CONFIRMED, 3, 3, 5, 1),
    ],
)
def test_the_levels(level: Level, launches: int, warmups: int, runs: int, prompts: int) -> None:
    protocol = PROTOCOLS[level]
    assert (protocol.launches, protocol.warmups) == (launches, warmups)
    assert (protocol.runs, protocol.prompts) == (runs, prompts)


def test_runs_take_turns_when_both_arms_are_up() -> None:
    plan = steps(PROTOCOLS[Level.STORY], both_up=True)
    assert letters(plan, Measure) == "BSSBBSSBBS"
    assert letters(plan, Load) == "BS"


def test_launches_take_turns_in_one_slot() -> None:
    plan = steps(PROTOCOLS[Level.CONFIRMED], both_up=False)
    assert letters(plan, Load) == letters(plan, WarmUp) == "BSSBBS"
    assert letters(plan, Measure) == "BBBBBSSSSSSSSSSBBBBBBBBBBSSSSS"
    first = [step for step in plan if step.side == "baseline"][:3]
    assert first == [
        Load("baseline", 1),
        WarmUp("baseline", 1, 3),
        Measure("baseline", 1, 0, 1),
    ]


def drift_bias(order: str) -> float:
    """How far the difference of means goes wrong under a drift of 1 from first to last run."""
    slots = {side: [i for i, s in enumerate(order) if s == side] for side in "BS"}
    means = {side: sum(at) / len(at) / (len(order) - 1) for side, at in slots.items()}
    return abs(means["S"] - means["B"])


@pytest.mark.parametrize(("runs", "most"), [(3, 0.07), (5, 0.023), (6, 1e-9)])
def test_turns_cancel_a_drift(runs: int, most: float) -> None:
    plan = steps(Protocol(1, 1, runs, 1, ""), both_up=True)
    assert drift_bias(letters(plan, Measure)) <= most


def test_both_arms_get_the_same_prompts_in_the_same_order() -> None:
    plan = steps(PROTOCOLS[Level.QUICK], both_up=True)
    asked: dict[str, list[tuple[int, int]]] = {"baseline": [], "speculative": []}
    for step in plan:
        if isinstance(step, Measure):
            asked[step.side].append((step.prompt, step.run))
    assert asked["baseline"] == asked["speculative"]
    assert len(asked["baseline"]) == 15


def test_the_time_it_takes_with_loads() -> None:
    """Ten runs of 500 tokens and two warm-ups at 62.5 and 100 tok/s, loads of 900 s."""
    plan = steps(PROTOCOLS[Level.STORY], both_up=False)
    arms: dict[Side, Expected] = {
        "baseline": Expected(900, 62.5, 0.5),
        "speculative": Expected(900, 100.0, 0.5),
    }
    runs_s = 6 * 8.5 + 6 * 5.5
    assert seconds(plan, arms, 500, frozenset()) == pytest.approx(1800 + runs_s)
    assert seconds(plan, arms, 500, frozenset({"baseline"})) == pytest.approx(900 + runs_s)


@pytest.mark.parametrize(
    ("total_s", "words"),
    [
        (20, "under a minute"),
        (61, "about 1 minute"),
        (1884, "about 31 minutes"),
        (4800, "about 1 h 20 min"),
    ],
)
def test_minutes_in_words(total_s: float, words: str) -> None:
    assert minutes(total_s) == words


def test_when_warm_ups_end() -> None:
    assert not warm((), 1)
    assert warm((50.0,), 1)
    assert not warm((50.0, 55.0, 60.0), 3)
    assert warm((50.0, 62.4, 62.9, 62.6), 3)
    assert warm(tuple(50.0 + 2 * i for i in range(10)), 3)


def test_runs_to_add_until_the_interval_is_narrow_enough() -> None:
    """Runs that scatter by 0.4 and 1.0 % need 6 a side for ± 1 %."""
    assert more_runs(BASELINE, SPECULATIVE, 0.05) == 0
    assert more_runs(BASELINE, SPECULATIVE, 0.01) == 1
    assert more_runs(BASELINE, SPECULATIVE, 0.0001) is None
