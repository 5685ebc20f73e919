"""The timeline: where every event passes, once.

It stamps (sequence, integer microseconds), folds into State, fills the stores and hands the event
on. It owns the newest State; the screen reads it when it likes, queues belong to subscribers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from console.model.clock import Clock, Pace, utc_text
from console.model.text import Clean
from console.stream.events import Event
from console.stream.fold import fold
from console.stream.logs import Logs, Ring
from console.stream.series import Samples, Series
from console.stream.server_events import LogAdvanced, LogGap, MetricSeen, TokenSeen
from console.stream.session_events import ClockPaired, TimeJumped
from console.stream.state import Item, Jump, Server, State
from console.stream.watch import Rule

Subscriber = Callable[[Item, State], None]

_JUMP_US = 1_000_000


class Timeline:
    """One stream of events, live or replayed.

    Args:
        clock: tells the time of a live session; in a replay `take` moves the time.
        rules: the watch rules; none in a replay.
        logs: where lines are read; a ring is filled here, a journal fills itself.
    """

    def __init__(self, clock: Clock, rules: Iterable[Rule] = (), logs: Logs | None = None) -> None:
        self.state = State()
        self.logs: Logs = logs if logs is not None else Ring()
        self.samples = Samples()
        self._clock = clock
        self._rules = tuple(rules)
        self._origin_us = clock.now_us()
        self._seq = 0
        self._last_us = 0
        self._played_us: int | None = None
        self._subscribers: list[Subscriber] = []

    @property
    def series(self) -> Series:
        """Where samples are read."""
        return self.samples

    @property
    def now_us(self) -> int:
        """Microseconds since the session began, or the position of the player."""
        if self._played_us is not None:
            return self._played_us
        return self._clock.now_us() - self._origin_us

    @property
    def seq(self) -> int:
        """The number of the newest event."""
        return self._seq

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call it with every item from now on, after State took it. It must return at once."""
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Call it no more."""
        self._subscribers.remove(subscriber)

    def open(self, events: Iterable[Event]) -> None:
        """Take what is known when the session begins: all of it at t = 0, which is now."""
        if self._last_us == 0:
            self._origin_us = self._clock.now_us()
        for event in events:
            self.take(self._stamp(event, 0))

    def emit(self, event: Event) -> Event:
        """Stamp a new event, take it, and take what the watch rules conclude from it."""
        stamped = self._stamp(event, self.now_us)
        self.take(stamped)
        name = getattr(event, "server", None)
        if name is not None and name in self.state.servers:
            self._conclude(name, self.state.servers[name], stamped.t_us)
        return stamped

    def watch(self) -> None:
        """Run every rule over every server: time has passed."""
        now_us = self.now_us
        for name, server in self.state.servers.items():
            self._conclude(name, server, now_us)

    def take(self, item: Item) -> None:
        """Fold an item that is already stamped and hand it on."""
        if isinstance(item, Jump):
            self.state = item.state
            self._played_us = item.at_us
            self.samples.clear()
        else:
            self._seq = item.seq
            self.state = fold(self.state, item)
            self._store(item)
        for subscriber in tuple(self._subscribers):
            subscriber(item, self.state)

    def played_to(self, at_us: int) -> None:
        """A player moved on without an event."""
        self._played_us = at_us

    def _stamp(self, event: Event, t_us: int) -> Event:
        self._last_us = max(self._last_us, t_us)
        return replace(event, seq=self._seq + 1, t_us=self._last_us)

    def _store(self, event: Event) -> None:
        match event:
            case LogAdvanced() | LogGap():
                if isinstance(self.logs, Ring):
                    self.logs.take(event)
            case MetricSeen():
                metric = self.state.servers[event.server].metric
                self.samples.take(event.server, event.t_us, metric.figures if metric else ())
            case TokenSeen() if event.decode_tok_s is not None:
                figure = ((Clean("decode_tok_s"), event.decode_tok_s),)
                self.samples.take(event.server, event.t_us, figure)
            case _:
                pass

    def _conclude(self, name: str, server: Server, now_us: int) -> None:
        """What follows carries the time of what it follows from: a player gives both together."""
        for rule in self._rules:
            for event in rule(name, server, self.state, now_us):
                self.take(self._stamp(event, now_us))


async def pair_clock(timeline: Timeline, clock: Clock, pace: Pace) -> None:
    """Keep the rules running and put UTC beside the session's time, for as long as it runs.

    Says when the wall clock and the monotonic clock drift apart by more than a second, which is
    what a suspended laptop or a set clock looks like.
    """
    base_us = clock.now_us()
    base_utc = clock.utc()
    next_pair_us = base_us
    while True:
        now_us, utc = clock.now_us(), clock.utc()
        drift_us = round((utc - base_utc).total_seconds() * 1e6) - (now_us - base_us)
        if abs(drift_us) > _JUMP_US:
            why = "suspended, or the clock was set forward" if drift_us > 0 else "clock set back"
            timeline.emit(TimeJumped(drift_us, Clean(why)))
            base_us, base_utc, next_pair_us = now_us, utc, now_us
        if now_us >= next_pair_us:
            timeline.emit(ClockPaired(Clean(utc_text(utc))))
            next_pair_us = now_us + round(pace.clock_pair_s * 1e6)
        timeline.watch()
        await clock.sleep(pace.watch_s)
