"""Sessions for tests, written by the real recorder on a clock that only moves when told."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from console.model.clock import ManualClock, utc_text
from console.model.fleet import Arm, Engine
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.session.recorder import Recorder
from console.stream.events import Event
from console.stream.server_events import LogAdvanced, LogListed, ServerListed
from console.stream.session_events import SessionClosed, SessionOpened
from console.stream.timeline import Timeline


def c(text: str) -> Clean:
    """Text of a test as Clean, masks of its own."""
    return clean(text, Masks())


class Writing:
    """A session being written.

    Attributes:
        masks: what its ingest has learned.
    """

    def __init__(self, path: Path, *servers: str) -> None:
        self.path = path
        self.masks = Masks()
        self.clock = ManualClock(datetime(2026, 2, 24, 16, 48, 30, tzinfo=UTC))
        self.timeline = Timeline(self.clock)
        self.recorder = Recorder(path, self.timeline.emit)
        self.timeline.subscribe(self.recorder.take)
        self.line = 0
        opened = SessionOpened(c("test"), c("t.toml"), c("live"), c(utc_text(self.clock.utc())))
        self.timeline.open([opened])
        for name in servers or ("base",):
            url = c("http://localhost:8000")
            self.emit(
                ServerListed(
                    c(name), c("box"), c("box:8000"), 8000, Arm.BASELINE, Engine.SGLANG, url
                ),
                LogListed(c(name), c(name), c("/data/base.log")),
            )

    def emit(self, *events: Event, after_s: float = 0.0) -> None:
        """Events, each after that much time."""
        for event in events:
            self.clock.advance(after_s)
            self.timeline.emit(event)

    def log(self, *lines: str, server: str = "base", after_s: float = 0.0) -> None:
        """Lines of a server's log, cleaned as ingest does."""
        texts = tuple(clean(line, self.masks) for line in lines)
        self.emit(LogAdvanced(c(server), self.line, len(texts), lines=texts), after_s=after_s)
        self.line += len(texts)

    def close(self) -> Path:
        """End in order; the file."""
        self.emit(SessionClosed(c("left")))
        self.recorder.close()
        return self.path
