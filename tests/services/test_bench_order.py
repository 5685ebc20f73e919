"""In what order runs come, and when some are added: on arms whose rates are given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import cast

import pytest

from console.bench.job import Sampling
from console.bench.plan import Plan
from console.bench.promptset import Prompt, PromptSet
from console.bench.protocol import PROTOCOLS, Level
from console.model.text import Clean
from console.services.bench import MOST_RUNS, Benching
from console.services.bench_order import half_width, measured
from console.stream.events import Event
from console.stream.run_events import BenchFinished
from console.stream.session_events import MarkerPut, Noticed

PROMPTS = PromptSet("p", (Prompt("p-1", "chat", "Hi"),))
PLAN = Plan("look", PROTOCOLS[Level.LOOK], PROMPTS, "as is", 0, Sampling())


@dataclass
class Arm:
    """An arm that decodes at these rates, one after the other and again from the first."""

    server: Clean
    plan: Plan
    given: Iterator[float]
    done: list[float] = field(default_factory=list)

    def started(self) -> Event:
        return MarkerPut(Clean(f"{self.server} begins"))

    async def begin(self) -> AsyncIterator[Event]:
        yield MarkerPut(Clean(f"{self.server} is warm"))

    async def turn(self) -> AsyncIterator[Event]:
        self.done.append(next(self.given))
        yield MarkerPut(self.server)

    def is_short(self) -> bool:
        return len(self.done) < self.plan.protocol.runs

    def may_add(self) -> bool:
        return bool(self.plan.within) and len(self.done) < MOST_RUNS

    def rates(self) -> list[float]:
        return self.done

    async def close(self) -> None:
        pass

    def finished(self, why: str) -> BenchFinished:
        return BenchFinished(self.server, True, Clean(why), ())


def order(within: float, *rates: Sequence[float]) -> tuple[str, list[str]]:
    """Whose run came when, and what was said."""
    plan = replace(PLAN, within=within)
    arms = [Arm(Clean("bs"[n]), plan, cycle(given)) for n, given in enumerate(rates)]

    async def events() -> list[Event]:
        return [event async for event in measured(cast("list[Benching]", arms))]

    found = asyncio.run(events())
    turns = "".join(e.name for e in found if isinstance(e, MarkerPut) and len(e.name) == 1)
    return turns, [str(event.text) for event in found if isinstance(event, Noticed)]


def test_two_arms_take_turns_and_one_goes_on_alone() -> None:
    assert order(0.0, [60.0, 61.0], [70.0, 71.0]) == ("bssbbs", [])
    assert order(0.0, [60.0, 61.0]) == ("bbb", [])


def test_runs_are_added_until_the_ratio_is_narrow_enough() -> None:
    base, spec = [60.0, 60.6, 59.4], [72.0, 72.9, 71.1]
    turns, said = order(0.01, base, spec)
    assert turns.startswith("bssbbssbbssb")
    assert said == []
    counts = turns.count("b"), turns.count("s")
    assert abs(counts[0] - counts[1]) <= 1
    taken = [base[n % 3] for n in range(counts[0])], [spec[n % 3] for n in range(counts[1])]
    assert half_width(taken) <= 0.01
    before = (
        taken[0][: -1 if turns[-1] == "b" else None],
        taken[1][: -1 if turns[-1] == "s" else None],
    )
    assert half_width(before) > 0.01


def test_one_arm_is_held_to_its_own_interval() -> None:
    rates = [60.0, 60.6, 59.4]
    turns, said = order(0.01, rates)
    assert (len(turns), said) == (6, [])
    assert half_width([rates]) > 0.01 >= half_width([rates * 2])


@pytest.mark.parametrize("rates", [[[40.0, 60.0, 80.0]], [[40.0, 60.0, 80.0], [50.0, 70.0, 90.0]]])
def test_where_no_number_of_runs_would_do_it_ends_and_says_so(rates: list[list[float]]) -> None:
    turns, (said,) = order(0.001, *rates)
    assert len(turns) == 3 * len(rates)
    assert "wider than the 0.1 % asked for: over 100 runs would be needed" in said
