"""One event as data for other programs, and as one line for a person.

What stands here is plain text without colour codes; a control byte in it would be a defect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import cast

from console.model.clock import US_PER_S
from console.model.text import Clean, plain
from console.stream.codec import KIND_OF
from console.stream.events import Event
from console.stream.fact import Fact
from console.stream.server_events import LogAdvanced, LogGap

_SUBJECTS = ("server", "log", "host", "bench", "act")
_ENVELOPE = ("seq", "t_us", "lines", *_SUBJECTS)


def as_record(event: Event) -> dict[str, object]:
    """The event as a JSON object: `kind`, `seq`, `t_us`, then its fields; absent ones left out.

    Named texts and figures become objects; a figure that is no finite number becomes the text
    `nan`, `inf` or `-inf`, which JSON has no number for.
    """
    record: dict[str, object] = {
        "kind": KIND_OF[cast("type[Fact]", type(event))],
        "seq": event.seq,
        "t_us": event.t_us,
    }
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in ("seq", "t_us") or value is None or (field.name == "since" and not value):
            continue
        named = "Pairs" in str(field.type) or "Figures" in str(field.type)
        record[field.name] = _pairs(value) if named else _data(value)
    return record


def _pairs(pairs: tuple[tuple[Clean, object], ...]) -> dict[str, object]:
    return {plain(name): _data(value) for name, value in pairs}


def _data(value: object) -> object:
    match value:
        case str():
            return plain(Clean(value))
        case float() if not math.isfinite(value):
            return str(value)
        case tuple():
            return [_data(part) for part in value]
        case _:
            return value


def told(event: Event) -> Iterator[str]:
    """The event in lines for a terminal: position, kind, subject, then what it says."""
    record = as_record(event)
    stamp = position(event.t_us)
    subject = " ".join(str(record[name]) for name in _SUBJECTS if record.get(name))
    match event:
        case LogAdvanced():
            for line in event.lines:
                yield f"{stamp}  {event.log}  {plain(line)}"
        case LogGap():
            yield f"{stamp}  {event.log}  ┊ {plain(event.text)}"
        case _:
            said = " ".join(
                f"{name}={_told(value)}"
                for name, value in record.items()
                if name not in _ENVELOPE and name != "kind" and value not in ("", [], {})
            )
            yield "  ".join(part for part in (stamp, str(record["kind"]), subject, said) if part)


def _told(value: object) -> str:
    if isinstance(value, dict):
        inside = " ".join(f"{name}={_told(part)}" for name, part in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{' '.join(map(_told, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def position(t_us: int) -> str:
    """A time of the session: `00:08:36.003`."""
    seconds, rest = divmod(max(0, t_us), US_PER_S)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest // 1000:03}"
