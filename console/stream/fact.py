"""The envelope every event carries, and the closed lists of words events use.

An event is a frozen record in the past tense. Its time is integer microseconds since the session
began; its number is unique within the session and never used twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from console.model.text import Clean

Pairs = tuple[tuple[Clean, Clean], ...]
"""Names with texts, in order; written as an inline table."""

Figures = tuple[tuple[Clean, float], ...]
"""Names with numbers, in order; written as an inline table."""


NOTHING = Clean("")
"""No text: nothing to say, not `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What every event carries.

    Attributes:
        seq: its number in the session, from 1; 0 before the timeline stamps it.
        t_us: microseconds since the session began.
    """

    seq: int = 0
    t_us: int = 0


class Condition(StrEnum):
    """What a server's log shows of its work while it is up."""

    WELL = "well"
    COMPILING = "compiling"
    SLOWED = "slowed"
    SILENT = "silent"


class Standing(StrEnum):
    """How a server stands, as watch rules conclude it."""

    UNKNOWN = "unknown"
    DOWN = "down"
    STARTING = "starting"
    REACHABLE = "reachable"
    ALIVE = "alive"
    GENERATING = "generating"
    IDLE = "idle"
    DEGRADED = "degraded"
    STALLED = "stalled"
    DRAINING = "draining"


class Link(StrEnum):
    """The state of the one connection to a host."""

    CONNECTING = "connecting"
    UP = "up"
    LOST = "lost"
    REFUSED = "refused"
    CLOSED = "closed"


class FeedState(StrEnum):
    """What a log's tail is doing."""

    OPENING = "opening"
    FOLLOWING = "following"
    WAITING = "waiting"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    CUT = "cut"


class GapKind(StrEnum):
    """Why the line stream is interrupted at a place."""

    LINK = "link"
    ROTATED = "rotated"
    TRUNCATED = "truncated"
    BURST = "burst"
    BYTES = "bytes"
    INEXACT = "inexact"


class Completeness(StrEnum):
    """How much of an environment a reading saw. Absent is unset only when WHOLE."""

    WHOLE = "whole"
    PARTLY = "partly"
    UNREADABLE = "unreadable"


class Recording(StrEnum):
    """What the recorder does."""

    ON = "on"
    OFF = "off"
    STOPPED = "stopped"
