"""Statistics for three to twenty runs.

Owns Student's t, Welch's interval on log rates and the exact Mann–Whitney test. The percentile
bootstrap is left out on purpose: below twenty runs its interval is too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median, stdev

LEVEL = 0.95
POWER = 0.80
MAD_TO_SD = 1.4826
OUTLIER_Z = 10.0
SETTLING_RUNS = 3
SETTLED_SHARE = 0.01
MOST_WARMUPS = 10


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its two-sided 95 % interval, all three of the same unit."""

    mid: float
    low: float
    high: float

    def half(self) -> float:
        """Half the width, relative to the estimate."""
        return (self.high - self.low) / 2 / self.mid


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t with df > 0, fractional too: the incomplete beta function."""
    return 0.5 + math.copysign(_beta_share(0.5, df / 2, t * t / (df + t * t)) / 2, t)


def t_quantile(p: float, df: float) -> float:
    """t with P(T <= t) = p, for 0 < p < 1 and df > 0, by Newton from the normal quantile: that lies
    below, and the distribution is concave above 0, so no step goes too far."""
    if p < 0.5:
        return -t_quantile(1 - p, df)
    log_peak = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    t = NormalDist().inv_cdf(p)
    for _ in range(200):
        density = math.exp(log_peak - (df + 1) / 2 * math.log1p(t * t / df))
        step = (p - t_cdf(t, df)) / density
        t += step
        if step <= 1e-13 * t:
            break
    return t


def _beta_share(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta I_x(a, b), by Lentz's continued fraction."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_front += a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return math.exp(log_front) * fraction / a


@dataclass(frozen=True, slots=True)
class Effect:
    """A ratio on the log scale: its estimate, standard error and degrees of freedom."""

    log_ratio: float
    error: float
    df: float

    def ratio(self) -> Interval:
        """The ratio with its 95 % interval."""
        reach = t_quantile((1 + LEVEL) / 2, self.df) * self.error
        edges = (self.log_ratio, self.log_ratio - reach, self.log_ratio + reach)
        return Interval(*(math.exp(edge) for edge in edges))

    def detectable(self) -> float:
        """Smallest relative difference that such samples show with power 0.8 at the 5 % level."""
        reach = t_quantile((1 + LEVEL) / 2, self.df) + t_quantile(POWER, self.df)
        return math.expm1(reach * self.error)


def welch(base: Sequence[float], other: Sequence[float]) -> Effect:
    """other / base as the ratio of geometric means, by Welch's method on the log rates.

    Two rates a side at least. On the log scale A/B and B/A are exact inverses.
    """
    a, b = [math.log(rate) for rate in base], [math.log(rate) for rate in other]
    va, vb = _variance(a) / len(a), _variance(b) / len(b)
    parts = va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)
    df = (va + vb) ** 2 / parts if parts else len(a) + len(b) - 2
    return Effect(fmean(b) - fmean(a), math.sqrt(va + vb), df)


def paired(ratios: Sequence[float]) -> Effect:
    """The same from ratios taken pair by pair, two at least."""
    logs = [math.log(ratio) for ratio in ratios]
    return Effect(fmean(logs), math.sqrt(_variance(logs) / len(logs)), len(logs) - 1)


def log_interval(rates: Sequence[float]) -> Interval:
    """Geometric mean of at least two positive rates, with Student's interval on the log scale."""
    return paired(rates).ratio()


def _variance(values: Sequence[float]) -> float:
    mid = fmean(values)
    return math.fsum((value - mid) ** 2 for value in values) / (len(values) - 1)


def mann_whitney(base: Sequence[float], other: Sequence[float]) -> float:
    """Two-sided exact p of the rank sum over all ways to deal the values, ties as mid-ranks.

    Its floor is 2 / C(n + m, n): 0.10 at 3 + 3, so read it from 4 runs a side only.
    """
    values = sorted([*base, *other])
    doubled = {v: 2 * values.index(v) + values.count(v) + 1 for v in set(values)}
    ranks = [doubled[v] for v in values]
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in base)]
    for rank in ranks:
        for size in range(len(base), 0, -1):
            for total, number in ways[size - 1].items():
                ways[size][total + rank] = ways[size].get(total + rank, 0) + number
    seen = sum(doubled[v] for v in base)
    every = math.comb(len(values), len(base))
    below = sum(number for total, number in ways[-1].items() if total <= seen)
    above = sum(number for total, number in ways[-1].items() if total >= seen)
    return min(1.0, 2 * min(below, above) / every)


def variation(rates: Sequence[float]) -> float:
    """Coefficient of variation: sd over mean, of two values at least."""
    return stdev(rates) / fmean(rates)


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values; the mean that makes ratios of arms exact inverses."""
    return math.exp(fmean(math.log(value) for value in values))


def runs_needed(cv: float, half: float, most: int = 200) -> int | None:
    """Runs per arm for a ratio within ± `half` at this coefficient of variation; None: over
    `most`. Two equal arms."""
    for n in range(2, most + 1):
        if t_quantile((1 + LEVEL) / 2, 2 * n - 2) * cv * math.sqrt(2 / n) <= half:
            return n
    return None


def mad_sd(values: Sequence[float]) -> float:
    """Standard deviation estimated from the median absolute deviation."""
    mid = median(values)
    return MAD_TO_SD * median(abs(value - mid) for value in values)


def settled(rates: Sequence[float]) -> bool:
    """Whether the last three warm-up runs are warm: each within max(1 %, 2 MAD-sd) of their
    median, and not rising or falling through by more than 1 %."""
    if len(rates) < SETTLING_RUNS:
        return False
    last = rates[-SETTLING_RUNS:]
    mid = median(last)
    near = max(SETTLED_SHARE * mid, 2 * mad_sd(last))
    trend = list(last) in (sorted(last), sorted(last, reverse=True))
    moved = abs(last[-1] / last[0] - 1)
    close = all(abs(rate - mid) <= near for rate in last)
    return close and not (trend and moved > SETTLED_SHARE)


def slow_first(rates: Sequence[float]) -> bool:
    """Whether the first run is slow against all: below median - 3 MAD-sd (never dropped)."""
    return len(rates) >= 3 and rates[0] < median(rates) - 3 * mad_sd(rates)


def outliers(rates: Sequence[float]) -> tuple[int, ...]:
    """Indices of runs over 10 MAD-sd from the median, for a flag; they stay in."""
    if len(rates) < 4:
        return ()
    mid, sd = median(rates), mad_sd(rates)
    return tuple(i for i, rate in enumerate(rates) if abs(rate - mid) > OUTLIER_Z * sd > 0)


def drift(rates: Sequence[float]) -> tuple[float, float]:
    """Trend over the order of runs: Theil–Sen slope times span, relative to the median, and the
    exact two-sided p of Kendall's S (no random permutations, so the same runs give the same p)."""
    n = len(rates)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    slope = median((rates[j] - rates[i]) / (j - i) for i, j in pairs)
    score = sum((rates[j] > rates[i]) - (rates[j] < rates[i]) for i, j in pairs)
    counts = [1]
    for size in range(2, n + 1):  # inversions of one more element: 0 .. size - 1
        wider = [0] * (len(counts) + size - 1)
        for inversions, number in enumerate(counts):
            for more in range(size):
                wider[inversions + more] += number
        counts = wider
    extreme = sum(
        number for k, number in enumerate(counts) if abs(len(pairs) - 2 * k) >= abs(score)
    )
    return slope * (n - 1) / median(rates), extreme / math.factorial(n)
