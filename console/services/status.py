"""One address at work: what answers there is found out when it comes up, then its figures polled.

Owns the order of both, so that a restart is never read as the same process. Two servers listed at
one address share all of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from console.model.clock import Clock, Pace
from console.model.fleet import Server
from console.model.mask import Masks
from console.services.engine import Known, find, found_events, loaded
from console.services.figures import Polls
from console.services.metrics import Poller, metrics
from console.services.probe import ask_token, by_health, probed_events
from console.services.pulse import Pulse
from console.stream.events import Event
from console.transport.http import Http


async def status(
    entries: Sequence[Server],
    http: Http,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    pulse: Pulse,
    known: Known = lambda _name: None,
) -> AsyncGenerator[Event, None]:
    """Engine, arm, arguments and figures of what answers at one address, for ever.

    A server that came up while it was watched is asked for one token.
    """
    said: set[str] = set()
    gone, another = 0, False
    while True:
        await pulse.up.wait()
        async with pulse.status_turn:
            found = await find(entries[0].url, http, pace.read_deadline_s)
        if not found.answered:
            pulse.ask.set()
            await clock.sleep(pace.health_starting_s)
            continue
        for event in found_events(found, entries, masks, known):
            yield event
        dialect = found.dialect
        if dialect is None:
            await pulse.down.wait()
            continue
        names = [entry.name for entry in loaded(found, entries)]
        if (another or pulse.gone > gone) and not by_health(dialect):
            async with pulse.status_turn:
                probed = await ask_token(entries[0], http, dialect, found.model, pace)
            for event in probed_events(names, probed, masks):
                yield event
        gone = pulse.gone
        polls = Polls(names, said, masks)
        poller = Poller(entries[0], http, dialect, clock, pace, polls, pulse.ask.set)
        async for event in metrics(poller, clock, pace, pulse):
            yield event
        another = poller.over
        if another:
            # Not the process that was polled: health is asked at once, and then what it is.
            pulse.ask.set()
            await clock.sleep(pace.metrics_s)
