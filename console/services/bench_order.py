"""The order in which arms are measured: one alone, or two that are both up, by turns.

Owns the turns ABBA, which cancel a steady drift, when runs are added, and that an end comes for
every arm that began.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import cycle

from console.bench.protocol import more_runs
from console.bench.stats import log_interval, runs_needed, variation, welch
from console.model.failure import WireError
from console.model.text import Clean
from console.services.bench import MOST_RUNS, Benching
from console.stream.events import Event
from console.stream.session_events import Noticed


async def measured(arms: Sequence[Benching]) -> AsyncGenerator[Event, None]:
    """Everything from the first arm's beginning to the last one's end.

    A defect of a worker or a link ends it with what there is. Whoever stops taking events emits
    the ends itself.
    """
    why = ""
    try:
        for arm in arms:
            yield arm.started()
        for arm in arms:
            async for event in arm.begin():
                yield event
        for arm in _turns(arms):
            async for event in arm.turn():
                yield event
        for text in _not_narrow(arms):
            yield Noticed(arms[0].server, Clean("warning"), Clean(text))
    except WireError as error:
        why = f"{error.kind.value}: {error.why}"
    finally:
        for arm in arms:
            await arm.close()
    for arm in arms:
        yield arm.finished(why)


def _turns(arms: Sequence[Benching]) -> Iterator[Benching]:
    """ABBA ABBA …; who has enough is left out, and with one arm it is just that arm again."""
    for place in cycle((0, -1, -1, 0)):
        wanted = [arm for arm in arms if arm.is_short()] or _to_add(arms)
        if not wanted:
            return
        if arms[place] in wanted:
            yield arms[place]


def _to_add(arms: Sequence[Benching]) -> list[Benching]:
    """Who gets one run more, decided on the width alone: nobody where it is narrow enough, and
    nobody where more runs than there may be would be needed."""
    within = arms[0].plan.within
    rates = [arm.rates() for arm in arms]
    if not within or half_width(rates) <= within or not _reachable(rates, within):
        return []
    return [arm for arm in arms if arm.may_add()]


def _reachable(rates: Sequence[Sequence[float]], within: float) -> bool:
    """Whether as many runs as there may be would be enough at this scatter."""
    if len(rates) == 1:
        # one arm's own interval is narrower than the ratio of two such arms by the root of 2
        return runs_needed(variation(rates[0]) / 2**0.5, within, MOST_RUNS) is not None
    return more_runs(rates[0], rates[1], within, MOST_RUNS) is not None


def half_width(rates: Sequence[Sequence[float]]) -> float:
    """Half the width of the interval, relative: of the ratio of two arms, or of the one arm's rate;
    0 with too few runs to tell."""
    if min(map(len, rates)) < 2:
        return 0.0
    found = log_interval(rates[0]) if len(rates) == 1 else welch(rates[0], rates[1]).ratio()
    return found.half()


def _not_narrow(arms: Sequence[Benching]) -> Iterator[str]:
    within, half = arms[0].plan.within, half_width([arm.rates() for arm in arms])
    if within and half > within:
        what = "ratio" if len(arms) > 1 else "rate"
        yield (
            f"the interval of the {what} is ±{100 * half:.1f} %, wider than the "
            f"{100 * within:g} % asked for: over {MOST_RUNS} runs would be needed"
        )
