"""The calculator against the story's worked example: rates 62.9 and 75, verify 25 to 29 ms."""

from __future__ import annotations

import pytest

from console.bench.breakeven import (
    LABEL,
    Cycle,
    best_drafts,
    with_baseline,
    with_length,
    with_restored,
    with_verify_saving,
)

ROWS = [
    # verify, draft and overhead (ms), L at 75, L* against 62.9, against 90, ceiling
    (25, 0, 1.88, 1.57, 2.25, 1.19),
    (25, 4, 2.18, 1.82, 2.61, 1.38),
    (27, 4, 2.33, 1.95, 2.79, 1.37),
    (29, 4, 2.48, 2.08, 2.97, 1.36),
]


def story(verify_ms: float, rest_ms: float, base_tok_s: float = 62.9) -> Cycle:
    cycle_ms = verify_ms + rest_ms
    return Cycle(75 * cycle_ms / 1e3, cycle_ms, base_tok_s, verify_ms)


@pytest.mark.parametrize(("verify", "rest", "length", "even", "even_90", "ceiling"), ROWS)
def test_the_table(
    verify: float, rest: float, length: float, even: float, even_90: float, ceiling: float
) -> None:
    cycle = story(verify, rest)
    assert cycle.tok_s == pytest.approx(75)
    assert cycle.length == pytest.approx(length, abs=0.006)
    assert cycle.break_even == pytest.approx(even, abs=0.006)
    assert story(verify, rest, 90).break_even == pytest.approx(even_90, abs=0.006)
    assert cycle.ceiling is not None
    assert cycle.ceiling.speedup == pytest.approx(ceiling, abs=0.006)
    assert cycle.rest_ms == rest
    assert cycle.speedup == pytest.approx(cycle.length / cycle.break_even)


def test_the_conclusion_flips_with_the_baseline() -> None:
    cycle = story(27, 4)
    assert cycle.speedup == pytest.approx(1.192, abs=5e-4)
    assumed = with_baseline(cycle, 90)
    assert assumed.speedup == pytest.approx(0.833, abs=5e-4)
    assert assumed.text() == f"if the baseline were 90 tok/s: 75.0 tok/s, -16.7 % ({LABEL})"
    assert with_baseline(cycle, 75).speedup == pytest.approx(1)


@pytest.mark.parametrize(
    ("verify", "factor", "rate", "speedup"),
    [(25, 1, 89.8, 1.00), (27, 1, 88.7, 0.99), (29, 1, 87.7, 0.97),
     (25, 1.5, None, 1.11), (27, 1.5, None, 1.09), (29, 1.5, None, 1.07)],
)  # fmt: skip
def test_restoring_changes_both_arms_and_leaves_the_sign_open(
    verify: float, factor: float, rate: float | None, speedup: float
) -> None:
    found = with_restored(story(verify, 4), 90, factor)
    if rate is not None:
        assert found.tok_s == pytest.approx(rate, abs=0.06)
    assert found.speedup == pytest.approx(speedup, abs=0.006)


def test_a_cycle_from_rates() -> None:
    cycle = Cycle.from_rates(75, 2.325, 62.9, verify_ms=27)
    assert cycle.cycle_ms == pytest.approx(31)
    assert cycle.verify_steps == pytest.approx(27 / 15.898, abs=1e-3)


def test_without_a_verify_time_nothing_is_invented() -> None:
    cycle = Cycle.from_rates(75, 2.325, 62.9)
    assert (cycle.rest_ms, cycle.verify_steps, cycle.ceiling) == (None, None, None)


def test_what_ifs_of_the_cycle() -> None:
    cycle = story(27, 4)
    assert with_length(cycle, 3.1).tok_s == pytest.approx(100)
    assert with_verify_saving(cycle, 6).tok_s == pytest.approx(2.325 / 0.025)
    assert LABEL in with_verify_saving(cycle, 6).text()


def test_one_more_draft_pays_while_its_acceptance_beats_its_time() -> None:
    """At k = 1 the step pays iff P2 · C / L > step: 0.5 · 20 / 1.8 = 5.6 ms."""
    cycle = Cycle(1.8, 20, 60)
    assert best_drafts(cycle, (0.8, 0.5), now=1, step_ms=5.5)[0] == 2
    assert best_drafts(cycle, (0.8, 0.5), now=1, step_ms=5.6)[0] == 1
    rates = [projection.tok_s for projection in best_drafts(cycle, (0.8, 0.5), 1, 5.5)[1]]
    assert rates == pytest.approx([1.8 / 0.020, 2.3 / 0.0255])
