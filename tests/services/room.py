"""One log being read into a timeline with the watch rules, on a clock that moves by hand."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.clock import ManualClock, Pace
from console.model.fleet import Arm, Server
from console.model.mask import Masks
from console.model.text import Clean, clean_lines
from console.services.reading import Reading
from console.stream.events import Event
from console.stream.fact import FeedState
from console.stream.server_events import (
    LoadAdvanced,
    LoadEnded,
    LogAdvanced,
    LogFeedChanged,
    TokenSeen,
)
from console.stream.session_events import Noticed
from console.stream.timeline import Timeline
from console.stream.watch import rules

NAME = Clean("base")
SERVER = Server("base", "slot", Arm.BASELINE, "http://127.0.0.1:8000")


class Room:
    """One log being read, one second a line, its events in a timeline with the watch rules."""

    def __init__(self, *, live: bool = True, pace: Pace | None = None) -> None:
        self.clock = ManualClock()
        self.pace = pace or Pace()
        self.masks = Masks()
        self.timeline = Timeline(self.clock, rules(self.pace))
        self.doubts = 0
        self.reading = Reading(
            SERVER, self.timeline, self.clock, self.pace, self.masks, self._doubt
        )
        self.events: list[Event] = []
        self.first = 0
        if live:
            self.reading.take(LogFeedChanged(NAME, FeedState.MISSING))

    def _doubt(self) -> None:
        self.doubts += 1

    def read(self, lines: Iterable[str], step_s: float = 1.0) -> Room:
        for line in lines:
            self.batch([line])
            self.clock.advance(step_s)
        return self

    def batch(self, lines: Iterable[str]) -> None:
        texts = tuple(clean_lines((line.encode() for line in lines), self.masks))
        advanced = LogAdvanced(NAME, self.first, len(texts), lines=texts)
        self.first += len(texts)
        for event in self.reading.take(advanced):
            self.events.append(self.timeline.emit(event))

    def of(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def loads(self) -> list[LoadAdvanced]:
        return [event for event in self.events if isinstance(event, LoadAdvanced)]

    @property
    def ends(self) -> list[LoadEnded]:
        return [event for event in self.events if isinstance(event, LoadEnded)]

    @property
    def tokens(self) -> list[TokenSeen]:
        return [event for event in self.events if isinstance(event, TokenSeen)]

    @property
    def notices(self) -> list[Noticed]:
        return [event for event in self.events if isinstance(event, Noticed)]

    @property
    def phases(self) -> list[str]:
        return list(dict.fromkeys(event.phase for event in self.loads))
