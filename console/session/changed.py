"""Events as a session file keeps them where that is shorter than as they came.

Owns the form `since`: of most readings only the figures that changed since the one before, and
the number of the reading that holds the rest. A whole reading is written again and again, so that
a damaged file is never wrong for long and a look back finds a start. And the form `joined`: lines
of one log that came one by one within a second are one block.
"""

from __future__ import annotations

from dataclasses import replace

from console.stream.events import Event
from console.stream.server_events import LogAdvanced, MetricSeen

WHOLE_EVERY_US = 60_000_000
JOINED_WITHIN_US = 1_000_000
MOST_JOINED = 32
"""Lines. Where more come at once, what a block takes beside its lines is little."""


def joined(before: Event, event: Event) -> LogAdvanced | None:
    """Both as one event with the stamp of the second; None where that would not say the same."""
    if not isinstance(before, LogAdvanced) or not isinstance(event, LogAdvanced):
        return None
    count = before.count + event.count
    adjoins = (
        before.log == event.log
        and before.first + before.count == event.first
        and before.file == event.file
        and before.byte[1:] == event.byte[:1]
        and len(before.lines) == before.count
        and len(event.lines) == event.count
    )
    if not adjoins or count > MOST_JOINED or not (before.count and event.count):
        return None
    return replace(
        event,
        first=before.first,
        count=count,
        byte=(*before.byte[:1], *event.byte[1:]),
        joined=before.joined + event.joined + 1,
        lines=before.lines + event.lines,
    )


class Changes:
    """The readings written last, by server."""

    def __init__(self) -> None:
        self._last: dict[str, MetricSeen] = {}
        self._whole_us: dict[str, int] = {}

    def of(self, whole: MetricSeen) -> MetricSeen:
        """What is written of a reading: itself, or its difference to the last one."""
        last = self._last.get(whole.server)
        self._last[whole.server] = whole
        due = whole.t_us - self._whole_us.get(whole.server, -WHOLE_EVERY_US) >= WHOLE_EVERY_US
        if last is None or due or whole.source != last.source or not whole.seq:
            return self._written_whole(whole)
        before, now = dict(last.figures), dict(whole.figures)
        if before.keys() - now.keys():
            return self._written_whole(whole)  # one is exported no more: no difference says that
        figures = tuple(pair for pair in whole.figures if before.get(pair[0]) != pair[1])
        return replace(whole, figures=figures, since=last.seq)

    def _written_whole(self, whole: MetricSeen) -> MetricSeen:
        self._whole_us[whole.server] = whole.t_us
        return whole
