"""Log stamps as seconds, for differences inside one log.

Owns the forms of all engines and wrappers. Zone and, often, year are unknown, so the result
says how far apart two lines are and never when something happened.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

_FULL = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:?\d\d)?"
)
_SHORT = re.compile(r"(\d\d)-?(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?$")
_TORCH = re.compile(r"(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)\.(\d+)$")
_AMERICAN = re.compile(r"(\d\d)/(\d\d)/(\d{4})-(\d\d):(\d\d):(\d\d)$")
_SINCE = re.compile(r"(\d+)\.(\d\d)\.(\d{3})\.(\d{3})$")
_EPOCHS = re.compile(r"(1\d{9})(?:\.(\d+)|(\d{3}|\d{6}|\d{9}))?$")  # s, ms, us or ns since 1970
_NO_YEAR = 2000  # a leap year, so that 29 February is a day
_EPOCH = datetime(1970, 1, 1)


@lru_cache(maxsize=256)  # many lines share a second
def seconds(at: str) -> float | None:
    """Seconds on the log's own clock, or None where the text is no known stamp.

    llama.cpp's `m.ss.ms.us` counts from its start; stamps with a zone are taken to UTC.
    """
    if m := _FULL.match(at):
        year, month, day, *clock = (int(g) for g in m.groups()[:6])
        found = _moment(year, month, day, clock, m[7])
        return found if found is None or not m[8] else found - _offset_s(m[8])
    if m := _SHORT.match(at) or _TORCH.match(at):
        month, day, *clock = (int(g) for g in m.groups()[:5])
        return _moment(_NO_YEAR, month, day, clock, m[6])
    if m := _AMERICAN.match(at):
        month, day, year, *clock = (int(g) for g in m.groups())
        return _moment(year, month, day, clock, None)
    if m := _SINCE.match(at):
        return int(m[1]) * 60 + int(m[2]) + int(m[3]) / 1e3 + int(m[4]) / 1e6
    if m := _EPOCHS.match(at):
        part = m[2] or m[3]
        return int(m[1]) + (float(f"0.{part}") if part else 0.0)
    return None


def _moment(year: int, month: int, day: int, clock: list[int], part: str | None) -> float | None:
    try:
        found = datetime(year, month, day)
    except ValueError:
        return None
    hours, minutes, secs = clock
    span = found - _EPOCH + timedelta(hours=hours, minutes=minutes, seconds=secs)
    return span.total_seconds() + (float(f"0.{part}") if part else 0.0)


def _offset_s(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    size = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -size if zone[0] == "-" else size


def clock_offset_s(at: str, outer: str) -> int | None:
    """How far the inner head's local clock stands from the outer UTC stamp, to the quarter hour.

    None where either is missing or the outer has no zone and so says nothing about it.
    """
    inner_s, outer_s = seconds(at), seconds(outer)
    if inner_s is None or outer_s is None or not (outer.endswith("Z") or "+" in outer[19:]):
        return None
    return round((inner_s - outer_s) / 900) * 900
