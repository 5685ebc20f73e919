"""How grave a line is, and whether it is noise that a preset may hide.

Owns both judgements of a single line. What follows from several lines is not decided here.
"""

from __future__ import annotations

import re
from typing import Literal

from console.engines.facts import (
    AccessSeen,
    DecodeSeen,
    ExitSeen,
    FailureSeen,
    NoteSeen,
    PrefillSeen,
    Severity,
)
from console.engines.failures import RAISED, marker_of
from console.engines.line import Line

Noise = Literal["probe", "poll", "access", "deprecation", "chatter", "blank"]

_CHATTER = re.compile(
    r"\[Gloo\] Rank|NCCL INFO |\S+: \w*Warning: |  ?warnings\.warn|Ignore import error|nanobind: "
    r"| - (?:leaked|\.\.\. skipped)"
)
POLLED = frozenset(
    {
        "/health",
        "/health_generate",
        "/v1/health",
        "/ready",
        "/ping",
        "/metrics",
        "/prometheus/metrics",
        "/v1/loads",
        "/get_load",
        "/load",
        "/slots",
    }
)
_STOPPED = (0, 143)  # 143 is 128 + SIGTERM: an ordered stop


def severity(line: Line) -> Severity:
    """By known marker first, then the level word, then what the line is."""
    fact = line.fact
    if isinstance(fact, FailureSeen):
        own = marker_of(fact).severity
        return "error" if line.head.level == "error" and own == "warning" else own
    if isinstance(fact, AccessSeen):
        return "warning" if fact.code >= 500 else "info"
    if isinstance(fact, ExitSeen):
        return "info" if fact.code in _STOPPED else "warning" if fact.code is None else "error"
    if line.head.level:
        return line.head.level
    return "error" if fact is None and RAISED.match(line.text) else "info"


def noise(line: Line) -> Noise | None:
    """Why the line may be hidden by a preset; None for what a reader wants to see."""
    fact = line.fact
    match fact:
        case DecodeSeen():
            return None
        case PrefillSeen():
            return "probe" if fact.probe else None
        case AccessSeen():
            return "poll" if fact.route in POLLED and fact.method == "GET" else "access"
        case NoteSeen("deprecated endpoint"):
            return "deprecation"
        case None if not line.text.strip():
            return "blank"
        case NoteSeen("nccl" | "wrapper"):
            return "chatter"
        case None if _CHATTER.match(line.text):
            return "chatter"
        case _:
            return None
