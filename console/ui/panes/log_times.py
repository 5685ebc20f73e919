"""When a log line was written, in the one zone that the screen shows; what it says itself stays.

A stamp with a zone is converted. One without is converted once the log's distance from UTC is
known from lines that came in as they were written; until then the time of arrival stands in,
marked.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from console.model.clock import utc_from_text
from console.model.fleet import LogId
from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.zone import UTC_ZONE, in_zone
from console.render.reading import stamp_s, zoned
from console.ui.sight import Sight
from console.ui.window import Line

_QUARTER_S = 900
_PROMPT_S = 5
_FARTHEST_S = 14 * 3600
_WITH_YEAR_S = 1_000_000_000


class Times:
    """The times of one pane's lines.

    Attributes:
        shown: whether each line is led by its time in the screen's zone.
    """

    def __init__(self) -> None:
        self.shown = False
        self.zone = UTC_ZONE
        self._opened: datetime | None = None
        self._offset_s: dict[LogId, int] = {}
        self._log = LogId("")

    def look(self, sight: Sight) -> None:
        """Take the session's start and the zone to show."""
        self.zone = sight.mode.zone
        opened = sight.state.session.opened
        if opened is not None and self._opened is None:
            try:
                self._opened = utc_from_text(opened.utc)
            except ValueError:
                self._opened = None

    def learn(self, log: LogId, lines: list[Line]) -> None:
        """Find how far the log's clock stands from UTC, by its newest lines in view."""
        self._log = log
        if self._opened is None or log in self._offset_s:
            return
        for line in reversed(lines):
            at, came = stamp_s(line.text), self._came(line)
            if at is None or at < _WITH_YEAR_S or came is None or zoned(line.text):
                continue
            apart = at - came.timestamp()
            offset_s = round(apart / _QUARTER_S) * _QUARTER_S
            if abs(apart - offset_s) <= _PROMPT_S and abs(offset_s) <= _FARTHEST_S:
                self._offset_s[log] = offset_s
            return

    def before(self, line: Line) -> Spans:
        """The column of times, empty while it is not shown."""
        if not self.shown:
            return ()
        moment, exact = self._moment(line)
        if moment is None:
            return (Span("?         ", Role.LOG_TIME),)
        sign = " " if exact else "≈"
        return (Span(f"{sign}{in_zone(moment, self.zone):%H:%M:%S} ", Role.LOG_TIME),)

    def came(self, line: Line) -> str:
        """When a line came in, whole, with the zone's name; empty when that is not known."""
        came = self._came(line)
        return "" if came is None else f"{in_zone(came, self.zone):%Y-%m-%d %H:%M:%S} {self.zone}"

    def _came(self, line: Line) -> datetime | None:
        return None if self._opened is None else self._opened + timedelta(microseconds=line.t_us)

    def _moment(self, line: Line) -> tuple[datetime | None, bool]:
        at = stamp_s(line.text)
        offset_s = 0 if zoned(line.text) else self._offset_s.get(line.log or self._log)
        if at is None or at < _WITH_YEAR_S or offset_s is None:
            return self._came(line), False
        return datetime.fromtimestamp(at - offset_s, UTC), True
