"""The verdict on two arms, in words, from the first test that applies.

Order: circumstances, assumed figures, texts, void runs, number of runs, then the interval of the
ratio. It must never give a ratio to arms that are not comparable, and never say "no difference".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from console.bench.arm import (
    LAUNCHES_FOR_ALL,
    LEAST_RUNS,
    Arm,
    Assumed,
    Comparison,
    Measured,
    Summary,
    by_prompt,
    compare,
    summarise,
)
from console.bench.cautions import cautions, parted_early
from console.bench.provenance import Difference, Severity, differences
from console.bench.stats import Interval

THRESHOLD = 0.02
TTFT_LOSS = 0.10
SIGNIFICANT = 0.05
MOST_NAMES = 8


class Word(StrEnum):
    """What a comparison comes to."""

    NOT_COMPARABLE = "NOT COMPARABLE"
    INVALID_RUN = "INVALID RUN"
    NO_VERDICT = "NO VERDICT"
    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNCLEAR = "UNCLEAR"
    NOT_SHOWN = "NO DIFFERENCE SHOWN"

    @property
    def decided(self) -> bool:
        """Whether the arms could be compared at all (exit code 0 of a comparison)."""
        return self not in (Word.NOT_COMPARABLE, Word.INVALID_RUN, Word.NO_VERDICT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`line` is the verdict in one line; `scope` what it holds for, with depth and streams; `ttft`
    both arms' TTFT. `ratio`: speculative over baseline, None where withheld; `withheld`: the ratio
    of arms that are not comparable, for "show anyway" only, and then said wherever it is shown."""

    word: Word
    line: str
    scope: str = ""
    ttft: str = ""
    reasons: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    baseline: Summary | None = None
    speculative: Summary | None = None
    ratio: Interval | None = None
    withheld: Interval | None = None
    p: float | None = None
    differences: tuple[Difference, ...] = field(default=())

    def lines(self) -> tuple[str, ...]:
        """The whole verdict, the same words for every front end."""
        beside = tuple(text for text in (self.scope, self.ttft) if text)
        return (self.line, *beside, *self.reasons, *(f"! {text}" for text in self.cautions))


def verdict(baseline: Arm, speculative: Arm, threshold: float = THRESHOLD) -> Verdict:
    """Speculative against baseline; `threshold` is the smallest relative difference that matters.

    Any two arms will do, the first being the reference.
    """
    for arm, role in ((baseline, "baseline"), (speculative, "speculative arm")):
        if isinstance(arm, Assumed):
            why = f"{role} was assumed, not measured ({arm.decode_tok_s:g} tok/s, {arm.source})"
            return Verdict(Word.NOT_COMPARABLE, f"NOT COMPARABLE: {why}", reasons=(why,))
    assert isinstance(baseline, Measured)
    assert isinstance(speculative, Measured)
    found = differences(baseline.circumstances, speculative.circumstances)
    sides = summarise(baseline), summarise(speculative)
    unlike = _unlike(baseline, speculative, found)
    enough = min(len(baseline.rates()), len(speculative.rates())) >= LEAST_RUNS
    if unlike:
        return Verdict(
            Word.NOT_COMPARABLE,
            f"NOT COMPARABLE: {_named(unlike, found)}",
            reasons=unlike,
            baseline=sides[0],
            speculative=sides[1],
            withheld=_ratio_if_any(baseline, speculative) if enough else None,
            differences=found,
        )
    if not enough or sides[0] is None or sides[1] is None:
        return _too_few(baseline, speculative, sides, found)
    return _decided(baseline, speculative, (sides[0], sides[1]), found, threshold)


def _unlike(
    baseline: Measured, speculative: Measured, found: tuple[Difference, ...]
) -> tuple[str, ...]:
    """Reasons why these arms must not be compared."""
    said = [d.text() for d in found if d.severity is Severity.INVALIDATES]
    if baseline.workload != speculative.workload:
        said.append("the arms were measured at another depth, concurrency or temperature")
    prompts = by_prompt(baseline)
    if prompts and by_prompt(speculative) and set(prompts) != set(by_prompt(speculative)):
        said.append("the arms were given different prompts")
    early = parted_early(baseline, speculative)
    if len(prompts) > 1 and len(early) * 2 > len(prompts):
        said.append(f"texts part within 50 tokens for {len(early)} of {len(prompts)} prompts")
    return tuple(said)


def _ratio_if_any(baseline: Measured, speculative: Measured) -> Interval | None:
    if set(by_prompt(baseline)) != set(by_prompt(speculative)):
        return None
    return compare(baseline, speculative).ratio


def _too_few(
    baseline: Measured,
    speculative: Measured,
    sides: tuple[Summary | None, Summary | None],
    found: tuple[Difference, ...],
) -> Verdict:
    flaws = tuple(f"{arm.name}: {flaw}" for arm in (baseline, speculative) for flaw in arm.flaws())
    if flaws:
        word, line = Word.INVALID_RUN, f"INVALID RUN: {_and_more(flaws)}"
    else:
        counts = f"{len(baseline.rates())}+{len(speculative.rates())} runs"
        word, line = Word.NO_VERDICT, f"NO VERDICT: {counts}, three a side are needed"
    return Verdict(
        word, line, reasons=flaws, baseline=sides[0], speculative=sides[1], differences=found
    )


def _decided(
    baseline: Measured,
    speculative: Measured,
    sides: tuple[Summary, Summary],
    found: tuple[Difference, ...],
    threshold: float,
) -> Verdict:
    compared = compare(baseline, speculative)
    word, line = word_of(compared, threshold)
    loss = sides[1].ttft_ms / sides[0].ttft_ms - 1
    if loss > TTFT_LOSS:
        line += f", but TTFT {100 * loss:+.0f} %"
    return Verdict(
        word,
        line,
        scope=_scope(baseline, sides, compared),
        ttft=f"TTFT {sides[0].ttft_ms:.0f} ms baseline, {sides[1].ttft_ms:.0f} ms speculative",
        cautions=cautions(baseline, speculative, sides, found),
        baseline=sides[0],
        speculative=sides[1],
        ratio=compared.ratio,
        p=compared.p,
        differences=found,
    )


def word_of(compared: Comparison, threshold: float) -> tuple[Word, str]:
    """Word and line from the interval and the second opinion of the ranks, nothing else."""
    ratio, p = compared.ratio, compared.p
    apart = ratio.low > 1 or ratio.high < 1
    if p is not None and apart != (p < SIGNIFICANT):
        said = f"{_signed(ratio)}, Welch and ranks disagree (p = {p:.3f})"
        return Word.UNCLEAR, f"UNCLEAR: look at the runs: {said}"
    if apart:
        word = Word.FASTER if ratio.mid > 1 else Word.SLOWER
        sign = 1 if ratio.mid > 1 else -1
        low, high = sorted(100 * sign * (edge - 1) for edge in (ratio.low, ratio.high))
        size = 100 * sign * (ratio.mid - 1)
        line = f"{word} by {size:.1f} % [{low:.1f}, {high:.1f}]"
        small = abs(ratio.mid - 1) < threshold
        return word, line + (f", below your {100 * threshold:g} % threshold" if small else "")
    if 1 - threshold < ratio.low and ratio.high < 1 + threshold:
        return Word.SAME, f"SAME within ±{100 * threshold:g} %: {_signed(ratio)}"
    seen = f"this test could only see {100 * compared.detectable:.1f} % or more"
    return Word.NOT_SHOWN, f"NO DIFFERENCE SHOWN: {_signed(ratio)}; {seen}"


def _signed(ratio: Interval) -> str:
    mid, low, high = (100 * (edge - 1) for edge in (ratio.mid, ratio.low, ratio.high))
    return f"{mid:+.1f} % [{low:+.1f}, {high:+.1f}]"


def _scope(baseline: Measured, sides: tuple[Summary, Summary], compared: Comparison) -> str:
    """5+5 runs, one prompt, these launches, depth 0.5k, one stream."""
    ours, theirs = sides
    confirmed = min(ours.launches, theirs.launches) >= LAUNCHES_FOR_ALL
    launches = f"{ours.launches}+{theirs.launches} launches" if confirmed else "these launches"
    prompts = "one prompt" if ours.prompts == 1 else f"these {ours.prompts} prompts"
    depth = baseline.workload.depth_tokens if ours.depth_tokens is None else ours.depth_tokens
    streams = baseline.workload.concurrency
    return ", ".join(
        (
            f"{ours.runs}+{theirs.runs} runs",
            prompts,
            launches,
            f"depth {depth / 1024:.1f}k" if depth >= 100 else f"depth {depth} tokens",
            "one stream" if streams == 1 else f"{streams} streams",
            f"samples are {compared.over}",
        )
    )


def _named(unlike: tuple[str, ...], found: tuple[Difference, ...]) -> str:
    """One reason in full, or every circumstance by name."""
    if len(unlike) == 1:
        return unlike[0]
    keys = [d.key for d in found if d.severity is Severity.INVALIDATES]
    more = f" and {len(keys) - MOST_NAMES} more" if len(keys) > MOST_NAMES else ""
    listed = ", ".join(keys[:MOST_NAMES]) + more
    own = [f"{listed} differ or are unknown"] if len(keys) > 1 else list(unlike[: len(keys)])
    return "; ".join((*own, *unlike[len(keys) :]))


def _and_more(reasons: tuple[str, ...]) -> str:
    """The first reason, and how many more."""
    more = len(reasons) - 1
    return reasons[0] + (f", and {more} more" if more else "")
