"""The statistics against scipy, brute force, the method's own tables and arms of known truth."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from console.bench import stats

BASELINE = (62.7, 63.1, 62.9, 62.6, 63.2)
SPECULATIVE = (74.1, 75.6, 75.2, 74.3, 75.8)
rates = st.lists(st.floats(1, 1000), min_size=2, max_size=8)


@pytest.mark.parametrize("df", [1, 1.3, 2, 2.7, 4, 5.02, 8, 17.5, 60, 400])
@pytest.mark.parametrize("p", [0.6, 0.8, 0.9, 0.975, 0.995, 0.9995, 0.025])
def test_student_t_quantile_is_scipys(p: float, df: float) -> None:
    assert stats.t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-9)


@given(st.floats(-50, 50), st.floats(0.5, 200))
def test_student_t_cdf_is_scipys(t: float, df: float) -> None:
    assert stats.t_cdf(t, df) == pytest.approx(scipy_stats.t.cdf(t, df), abs=1e-10)


def test_welch_on_the_logs_is_scipys() -> None:
    logs = [[math.log(rate) for rate in arm] for arm in (SPECULATIVE, BASELINE)]
    theirs = scipy_stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    ours = stats.welch(BASELINE, SPECULATIVE).ratio()
    assert (ours.low, ours.high) == pytest.approx(
        (math.exp(theirs.low), math.exp(theirs.high)), rel=1e-9
    )


def test_the_worked_example() -> None:
    ratio = stats.welch(BASELINE, SPECULATIVE).ratio()
    assert [round(100 * (x - 1), 1) for x in (ratio.mid, ratio.low, ratio.high)] == [
        19.2,
        17.8,
        20.7,
    ]
    assert stats.mann_whitney(BASELINE, SPECULATIVE) == pytest.approx(2 / 252)


@given(rates, rates)
def test_both_directions_are_exact_inverses(a: list[float], b: list[float]) -> None:
    forth, back = stats.welch(a, b).ratio(), stats.welch(b, a).ratio()
    assert forth.mid * back.mid == pytest.approx(1)
    assert forth.low * back.high == pytest.approx(1)


def test_an_arms_interval_is_students_on_the_logs() -> None:
    logs = [math.log(rate) for rate in BASELINE]
    low, high = scipy_stats.t.interval(0.95, 4, loc=sum(logs) / 5, scale=scipy_stats.sem(logs))
    ours = stats.log_interval(BASELINE)
    assert (ours.low, ours.high) == pytest.approx((math.exp(low), math.exp(high)))


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=11, unique=True), st.integers(2, 9))
def test_mann_whitney_without_ties_is_scipys(values: list[int], size: int) -> None:
    a, b = values[: min(size, len(values) - 2)], values[min(size, len(values) - 2) :]
    theirs = scipy_stats.mannwhitneyu(a, b, method="exact").pvalue
    assert stats.mann_whitney(a, b) == pytest.approx(theirs)


@given(st.lists(st.integers(0, 3), min_size=4, max_size=8), st.integers(1, 3))
def test_mann_whitney_with_ties_is_brute_force(values: list[int], size: int) -> None:
    ranks = list(scipy_stats.rankdata(values))
    seen = sum(ranks[:size])
    sums = [sum(deal) for deal in combinations(ranks, size)]
    below = sum(1 for total in sums if total <= seen + 1e-9) / len(sums)
    above = sum(1 for total in sums if total >= seen - 1e-9) / len(sums)
    expected = min(1.0, 2 * min(below, above))
    assert stats.mann_whitney(values[:size], values[size:]) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "floor"), [(3, 0.10), (4, 0.029), (5, 0.0079)])
def test_mann_whitneys_floor(n: int, floor: float) -> None:
    low, high = [float(i) for i in range(n)], [float(i) for i in range(n, 2 * n)]
    assert stats.mann_whitney(low, high) == pytest.approx(floor, rel=0.03)


def symmetric(n: int, cv: float) -> list[float]:
    """n rates whose logs have exactly this standard deviation."""
    raw = [i - (n - 1) / 2 for i in range(n)]
    scale = cv / math.sqrt(sum(x * x for x in raw) / (n - 1))
    return [100 * math.exp(scale * x) for x in raw]


@pytest.mark.parametrize(
    ("n", "cv_percent", "expected"),
    [(5, 0.5, 1.0), (5, 1, 2.0), (5, 2, 4.1), (10, 1, 1.3), (10, 2, 2.7), (20, 1, 0.9)],
)
def test_what_a_test_can_see(n: int, cv_percent: float, expected: float) -> None:
    arm = symmetric(n, cv_percent / 100)
    assert 100 * stats.welch(arm, arm).detectable() == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(("cv_percent", "runs"), [(0.5, 4), (1, 9), (2, 32), (3, 71), (40, None)])
def test_runs_needed_for_one_percent(cv_percent: float, runs: int | None) -> None:
    assert stats.runs_needed(cv_percent / 100, 0.01) == runs


@pytest.mark.parametrize("n", [3, 5, 10])
def test_simulated_arms_are_covered(n: int) -> None:
    """Simulated, not measured: normal log rates, true ratio 1.192, run sd 0.8 % and 1.5 %."""
    draw = random.Random(7 * n)
    draws, hits = 2000, 0
    for _ in range(draws):
        base = [62.9 * math.exp(draw.gauss(0, 0.008)) for _ in range(n)]
        other = [62.9 * 1.192 * math.exp(draw.gauss(0, 0.015)) for _ in range(n)]
        ratio = stats.welch(base, other).ratio()
        hits += ratio.low <= 1.192 <= ratio.high
    assert 0.93 <= hits / draws <= 0.98


def test_equal_runs_have_an_interval_of_no_width() -> None:
    ratio = stats.welch((10.0, 10.0), (20.0, 20.0)).ratio()
    assert ratio.low == ratio.mid == ratio.high == pytest.approx(2)
    assert stats.welch((10.0, 10.0), (20.0, 20.0)).detectable() == 0.0


@pytest.mark.parametrize(
    ("warmups", "warm"),
    [
        ((50.0, 62.0), False),
        ((50.0, 62.0, 62.5), False),
        ((50.0, 62.4, 62.9, 62.6), True),
        ((60.0, 60.5, 61.0), False),
        ((62.0, 62.2, 62.4), True),
        ((64.0, 63.0, 62.0), False),
    ],
)
def test_when_a_server_is_warm(warmups: tuple[float, ...], warm: bool) -> None:
    assert stats.settled(warmups) is warm


def test_odd_runs_are_flagged_not_dropped() -> None:
    assert stats.slow_first((50.0, 62.9, 62.7, 63.0, 62.8))
    assert not stats.slow_first(BASELINE)
    assert stats.outliers((62.9, 62.7, 40.0, 63.0, 62.8)) == (2,)
    assert stats.outliers(BASELINE) == ()


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=9, unique=True))
def test_drift_has_kendalls_exact_p_and_theil_sens_slope(values: list[int]) -> None:
    order = list(range(len(values)))
    rates = [value + 1.0 for value in values]
    change, p = stats.drift(rates)
    assert p == pytest.approx(scipy_stats.kendalltau(order, rates, method="exact").pvalue)
    slope = scipy_stats.theilslopes(rates, order).slope
    middle = sorted(rates)[len(rates) // 2]
    middle = (middle + sorted(rates)[(len(rates) - 1) // 2]) / 2
    assert change == pytest.approx(slope * (len(rates) - 1) / middle)


def test_variation_of_the_example() -> None:
    assert stats.variation(BASELINE) == pytest.approx(0.0040, abs=2e-4)
