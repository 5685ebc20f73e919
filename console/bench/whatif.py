"""What-ifs as words: `baseline=90 restored=90 length=2.5 saving=5 verify=27 drafts=4:1.2`.

Owns their grammar and their answers, each labelled a projection. A verify time is known here only
from whoever types it; nothing answered may be kept as if it had been measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from console.bench.breakeven import (
    LABEL,
    Cycle,
    best_drafts,
    with_baseline,
    with_length,
    with_restored,
    with_verify_saving,
)

FORMS = {
    "baseline": "another baseline, tok/s",
    "restored": "both arms in an environment whose baseline has that many tok/s",
    "length": "that many tokens a cycle",
    "saving": "verify shorter by that many ms",
    "verify": "verify takes that many ms, as a profiler told: what is left, and the ceiling",
    "drafts": "that many drafts, after a colon the ms that each costs: 4:1.2",
}
MOST = 16


class BadQuestion(ValueError):
    """A what-if that cannot be meant so; the text says what was expected."""


def answers(text: str, cycle: Cycle, per_position: Sequence[float]) -> tuple[str, ...]:
    """One line for each what-if, in their order; `per_position`: acceptance as measured.

    Raises:
        BadQuestion: a word is none of FORMS, or its number means nothing here.
    """
    words = text.split()
    if len(words) > MOST:
        raise BadQuestion(f"what_if: {MOST} at most")
    found: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in FORMS:
            raise BadQuestion(f'what_if: "{word}": {", ".join(FORMS)} and a number were expected')
        found += _answer(name, value, cycle, per_position)
    return tuple(found)


def _answer(name: str, value: str, cycle: Cycle, per_position: Sequence[float]) -> list[str]:
    match name:
        case "baseline":
            return [with_baseline(cycle, _number(name, value)).text()]
        case "restored":
            restored = _number(name, value)
            _shorter(name, value, 1e3 / cycle.base_tok_s - 1e3 / restored, cycle)
            return [with_restored(cycle, restored).text()]
        case "length":
            return [with_length(cycle, _number(name, value)).text()]
        case "saving":
            saving_ms = _number(name, value)
            _shorter(name, value, saving_ms, cycle)
            return [with_verify_saving(cycle, saving_ms).text()]
        case "verify":
            return _verify(replace(cycle, verify_ms=_number(name, value)), value)
        case _:
            drafts, _, step = value.partition(":")
            return _drafts(_number(name, drafts), _number(name, step or "?"), cycle, per_position)


def _verify(cycle: Cycle, value: str) -> list[str]:
    """What a verify time that somebody knows leaves for the draft, and the ceiling."""
    rest, steps, ceiling = cycle.rest_ms, cycle.verify_steps, cycle.ceiling
    assert rest is not None
    assert steps is not None
    assert ceiling is not None
    if rest < 0:
        raise BadQuestion(
            f"what_if: verify={value}: longer than the cycle of {cycle.cycle_ms:.1f} ms"
        )
    told = f"verify {value} ms as told: {rest:.1f} ms for draft and rest, verify costs {steps:.2f} "
    return [told + "baseline steps", ceiling.text()]


def _drafts(
    drafts: float, step_ms: float, cycle: Cycle, per_position: Sequence[float]
) -> list[str]:
    """That number of drafts at that cost, and the best number among those measured."""
    known = len(per_position)
    if drafts != int(drafts) or not 1 <= drafts <= known:
        told = f"acceptance is known for {known} positions" if known else "it is told by none"
        raise BadQuestion(f"what_if: drafts={drafts:g}: a number of drafts was expected; {told}")
    if (known - 1) * step_ms >= cycle.cycle_ms:
        raise BadQuestion(f"what_if: drafts: {known} of {step_ms:g} ms are longer than the cycle")
    best, projected = best_drafts(cycle, per_position, known, step_ms)
    return [projected[int(drafts) - 1].text(), f"best of 1 to {known}: {best} drafts ({LABEL})"]


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadQuestion(f'what_if: {name}: a number was expected, not "{text}"') from None
    if not 0 < value < 1e6:
        raise BadQuestion(f"what_if: {name}={text}: a number above 0 was expected")
    return value


def _shorter(name: str, value: str, saving_ms: float, cycle: Cycle) -> None:
    if saving_ms >= cycle.cycle_ms:
        raise BadQuestion(
            f"what_if: {name}={value}: nothing of the {cycle.cycle_ms:.1f} ms is left"
        )
