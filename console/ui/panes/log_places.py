"""Places in a log: a time as somebody types it, the next error, where a marker was put.

Searches through the Logs port; long searches give up their turn after every stretch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.model.clock import Clock
from console.model.fleet import LogId
from console.model.text import Clean
from console.render.reading import gravity, stamp_s, surely_fine
from console.stream.logs import Logs
from console.ui.panes.log_find import SLICE_US
from console.ui.window import Source

_TIME = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)[ T])?(\d{1,2}):(\d\d)(?::(\d\d))?")
_DAY_S = 86_400
_STAMPLESS_LINES = 64


async def next_error(source: Source, start: int, end: int, step: int, clock: Clock) -> int | None:
    """The number of the first error after `start`, or before it when `step` is negative."""
    at = start if step < 0 else start + 1
    while True:
        due_us = clock.now_us() + SLICE_US
        # A store that forgets while others have their turn would mislead what walks through it.
        for line in source.back(at) if step < 0 else source.on(at, end):
            if not line.notice and not surely_fine(line.text) and gravity(line.text) == "error":
                return line.number
            at = line.number if step < 0 else line.end
            if clock.now_us() >= due_us:
                break
        else:
            return None
        await clock.sleep(0)


def came_at(logs: Logs, log: LogId, t_us: int) -> int:
    """The number of the first line that came in at a session time or later."""
    low, high = logs.reach(log)
    while low < high:
        middle = (low + high) // 2
        chunk = next(logs.chunks(log, middle, middle + 1), None)
        if chunk is None:
            return low
        if chunk.t_us < t_us:
            low = max(chunk.end, middle + 1)
        else:
            high = min(chunk.first, middle)
    return low


def stamped_at(logs: Logs, log: LogId, typed: str) -> int | None:
    """The number of the first line whose own stamp is at a typed time or later.

    `17:05`, `17:05:03`, with a date before it where the log spans days; without one the last such
    time before the log's newest line is meant. None where the text or the log has no time.
    """
    match = _TIME.fullmatch(typed.strip())
    first, end = logs.reach(log)
    newest = _stamp(logs, log, end - 1, -1, first, end)
    if match is None or newest is None:
        return None
    year, month, day, hour, minute, second = match.groups()
    wanted = (
        stamp_s(f"{year}-{month}-{day} {int(hour):02}:{minute}:{second or '00'}") if year else None
    )
    if wanted is None:
        of_day = int(hour) * 3600 + int(minute) * 60 + int(second or 0)
        wanted = newest - newest % _DAY_S + of_day
        if wanted > newest:
            wanted -= _DAY_S
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        at = _stamp(logs, log, middle, 1, first, end)
        if at is None or at >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def _stamp(logs: Logs, log: LogId, number: int, step: int, first: int, end: int) -> float | None:
    """The stamp of a line, or of the nearest one with a stamp that way."""
    for text in _texts(logs, log, number, step, first, end):
        at = stamp_s(text)
        if at is not None:
            return at
    return None


def _texts(logs: Logs, log: LogId, number: int, step: int, first: int, end: int) -> Iterator[Clean]:
    for place in range(number, number + step * _STAMPLESS_LINES, step):
        if not first <= place < end:
            return
        chunk = next(logs.chunks(log, place, place + 1), None)
        if chunk is not None and chunk.gap is None and chunk.first <= place:
            yield chunk.lines[place - chunk.first]
