"""How a container is configured, asked of its engine outside of it.

Owns what of the answer is kept. What the configuration says holds for processes that the engine
starts; whether a server's process still has it is for the processes themselves to say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

from console.model.failure import WireError
from console.services.container_script import container_of, inspect_argv
from console.transport.wire import Wire

_MOST_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class Configured:
    """Id, start (UTC, None unknown) and allowed variables; `why` where it could not be read."""

    id: str = ""
    started: datetime | None = None
    values: dict[str, str] = field(default_factory=dict)
    why: str = ""


async def configured(wire: Wire, deadline_s: float) -> Configured | None:
    """The configuration of the container that the host's `enter` leads into; None without one."""
    found = container_of(wire.host.enter)
    if found is None:
        return None
    argv = inspect_argv(*found)
    try:
        done = await wire.run(argv, deadline_s=deadline_s, most_bytes=_MOST_BYTES, outside=True)
    except WireError as error:
        return Configured(why=error.why)
    return read_configured(done.out)


def read_configured(out: bytes) -> Configured:
    """The records of one answer; an entry whose text is no JSON is left out."""
    rows = out.decode("utf-8", "surrogateescape").split("\n")
    if "@end" not in rows:
        return Configured(why="the container's engine gave no whole answer")
    told: dict[str, str] = {}
    values: dict[str, str] = {}
    for row in rows:
        if row.startswith("@"):
            name, _, text = row.partition(" ")
            told.setdefault(name, text)
        elif row.startswith(" "):
            try:
                name, equals, value = str(json.loads(row)).partition("=")
            except (ValueError, RecursionError):
                continue
            if equals:
                values.setdefault(name, value)
    if "@shut" in told:
        return Configured(why=told["@shut"] or "the container's engine said nothing")
    return Configured(told.get("@id", ""), _moment(told.get("@started", "")), values)


def _moment(text: str) -> datetime | None:
    """A time as engines write it: RFC 3339 with up to nanoseconds, as a JSON text."""
    try:
        found = datetime.fromisoformat(str(json.loads(text)))
    except (ValueError, RecursionError):
        return None
    return found.astimezone(UTC) if found.tzinfo is not None else None
