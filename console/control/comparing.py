"""Comparing two arms: the verdict in its own words, and what follows from it.

Owns the lines that every front end prints and what a comparison counts as. It must never say a
ratio that the verdict withholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from console.bench.arm import Arm as BenchArm
from console.bench.arm import Measured
from console.bench.breakeven import Cycle, with_believed
from console.bench.verdict import Verdict, Word, verdict
from console.bench.whatif import BadQuestion, answers
from console.control.arms import Chosen, NoArm, choose
from console.control.port import Argument, Outcome
from console.model.exits import Exit
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.session.journal import Journal
from console.store.toml import one_of
from console.stream.run_events import VerdictReached
from console.stream.state import State


@dataclass(frozen=True, slots=True)
class Compared:
    """Two arms compared. `lines`: all that is said, the same words everywhere; `event` for the
    stream."""

    verdict: Verdict
    lines: tuple[str, ...]
    event: VerdictReached


def compare(
    baseline: Chosen, speculative: Chosen, assumed: State, masks: Masks, what_if: str = ""
) -> Compared:
    """Speculative against baseline. `assumed`: the State whose assumptions are spoken of too.

    Raises:
        BadQuestion: a what-if that means nothing.
    """
    found = verdict(baseline.arm, speculative.arm)
    before = tuple(f"! {text}" for text in (*baseline.said, *speculative.said))
    after = _after(found, speculative, assumed, what_if)
    head, *rest = found.lines()
    lines = (head, *before, *rest, *after)
    ratio = found.ratio
    event = VerdictReached(
        clean(baseline.name, masks),
        clean(speculative.name, masks),
        Clean(found.word.value),
        clean(head, masks),
        None if ratio is None else ratio.mid,
        None if ratio is None else ratio.low,
        None if ratio is None else ratio.high,
        tuple(clean(line, masks) for line in lines[1:]),
    )
    return Compared(found, lines, event)


def _after(found: Verdict, speculative: Chosen, state: State, what_if: str) -> tuple[str, ...]:
    """Break-even, and what an assumed baseline would make of it, labelled as what it is."""
    base, spec = found.baseline, found.speculative
    if found.ratio is None or base is None or spec is None or spec.acceptance_length is None:
        if what_if:
            raise BadQuestion(
                "what_if: a ratio and tokens a pass are needed, one of them is missing"
            )
        return ()
    cycle = Cycle.from_rates(spec.rate.mid, spec.acceptance_length, base.rate.mid)
    said = [f"break-even {cycle.break_even:.2f} tokens a cycle, got {cycle.length:.2f}"]
    believed = [stated.decode_tok_s for stated in state.assumptions.values()]
    said += [one.text() for one in with_believed(cycle, believed)]
    return (*said, *answers(what_if, cycle, _per_position(speculative.arm)))


def _per_position(arm: BenchArm) -> tuple[float, ...]:
    """Acceptance by position, the mean of the runs that tell it."""
    if not isinstance(arm, Measured):
        return ()
    told = [f.acceptance.per_position for _, f in arm.valid() if f.acceptance is not None]
    return tuple(fmean(shares) for shares in zip(*filter(None, told), strict=False))


def compare_outcome(
    state: State, given: Mapping[str, Argument], masks: Masks
) -> tuple[Outcome, VerdictReached | None]:
    """What a `compare` verb comes to: OK for a verdict, or for the word that was expected."""
    expect = str(given.get("expect", ""))
    try:
        ours = choose(state, str(given.get("baseline", "")), Arm.BASELINE)
        theirs = choose(state, str(given.get("speculative", "")), Arm.SPECULATIVE)
    except NoArm as error:
        return Outcome(Exit.STEP, clean(str(error), masks)), None
    if expect and expect.upper() not in list(Word):
        known = one_of([word.value for word in Word])
        return Outcome(Exit.USAGE, clean(f'expect: no verdict "{expect}" ({known})', masks)), None
    try:
        found = compare(ours, theirs, state, masks, str(given.get("what_if", "")))
    except BadQuestion as error:
        return Outcome(Exit.USAGE, clean(str(error), masks)), None
    word, ratio = found.verdict.word, found.verdict.ratio
    good = word.value == expect.upper() if expect else word.decided
    lines = tuple(clean(line, masks) for line in found.lines)
    results: dict[str, str | int | float] = {"verdict": word.value, "line": found.lines[0]}
    if ratio is not None:
        results |= {"ratio": ratio.mid, "low": ratio.low, "high": ratio.high}
    text = lines[0] if good or not expect else clean(f"{lines[0]}; {expect} was expected", masks)
    return Outcome(Exit.OK if good else Exit.ASSERTION, text, results, lines), found.event


def compare_recorded(journal: Journal, given: Mapping[str, Argument], masks: Masks) -> Outcome:
    """The same of all that a recording holds, wherever a player of it stands."""
    outcome, _ = compare_outcome(journal.state_before(len(journal.index)), given, masks)
    return outcome
