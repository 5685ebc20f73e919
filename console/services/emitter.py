"""Lines on their way into events: numbered, cleaned, in batches.

Owns the numbers of one log and when a batch goes out. It emits each byte range once.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.model.clock import US_PER_S, Clock, Pace
from console.model.failure import Failure
from console.model.mask import Masks
from console.model.text import Clean, clean, clean_lines
from console.services.lines import Cut, Splitter
from console.stream.fact import NOTHING, FeedState, GapKind
from console.stream.server_events import LogAdvanced, LogFeedChanged, LogGap
from console.transport.wire import READ_BYTES

LogMoved = LogAdvanced | LogGap | LogFeedChanged


class Emitter:
    """Numbers lines and decides when a batch goes out: at once when at rest, else bounded."""

    def __init__(self, log: Clean, clock: Clock, pace: Pace, masks: Masks, first: int) -> None:
        self.log = log
        self.next = first
        self.file: tuple[int, ...] = ()
        self.splitter = Splitter(0)
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._sent_us = clock.now_us() - US_PER_S * 3600
        self._bars_us = self._sent_us

    def due_s(self) -> float | None:
        """Seconds until something must go out: 0 for now, None for nothing to send."""
        if self.splitter.waiting:
            if self.splitter.waiting >= READ_BYTES:
                return 0.0
            return self._left(self._sent_us, self._pace.tail_batch_s)
        if self.splitter.has_bars:
            return self._left(self._bars_us, self._pace.tail_look_s)
        return None

    def send(self, *, over: bool = False) -> Iterator[LogAdvanced]:
        """Whole lines, else the states of bars; everything when the file is `over`."""
        cut = self.splitter.finish() if over else self.splitter.take()
        if cut is None:
            cut = self.splitter.take_bars()
            self._bars_us = self._clock.now_us()
        if cut is not None:
            self._sent_us = self._clock.now_us()
            yield self._advanced(cut)

    def gap(self, kind: GapKind, text: str, lost: int | None, reread: int | None = None) -> LogGap:
        """An interruption at this place; it uses up one number."""
        at, self.next = self.next, self.next + 1
        lost_lines = 0 if lost == 0 else None
        return LogGap(self.log, at, 1, kind, clean(text, self._masks), lost_lines, lost, reread)

    def feed(
        self, state: FeedState, failure: Failure | None = None, why: str = ""
    ) -> LogFeedChanged:
        """What the tail does now."""
        return LogFeedChanged(self.log, state, failure, clean(why, self._masks) if why else NOTHING)

    def _left(self, since_us: int, interval_s: float) -> float:
        return max(0.0, interval_s - (self._clock.now_us() - since_us) / US_PER_S)

    def _advanced(self, cut: Cut) -> LogAdvanced:
        lines = tuple(clean_lines(cut.lines, self._masks))
        first, self.next = self.next, self.next + len(lines)
        byte = (cut.start, cut.end) if self.file else ()
        return LogAdvanced(self.log, first, len(lines), self.file, byte, lines)
