"""Figures as a session file keeps them: of most readings only what changed since the one before.

Owns the form `since`: the number of the reading that holds the rest. A whole reading is written
again and again, so that a damaged file is never wrong for long and a look back finds a start.
"""

from __future__ import annotations

from dataclasses import replace

from console.stream.server_events import MetricSeen

WHOLE_EVERY_US = 60_000_000


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
