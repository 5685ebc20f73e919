"""An arm of a comparison: its runs, what they add up to, and the sample a verdict rests on.

Owns what one sample is: a launch where there are three, else a prompt where there are several,
else a run. It must never mix an assumed figure with measured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from console.bench.answer import Refused
from console.bench.metrics import Figures
from console.bench.provenance import Circumstances
from console.bench.stats import (
    Interval,
    geometric_mean,
    log_interval,
    mann_whitney,
    paired,
    welch,
)

LEAST_RUNS = 3
LAUNCHES_FOR_ALL = 3
LEAST_FOR_RANKS = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """One measured request, warm-ups excluded.

    `at_us`: when it began, on one clock for both arms; `launch`: number of the server's launch;
    `void`: reasons from outside the response (a foreign request, a throttled GPU); `turn`: which
    request of its prompt it is, 0 where all of them are alike.
    """

    figures: Figures | Refused
    prompt: str
    launch: int = 1
    at_us: int = 0
    text: str = ""
    void: tuple[str, ...] = ()
    turn: int = 0

    def flaws(self) -> tuple[str, ...]:
        """Why this run must not count; () for a valid one."""
        if isinstance(self.figures, Refused):
            return (self.figures.why, *self.void)
        return (*self.figures.void, *self.void)


@dataclass(frozen=True, slots=True)
class Workload:
    """What every verdict states: nominal prompt depth in tokens, streams at once, temperature."""

    depth_tokens: int = 512
    concurrency: int = 1
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """An arm that was measured here."""

    name: str
    trials: tuple[Trial, ...]
    circumstances: Circumstances
    workload: Workload = Workload()

    def valid(self) -> tuple[tuple[Trial, Figures], ...]:
        """Runs that count, in order of time."""
        ordered = sorted(self.trials, key=lambda trial: trial.at_us)
        return tuple(
            (trial, trial.figures)
            for trial in ordered
            if isinstance(trial.figures, Figures) and not trial.flaws()
        )

    def rates(self) -> tuple[float, ...]:
        """Decode tok/s of the runs that count."""
        return tuple(figures.decode_tok_s for _, figures in self.valid())

    def flaws(self) -> tuple[str, ...]:
        """Each reason for a void run once, with the number of runs it voids."""
        every = [flaw for trial in self.trials for flaw in trial.flaws()]
        return tuple(
            f"{flaw} ({every.count(flaw)} runs)" if every.count(flaw) > 1 else flaw
            for flaw in dict.fromkeys(every)
        )


@dataclass(frozen=True, slots=True)
class Assumed:
    """A figure somebody typed in or imported: a dotted line at most, never an arm."""

    name: str
    decode_tok_s: float
    source: str


Arm = Measured | Assumed


@dataclass(frozen=True, slots=True)
class Summary:
    """What an arm's valid runs add up to. `rate`: geometric mean of its samples with the 95 %
    interval; `pooled_tok_s`: all tokens over all decode time."""

    name: str
    runs: int
    launches: int
    prompts: int
    rate: Interval
    pooled_tok_s: float
    ttft_ms: float
    depth_tokens: int | None
    acceptance_length: float | None
    cycle_ms: float | None


def summarise(arm: Measured) -> Summary | None:
    """None with fewer than two valid runs."""
    valid = arm.valid()
    if len(valid) < 2:
        return None
    found = [figures for _, figures in valid]
    launches = by_launch(arm)
    prompts = by_prompt(arm)
    samples = list(launches.values()) if len(launches) >= LAUNCHES_FOR_ALL else arm.rates()
    if len(launches) < LAUNCHES_FOR_ALL and len(prompts) > 1:
        samples = list(prompts.values())
    depths = [f.prompt_tokens for f in found if f.prompt_tokens is not None]
    lengths = [f.acceptance.length for f in found if f.acceptance is not None]
    cycles = [f.cycle_ms for f in found if f.cycle_ms is not None]
    decoded = [f.tokens - f.first_tokens for f in found]
    seconds = [n / f.decode_tok_s for n, f in zip(decoded, found, strict=True)]
    return Summary(
        name=arm.name,
        runs=len(valid),
        launches=len(launches),
        prompts=len(prompts),
        rate=log_interval(samples),
        pooled_tok_s=sum(decoded) / sum(seconds),
        ttft_ms=median(f.ttft_ms for f in found),
        depth_tokens=round(median(depths)) if depths else None,
        acceptance_length=fmean(lengths) if lengths else None,
        cycle_ms=median(cycles) if cycles else None,
    )


def by_launch(arm: Measured) -> dict[int, float]:
    """Geometric mean of each launch, every prompt weighing the same."""
    found: dict[int, dict[str, list[float]]] = {}
    for trial, figures in arm.valid():
        prompts = found.setdefault(trial.launch, {})
        prompts.setdefault(trial.prompt, []).append(figures.decode_tok_s)
    return {
        launch: geometric_mean([geometric_mean(rates) for rates in prompts.values()])
        for launch, prompts in found.items()
    }


def by_prompt(arm: Measured) -> dict[str, float]:
    """Geometric mean of each prompt."""
    found: dict[str, list[float]] = {}
    for trial, figures in arm.valid():
        found.setdefault(trial.prompt, []).append(figures.decode_tok_s)
    return {prompt: geometric_mean(rates) for prompt, rates in found.items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Speculative over baseline. `p`: exact Mann–Whitney, None where it cannot be significant;
    `detectable`: the smallest difference these samples show with power 0.8."""

    ratio: Interval
    p: float | None
    detectable: float
    over: str


def compare(baseline: Measured, speculative: Measured) -> Comparison:
    """The ratio with its 95 % interval: launches as samples if both arms have three, else one
    ratio per prompt if there are several, else the runs. Three valid runs a side at least."""
    ours, theirs = by_launch(baseline), by_launch(speculative)
    if min(len(ours), len(theirs)) >= LAUNCHES_FOR_ALL:
        return _unpaired(list(ours.values()), list(theirs.values()), "launches")
    ours_by, theirs_by = by_prompt(baseline), by_prompt(speculative)
    if len(ours_by) > 1:
        effect = paired([theirs_by[prompt] / ours_by[prompt] for prompt in ours_by])
        return Comparison(effect.ratio(), None, effect.detectable(), "prompts")
    return _unpaired(baseline.rates(), speculative.rates(), "runs")


def _unpaired(ours: Sequence[float], theirs: Sequence[float], over: str) -> Comparison:
    enough = min(len(ours), len(theirs)) >= LEAST_FOR_RANKS
    p = mann_whitney(ours, theirs) if enough else None
    effect = welch(ours, theirs)
    return Comparison(effect.ratio(), p, effect.detectable(), over)
