"""Roles: the named styles a theme colours.

The rest of the console names roles only; no room but the front ends knows a colour, and no state
is told by colour alone.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a piece of text means to the reader."""

    TEXT = "text"
    DIM = "text.dim"
    STRONG = "text.strong"
    TITLE = "text.title"
    KEY = "text.key"
    GOOD = "status.good"
    NOTE = "status.note"
    WARNING = "status.warning"
    ERROR = "status.error"
    RECORDING = "status.recording"
    DOWN = "standing.down"
    STARTING = "standing.starting"
    REACHABLE = "standing.reachable"
    ALIVE = "standing.alive"
    GENERATING = "standing.generating"
    IDLE = "standing.idle"
    DEGRADED = "standing.degraded"
    STALLED = "standing.stalled"
    DRAINING = "standing.draining"
    UNKNOWN = "standing.unknown"
    BASELINE = "arm.baseline"
    SPECULATIVE = "arm.speculative"
    LOG_TIME = "log.time"
    LOG_RANK = "log.rank"
    LOG_NOTICE = "log.notice"
    LOG_WARNING = "log.warning"
    LOG_ERROR = "log.error"
    LOG_MATCH = "log.match"
