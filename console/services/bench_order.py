"""The order in which arms are measured: one alone, or two that are both up, by turns.

Owns the turns ABBA, which cancel a steady drift, and that an end comes for every arm that began.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import cycle

from console.model.failure import WireError
from console.services.bench import Benching
from console.stream.events import Event


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
        if not any(arm.wants_more() for arm in arms):
            return
        if arms[place].wants_more():
            yield arms[place]
