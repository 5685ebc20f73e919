"""Following a log without repeating a line and without losing one in silence.

Owns the position in the file (identity and byte offset), how it is found again after a lost link,
a rotation or a truncation, and the words for what was missed. Waits for its consumer, so a slow
one slows the host's reading down and nothing piles up here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import LogId, LogSource
from console.model.mask import Masks
from console.model.text import clean
from console.services.emitter import Emitter
from console.services.follow import Follower
from console.services.printed import Printer
from console.stream.fact import FeedState, GapKind
from console.stream.server_events import LogAdvanced, LogFeedChanged, LogGap, LogListed
from console.transport.wire import Wire

LogSeen = LogListed | LogAdvanced | LogGap | LogFeedChanged


async def tail(
    log: LogId,
    server: str,
    source: LogSource,
    wire: Wire,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    *,
    last_lines: int | None = 200,
    first: int = 0,
) -> AsyncGenerator[LogSeen, None]:
    """The last lines of a log (None: all of it), then whatever comes, until it is closed.

    Numbers begin at `first`; what came before under other numbers may come again, which is said.
    Ends only when the wire was closed.
    """
    name = clean(log, masks)
    place = source.path or " ".join(source.argv)
    yield LogListed(name, clean(server, masks), clean(place, masks))
    emitter = Emitter(name, clock, pace, masks, first)
    yield emitter.feed(FeedState.OPENING)
    if first:
        text = "followed anew: its last lines may stand here twice"
        yield emitter.gap(GapKind.INEXACT, text, None)
    follower: Follower | Printer
    if source.path:
        follower = Follower(source.path, emitter, wire, clock, last_lines)
    else:
        follower = Printer(source, emitter, wire, clock)
    pause_s = pace.tail_look_s
    while True:
        try:
            async with aclosing(follower.life(pace.tail_look_s)) as events:
                async for event in events:
                    if isinstance(event, LogAdvanced):
                        pause_s = pace.tail_look_s
                    yield event
        except WireError as error:
            follower.cut(error)
            yield emitter.feed(FeedState.CUT, error.kind, error.why)
            if not await _again(wire, clock, pause_s):
                return
            pause_s = min(2 * pause_s, pace.reconnect_most_s)


async def _again(wire: Wire, clock: Clock, pause_s: float) -> bool:
    """Wait until another attempt makes sense; False when there is none."""
    await clock.sleep(pause_s)
    try:
        await wire.up()
    except WireError as error:
        return error.kind is not Failure.CLOSED
    return True
