"""How many launches and runs, in what order, and how many minutes that takes.

Owns the levels look, quick, confirmed and the story's "one prompt, five runs". It must never plan
a run whose prompt an arm may not be given, and it stops on the width of an interval, never on p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import cycle, islice
from typing import Literal

from console.bench.stats import MOST_WARMUPS, runs_needed, settled, variation

Side = Literal["baseline", "speculative"]
BASELINE: Side = "baseline"
SPECULATIVE: Side = "speculative"


class Level(StrEnum):
    """What a benchmark may claim."""

    LOOK = "look"
    STORY = "one prompt, five runs"
    QUICK = "quick"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True)
class Protocol:
    """Per arm: launches, and in each launch warm-ups at least, then runs of each prompt.

    `scope`: what a verdict from it holds for.
    """

    launches: int
    warmups: int
    runs: int
    prompts: int
    scope: str


PROTOCOLS: dict[Level, Protocol] = {
    Level.LOOK: Protocol(1, 1, 3, 1, "this prompt, these launches"),
    Level.STORY: Protocol(1, 1, 5, 1, "this prompt, these launches"),
    Level.QUICK: Protocol(1, 2, 5, 3, "these prompts, these launches"),
    Level.CONFIRMED: Protocol(3, 3, 5, 1, "this prompt, any launch"),
}


@dataclass(frozen=True, slots=True)
class Load:
    """Start this arm's server; `launch` counts from 1 per arm."""

    side: Side
    launch: int


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Warm-up runs: at least `least`, on until `warm` says so, MOST_WARMUPS at most."""

    side: Side
    launch: int
    least: int


@dataclass(frozen=True, slots=True)
class Measure:
    """One run of one prompt; `run` counts from 1 per arm, launch and prompt."""

    side: Side
    launch: int
    prompt: int
    run: int


Step = Load | WarmUp | Measure


def other(side: Side) -> Side:
    """The arm that this one is held against."""
    return SPECULATIVE if side == BASELINE else BASELINE


def rounds(
    launches: int, both_up: bool, first: Side = BASELINE
) -> tuple[tuple[tuple[Side, int], ...], ...]:
    """Who is launched when: one round after the other, in each the arms that are up in it with the
    number of their launch.

    `both_up`: each arm has a slot of its own; else they take turns in one, ABBA, `first` being the
    one that begins (what runs already needs no load).
    """
    if both_up:
        pair = (first, other(first))
        return tuple(tuple((side, n) for side in pair) for n in range(1, launches + 1))
    return tuple((turn,) for turn in _turns(launches, first))


def steps(protocol: Protocol, both_up: bool, first: Side = BASELINE) -> tuple[Step, ...]:
    """The order of everything.

    Where both arms are up single runs take turns (ABBA, which cancels a linear drift); else the
    arms do by launch, see `rounds`. Prompts come in the same order in both arms.
    """
    found: list[Step] = []
    for arms in rounds(protocol.launches, both_up, first):
        for side, launch in arms:
            found += [Load(side, launch), WarmUp(side, launch, protocol.warmups)]
        queues = {side: _runs(protocol, side, launch) for side, launch in arms}
        if len(arms) == 1:
            found += queues[arms[0][0]]
            continue
        for side, _ in _turns(len(queues[first]), first):
            found.append(queues[side].pop(0))
    return tuple(found)


def _runs(protocol: Protocol, side: Side, launch: int) -> list[Step]:
    return [
        Measure(side, launch, prompt, run)
        for run in range(1, protocol.runs + 1)
        for prompt in range(protocol.prompts)
    ]


def _turns(each: int, first: Side) -> list[tuple[Side, int]]:
    """ABBA ABBA … for `each` turns a side, with each side's own number."""
    seen: dict[Side, int] = {BASELINE: 0, SPECULATIVE: 0}
    second = other(first)
    found = []
    for side in islice(cycle((first, second, second, first)), 2 * each):
        seen[side] += 1
        found.append((side, seen[side]))
    return found


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known or guessed beforehand of one arm: seconds per load (0 if it is up), decode
    tok/s, TTFT in s."""

    load_s: float
    decode_tok_s: float
    ttft_s: float = 0.5


def seconds(
    plan: Sequence[Step], expected: dict[Side, Expected], tokens: int, up: frozenset[Side]
) -> float:
    """How long the steps take, loads included. `up`: arms whose first launch already serves."""
    total = 0.0
    for step in plan:
        arm = expected[step.side]
        one = arm.ttft_s + tokens / arm.decode_tok_s
        match step:
            case Load():
                total += 0 if step.launch == 1 and step.side in up else arm.load_s
            case WarmUp():
                total += step.least * one
            case Measure():
                total += one
    return total


def minutes(total_s: float) -> str:
    """For people: `under a minute`, `about 4 minutes`, `about 1 h 20 min`."""
    whole = round(total_s / 60)
    if whole < 1:
        return "under a minute"
    if whole < 60:
        return f"about {whole} minute{'s' if whole > 1 else ''}"
    return f"about {whole // 60} h {whole % 60} min"


def warm(rates: Sequence[float], least: int) -> bool:
    """Whether measuring may begin: enough warm-ups, and where three are asked for, settled ones or
    as many as there may be. Decided from this arm alone."""
    if len(rates) < least:
        return False
    return least < 3 or settled(rates) or len(rates) >= MOST_WARMUPS


def more_runs(
    baseline: Sequence[float], speculative: Sequence[float], within: float, most: int = 100
) -> int | None:
    """Runs to add per arm until the ratio's interval is within ± `within` (0.01 = 1 %), 0 if it
    is; None when over `most` runs would be needed. The target is fixed beforehand."""
    spread = (variation(baseline) ** 2 / 2 + variation(speculative) ** 2 / 2) ** 0.5
    needed = runs_needed(spread, within, most)
    if needed is None:
        return None
    return max(0, needed - min(len(baseline), len(speculative)))
