"""What was seen of the session itself: opening, clock, markers, script steps, recording."""

from __future__ import annotations

from dataclasses import dataclass

from console.model.text import Clean
from console.stream.fact import NOTHING, Fact, Figures, Pairs, Recording


@dataclass(frozen=True, slots=True)
class SessionOpened(Fact):
    """The first event of a session.

    Attributes:
        origin: `live`, `simulated`, `measured` or `reconstructed`.
        utc: the time at t = 0.
    """

    writer: Clean
    fleet: Clean
    origin: Clean
    utc: Clean
    machine: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class ClockPaired(Fact):
    """UTC beside the monotonic time, written every minute and after a jump."""

    utc: Clean


@dataclass(frozen=True, slots=True)
class TimeJumped(Fact):
    """The machine was suspended, or its wall clock was set."""

    gap_us: int
    why: Clean


@dataclass(frozen=True, slots=True)
class MarkerPut(Fact):
    """A person or a script marked this moment."""

    name: Clean


@dataclass(frozen=True, slots=True)
class NoteWritten(Fact):
    """A person or a script wrote something down."""

    text: Clean


@dataclass(frozen=True, slots=True)
class StepStarted(Fact):
    """A script step began.

    Attributes:
        arguments: what the script says, its variables filled in and references to other steps as
            they stand; beside the verb's fields `timeout`, `always`, and `when.1`, `when.2`, ….
    """

    step: Clean
    verb: Clean
    server: Clean
    arguments: Pairs = ()


@dataclass(frozen=True, slots=True)
class StepFinished(Fact):
    """A script step ended; `exit` is 0 when it passed."""

    step: Clean
    verb: Clean
    server: Clean
    exit: int
    text: Clean
    results: Pairs = ()


@dataclass(frozen=True, slots=True)
class RecordingChanged(Fact):
    """The recorder began, was told to stop, or had to stop."""

    recording: Recording
    path: Clean
    why: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class EventsDropped(Fact):
    """The recorder or plain could not keep up and left events out."""

    count: int
    why: Clean


@dataclass(frozen=True, slots=True)
class Noticed(Fact):
    """Something a person should see, with the key of its remedy."""

    subject: Clean
    severity: Clean
    text: Clean
    remedy: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class HistoryKnown(Fact):
    """What earlier sessions left about a server, read once at the start."""

    server: Clean
    topic: Clean
    figures: Figures
    values: Pairs


@dataclass(frozen=True, slots=True)
class SessionClosed(Fact):
    """The last event of a session that was closed in order."""

    why: Clean
