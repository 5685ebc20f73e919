"""The recorder: every live event into the session file, as it happens.

A subscriber with a bounded queue; what does not fit is counted and said. A full disk stops the
recording, never the console. The file is private to its owner and never a symbolic link.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from console.model.clock import Clock, Pace
from console.model.text import Clean
from console.session.blocks import SCHEMA_LINE, block
from console.session.changed import JOINED_WITHIN_US, MOST_JOINED, Changes, joined
from console.session.segments import MOST_SEGMENTS, SEGMENT_BYTES, following, segment
from console.stream.codec import KIND_OF, encode, quote
from console.stream.events import Event
from console.stream.fact import NOTHING, Recording
from console.stream.run_events import ActAdvanced, ActFinished, ActRequested, BenchFinished
from console.stream.server_events import LogAdvanced, MetricSeen
from console.stream.session_events import (
    EventsDropped,
    MarkerPut,
    RecordingChanged,
    SessionClosed,
)
from console.stream.state import Item, Jump, State, facts

MOST_QUEUED = 20_000
MOST_QUEUED_LINES = 400_000
SEEK_GROWTH = 64 * 1024
SEEK_SHARE = 8
"""A seek point is written once the journal grew by this many times the last one's size."""

_DURABLE = (ActRequested, ActAdvanced, ActFinished, BenchFinished, MarkerPut, SessionClosed)


class Recorder:
    """Writes one session file.

    Args:
        path: a file that does not exist yet; the session goes on in others beside it once it has
            `segment_bytes`, each of which can be read alone.
        emit: takes what the recorder itself has to say (recording stopped, events dropped).

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(
        self,
        path: Path,
        emit: Callable[[Event], object],
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.path = path
        for left in following(path):
            raise FileExistsError(errno.EEXIST, "of an earlier session", str(left))
        self._file: int | None = _created(path)
        self._emit = emit
        self._segment_bytes = segment_bytes
        self._segments = 1
        self._before = 0
        self._queue: deque[tuple[Event, State]] = deque()
        self._queued_lines = 0
        self._began_us = 0
        self._held: tuple[int, int] = (-1, 0)
        self._dropped = 0
        self._seek_at = SEEK_GROWTH
        self._changes = Changes()
        self.size = 0
        try:
            self._write(SCHEMA_LINE)
        except OSError:
            self._shut()
            path.unlink()
            raise

    def take(self, item: Item, state: State) -> None:
        """Queue an item; the subscriber given to a timeline."""
        if self._file is None or isinstance(item, Jump):
            return
        lines = item.count if isinstance(item, LogAdvanced) else 0
        full = len(self._queue) >= MOST_QUEUED or self._queued_lines + lines > MOST_QUEUED_LINES
        if full and self._queue:
            self._dropped += 1
            return
        self._queued_lines += lines
        if self._queue and item.t_us - self._began_us < JOINED_WITHIN_US:
            both = joined(self._queue[-1][0], item)
            if both is not None:
                self._queue[-1] = (both, state)
                return
        self._queue.append((item, state))
        self._began_us = item.t_us

    async def run(self, clock: Clock, pace: Pace) -> None:
        """Write what is queued at every interval, until cancelled; then write the rest."""
        try:
            while self._file is not None:
                self.flush(clock.now_us())
                await clock.sleep(pace.record_flush_s)
        finally:
            self.flush()

    def flush(self, now_us: int | None = None) -> None:
        """Write what is queued: everything, or at `now_us` (of any one clock) what no coming line
        can join."""
        durable = False
        try:
            while self._queue and self._file is not None and not self._may_grow(now_us):
                event, state = self._queue.popleft()
                if isinstance(event, LogAdvanced):
                    self._queued_lines -= event.count
                self._write(block(KIND_OF[type(event)], encode(self._written(event, state))))
                durable = durable or isinstance(event, _DURABLE)
                if isinstance(event, SessionClosed):
                    continue  # what says that the session ended in order is its last word
                if self.size - self._before >= self._segment_bytes:
                    self._roll(event, state)
                elif self.size >= self._seek_at:
                    self._write_seek(event, state)
            if durable and self._file is not None:
                os.fsync(self._file)
        except OSError as error:
            self._stop(error)
            return
        if self._dropped and self._file is not None:
            count, self._dropped = self._dropped, 0
            self._emit(EventsDropped(count, Clean("the session file could not keep up")))

    def close(self) -> None:
        """Write the rest, make it durable, and end."""
        self.flush()
        if self._file is not None:
            try:
                os.fsync(self._file)
            except OSError as error:
                self._stop(error)
            self._shut()

    def _may_grow(self, now_us: int | None) -> bool:
        """Whether lines of a moment ago are all that is queued, and few enough to be joined."""
        event = self._queue[0][0]
        small = isinstance(event, LogAdvanced) and event.count < MOST_JOINED
        if now_us is None or len(self._queue) > 1 or not small:
            return False
        began_us, since_us = self._held
        if began_us != self._began_us:
            self._held, since_us = (self._began_us, now_us), now_us
        return now_us - since_us < JOINED_WITHIN_US

    def _written(self, event: Event, state: State) -> Event:
        """The event as the file keeps it."""
        if not isinstance(event, MetricSeen):
            return event
        return self._changes.of(state.servers[event.server].metric or event)

    def _roll(self, event: Event, state: State) -> None:
        """Go on in the next file, which begins with all that is known."""
        if self._segments >= MOST_SEGMENTS or self._file is None:
            return
        file = _created(segment(self.path, self._segments + 1))
        os.fsync(self._file)
        os.close(self._file)
        self._file, self._before = file, self.size
        self._segments += 1
        self._write(SCHEMA_LINE)
        self._write_seek(event, state)

    def _write_seek(self, event: Event, state: State) -> None:
        """The latest event of each cell again, by the same codec, as one block."""
        texts = ",\n".join(
            quote(f"[[{KIND_OF[type(fact)]}]]\n{encode(fact)}") for fact in facts(state)
        )
        body = f"seq = {event.seq}\nt_us = {event.t_us}\nfacts = [\n{texts}\n]\n"
        raw = block("seek", body)
        self._write(raw)
        self._seek_at = self.size + max(SEEK_GROWTH, SEEK_SHARE * len(raw))

    def _write(self, raw: bytes) -> None:
        if self._file is None:
            return
        written = os.write(self._file, raw)
        if written < len(raw):
            written += self._write_rest(raw[written:])
        self.size += written

    def _write_rest(self, raw: bytes) -> int:
        """A short write: a full disk, mostly. The next write says so."""
        assert self._file is not None
        total = 0
        while total < len(raw):
            total += os.write(self._file, raw[total:])
        return total

    def _stop(self, error: OSError) -> None:
        """Give up: cut the file back to its last whole block and say why."""
        if self._file is None:
            return
        try:
            os.ftruncate(self._file, self.size - self._before)
        except OSError:
            pass
        self._shut()
        self._queue.clear()
        why = Clean((error.strerror or "cannot write").lower())
        path = Clean(str(self.path))
        self._emit(RecordingChanged(Recording.STOPPED, path, why))

    def _shut(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def stopped(self) -> bool:
        """Whether nothing is written any more."""
        return self._file is None


def _created(path: Path) -> int:
    """A new file of our own, never through a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o600)


def started(path: Path) -> RecordingChanged:
    """The event that says a recording began."""
    return RecordingChanged(Recording.ON, Clean(str(path)), NOTHING)
