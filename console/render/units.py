"""Numbers as people read them: durations, ages, sizes, rates.

One form for each kind of number, its unit once. Nothing to show is an en dash, an unknown value a
question mark; this module never decides which of the two it is when a number is given.
"""

from __future__ import annotations

import re

EMPTY = "–"
UNKNOWN = "?"

_CLOCK = re.compile(
    r"(?:(\d{1,4}):)?(\d{1,4}):([0-5]?\d)(?:\.(\d{1,6}))?|(\d{1,9})(?:\.(\d{1,6}))?"
)


def duration(us: int) -> str:
    """A length of time from microseconds: `0.3 ms`, `3 ms`, `1.2 s`, `6 min`, `2 h 5 min`."""
    if us < 0:
        return "-" + duration(-us)
    if us < 1000:
        return f"{us / 1000:.1f} ms"
    if us < 999_500:
        return f"{round(us / 1000)} ms"
    if us < 9_950_000:
        return f"{us / 1e6:.1f} s"
    seconds = round(us / 1e6)
    if seconds < 120:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d"


def age(us: int) -> str:
    """How long ago, from microseconds: `now` below two seconds, then `12 s ago`, `2 h ago`."""
    if us < 2_000_000:
        return "now"
    seconds = us // 1_000_000
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // unit} {name} ago"
    return f"{seconds // 86_400} d ago"


def clock(us: int) -> str:
    """A position in a session, from microseconds: `00:12:41`."""
    seconds = max(0, us) // 1_000_000
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def clock_us(text: str) -> int | None:
    """Microseconds of `1:02:03`, `12:41`, `12:41.5` or plain seconds `90`; None for other texts."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hours, minutes, seconds, part, bare, bare_part = found.groups()
    whole = int(bare) if bare else int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * 1_000_000 + int((part or bare_part or "0").ljust(6, "0"))


def size(count: int) -> str:
    """Bytes in powers of ten: `512 B`, `1.2 MB`."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"
    return f"{value / 1000:.1f} TB"


def rate(tok_s: float | None) -> str:
    """Tokens a second, one decimal, without the unit (the column names it)."""
    return EMPTY if tok_s is None else f"{tok_s:.1f}"


def count(number: int) -> str:
    """A whole number with thousands apart: `48,112`."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 line`, `48,112 lines`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
