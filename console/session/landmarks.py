"""Places in a session worth going to: what the bar shows, polls, texts, typed times.

Looks only; moves nothing. Every search is linear in the file at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from console.model.clock import US_PER_S, utc_from_text
from console.session.journal import Journal
from console.stream.codec import quote
from console.stream.events import Event
from console.stream.fact import Link, Recording, Standing
from console.stream.host_events import LinkChanged
from console.stream.run_events import ActFinished, BenchFinished
from console.stream.server_events import LoadEnded, StandingChanged
from console.stream.session_events import (
    Noticed,
    RecordingChanged,
    SessionOpened,
    StepFinished,
)

Notch = tuple[int, str]

_ALWAYS = {
    "marker": "marker",
    "act": "act",
    "act_end": "act",
    "gap": "gap",
    "jump": "gap",
    "dropped": "gap",
    "act_refused": "error",
    "drift": "error",
}
_SOMETIMES = (
    "load_end",
    "act_end",
    "bench_end",
    "link",
    "notice",
    "recording",
    "standing",
    "step_end",
)
_MOST_DECODED = 20_000
_POLLS = ("health", "metric", "gpu")
_TIME = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):([0-5]?\d)(?:\.(\d{1,6}))?|(\d{1,9})(?:\.(\d{1,6}))?")
_OF_DAY = re.compile(r"(\d{4}-\d\d-\d\d)?[T ]?(\d\d):(\d\d):(\d\d)Z")


def notches(journal: Journal, first: int = 0) -> list[Notch]:
    """Acts, errors, gaps and markers with their times, of the blocks from `first` on, in order."""
    index = journal.index
    found: list[Notch] = []
    decoded = 0
    for number in range(first, len(index)):
        kind = index.kind_of(number)
        notch = _ALWAYS.get(kind)
        if kind in _SOMETIMES and decoded < _MOST_DECODED:
            decoded += 1
            event = journal.event(number)
            if event is not None and is_error(event):
                notch = "error"
        if notch is not None:
            found.append((index.t_us[number], notch))
    found.sort()
    return found


def is_error(event: Event) -> bool:
    """Whether something went wrong with it."""
    match event:
        case LoadEnded():
            return not event.ready
        case ActFinished():
            return event.outcome != "done"
        case BenchFinished():
            return not event.valid
        case LinkChanged():
            return event.link in (Link.LOST, Link.REFUSED)
        case Noticed():
            return event.severity == "error"
        case RecordingChanged():
            return event.recording is Recording.STOPPED
        case StandingChanged():
            return event.standing in (Standing.STALLED, Standing.DEGRADED)
        case StepFinished():
            return event.exit != 0
        case _:
            return False


def near(places: Sequence[Notch], kind: str, t_us: int, by: int) -> int | None:
    """The time of the next notch of a kind after `t_us` (by = 1), or the last before it (-1)."""
    times = [at for at, notch in places if notch == kind and (at - t_us) * by > 0]
    if not times:
        return None
    return min(times) if by > 0 else max(times)


def poll(journal: Journal, number: int, t_us: int, by: int) -> int | None:
    """The time of the nearest poll before or after `t_us`, looking from block `number`."""
    index = journal.index
    wanted = {index.kinds.index(kind) for kind in _POLLS if kind in index.kinds}
    numbers = range(number, len(index)) if by > 0 else range(min(number, len(index)) - 1, -1, -1)
    for place in numbers:
        if index.kind[place] in wanted and (index.t_us[place] - t_us) * by > 0:
            return index.t_us[place]
    return None


def find(journal: Journal, text: str, number: int, by: int) -> int | None:
    """The number of the nearest block from `number` on whose texts hold this one.

    Capital letters do not count (of ASCII); a text that is coloured in its middle is not found.
    """
    if not text:
        return None
    pattern = re.compile(re.escape(quote(text)[1:-1].encode(errors="replace")), re.IGNORECASE)
    index = journal.index
    for place in range(number, len(index) if by > 0 else -1, by):
        if index.kind_of(place) == "seek":
            continue
        start, data = index.body[place], journal.data(place)
        for hit in pattern.finditer(data, start, start + index.length[place]):
            line = max(start, data.rfind(b"\n", start, hit.start()) + 1)
            if data.find(b'"', line, hit.start()) >= 0:
                return place
    return None


def time_of(
    text: str, position_us: int, length_us: int, opened: SessionOpened | None
) -> int | None:
    """The time that a person typed, in microseconds of the session; None for other texts.

    `12:41`, `1:02:03`, `90` (seconds) from the start; `+30` and `-1:30` from here; `50%` of the
    whole; `16:57:06Z` and `2026-02-24T16:57:06Z` by the session's UTC.
    """
    text = text.strip()
    if text.endswith("%"):
        share = _clock_us(text[:-1])
        return None if share is None else round(length_us * share / US_PER_S / 100)
    if text[:1] in ("+", "-"):
        by = _clock_us(text[1:])
        return None if by is None else position_us + (by if text[0] == "+" else -by)
    if text.endswith("Z"):
        return _by_utc(text, opened)
    return _clock_us(text)


def _clock_us(text: str) -> int | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds, part, bare, bare_part = found.groups()
    whole = int(bare) if bare else int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * US_PER_S + int((part or bare_part or "0").ljust(6, "0"))


def _by_utc(text: str, opened: SessionOpened | None) -> int | None:
    found = _OF_DAY.fullmatch(text)
    if found is None or opened is None:
        return None
    try:
        began = utc_from_text(opened.utc)
        day = found[1] or began.strftime("%Y-%m-%d")
        moment = datetime.fromisoformat(f"{day}T{found[2]}:{found[3]}:{found[4]}+00:00")
    except (ValueError, OverflowError):
        return None
    if not found[1] and moment < began.replace(microsecond=0):
        moment += timedelta(days=1)
    return max(0, (moment - began) // timedelta(microseconds=1))
