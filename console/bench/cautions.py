"""What stands beside a verdict, and whether both arms wrote the same text.

Owns the warnings that do not change a verdict: noise, drift, order, odd runs, the client's own
limits. It must never drop a run.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from console.bench.arm import LAUNCHES_FOR_ALL, Measured, Summary
from console.bench.provenance import Difference, Severity
from console.bench.stats import drift, outliers, slow_first, variation

NOISY_CV = 0.03
DRIFT_RUNS = 6
EARLY_TOKENS = 50
SHAPE_APART = 0.10


def cautions(
    baseline: Measured,
    speculative: Measured,
    sides: tuple[Summary, Summary],
    found: tuple[Difference, ...],
) -> tuple[str, ...]:
    """All warnings of a comparison, the noisy machine first."""
    said = []
    noise = variation(baseline.rates())
    if noise > NOISY_CV:
        said.append(f"noisy machine: baseline runs scatter by {100 * noise:.1f} %, over 3 %")
    for arm in (baseline, speculative):
        if arm.flaws():
            said.append(f"{arm.name}: void runs left out: {'; '.join(arm.flaws())}")
    said += [d.text() + ": " + d.why for d in found if d.severity is Severity.WARN]
    if min(side.launches for side in sides) < LAUNCHES_FOR_ALL:
        said.append("fewer than three launches a side: what differs by launch is in the number")
    if not interleaved(baseline, speculative):
        said.append("the arms ran one after the other: drift between them is not controlled")
    for arm, side in zip((baseline, speculative), sides, strict=True):
        said += _of_one(arm, side)
    said += _shape_note(baseline, speculative)
    said += _text_note(baseline, speculative)
    said += _cache_note(baseline, speculative)
    return tuple(said)


def _of_one(arm: Measured, side: Summary) -> list[str]:
    rates = arm.rates()
    said = []
    if side.prompts == 1:
        # no rule on slope alone: over five runs chance alone slopes by more than the interval
        change, p = drift(rates) if len(rates) >= DRIFT_RUNS else (0.0, 1.0)
        if p < 0.05:
            said.append(f"{arm.name} drifts by {100 * change:+.1f} % over its runs (p = {p:.3f})")
        if slow_first(rates):
            said.append(f"{arm.name}: the first run is slow, the server may not have been warm")
        if outliers(rates):
            odd = ", ".join(f"{rates[i]:.1f}" for i in outliers(rates))
            said.append(f"{arm.name}: odd runs, kept: {odd} tok/s")
        if abs(side.pooled_tok_s / side.rate.mid - 1) > side.rate.half():
            said.append(f"{arm.name}: runs differ in length, pooled {side.pooled_tok_s:.1f} tok/s")
    if any(figures.client_limited for _, figures in arm.valid()):
        said.append(f"{arm.name}: gap percentiles are the client's own, the decode rate stands")
    notes = [note for _, figures in arm.valid() for note in figures.notes]
    said += [f"{arm.name}: {note}" for note in dict.fromkeys(notes)][:2]
    return said


def interleaved(baseline: Measured, speculative: Measured) -> bool:
    """Whether the arms took turns more than once, by launch or by run."""
    arms = enumerate((baseline, speculative))
    turns = sorted((trial.at_us, side) for side, arm in arms for trial in arm.trials)
    return sum(1 for (_, a), (_, b) in pairwise(turns) if a != b) > 1


def parted_early(baseline: Measured, speculative: Measured) -> tuple[str, ...]:
    """Prompts whose text differs within its first 50 tokens, by greedy decoding at temperature 0.

    A near-tie may flip a token; most prompts parting early mean another model or template. Tokens
    are placed by the text's own characters per token.
    """
    return tuple(
        prompt
        for prompt, at_token in _partings(baseline, speculative).items()
        if at_token is not None and at_token < EARLY_TOKENS
    )


def _partings(baseline: Measured, speculative: Measured) -> dict[str, int | None]:
    """Token at which the arms' texts part, by prompt, in the first turn that both arms answered;
    None where they are equal."""
    if baseline.workload.temperature or speculative.workload.temperature:
        return {}
    found: dict[str, int | None] = {}
    theirs = {(t.prompt, t.turn): t.text for t, _ in reversed(speculative.valid())}
    for trial, figures in reversed(baseline.valid()):
        other = theirs.get((trial.prompt, trial.turn))
        if not trial.text or not other:
            continue
        shared = _shared(trial.text, other)
        same = trial.text == other
        found[trial.prompt] = None if same else shared * figures.tokens // len(trial.text)
    return found


def _shared(one: str, other: str) -> int:
    """Length of the beginning that two texts share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _shape_note(baseline: Measured, speculative: Measured) -> list[str]:
    """Decode slows as the context grows; both arms should slow alike, fifth by fifth."""
    shapes = [_shape(arm) for arm in (baseline, speculative)]
    apart = [b / a - 1 for a, b in zip(*shapes, strict=False)]
    worst = max(apart, key=abs, default=0.0)
    if abs(worst) <= SHAPE_APART:
        return []
    which = apart.index(worst) + 1
    return [f"the arms slow down differently: fifth {which} of 5 is {100 * worst:+.0f} % off"]


def _shape(arm: Measured) -> list[float]:
    """Median rate of each fifth of the tokens over the run's own rate."""
    shapes = [[rate / f.decode_tok_s for rate in f.fifths] for _, f in arm.valid() if f.fifths]
    return [median(fifth) for fifth in zip(*shapes, strict=True)]


def _text_note(baseline: Measured, speculative: Measured) -> list[str]:
    parted = [token for token in _partings(baseline, speculative).values() if token is not None]
    if not parted:
        return []
    where = f"from about token {min(parted)} on"
    count = "one prompt" if len(parted) == 1 else f"{len(parted)} prompts"
    return [f"the arms' texts differ for {count}, {where}"]


def _cache_note(baseline: Measured, speculative: Measured) -> list[str]:
    cached = [{f.cached_tokens for _, f in arm.valid()} for arm in (baseline, speculative)]
    if cached[0] == cached[1]:
        return []
    return ["the prefix cache held different parts of the prompts: do not compare TTFT"]
