"""Load times on disk: how long each phase of a server's earlier starts took.

Owns `history/loads.toml` in the state folder, private to its owner. A block that cannot be read
is counted, and never makes the others unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import tomli

from console.model.clock import utc_from_text, utc_text
from console.store import whole
from console.store.folders import private, state_folder
from console.stream.codec import quote

FILE = "loads.toml"
MOST_LOADS = 8
"""Kept per server; the newest."""

MOST_BYTES = 1024 * 1024
_MOST_SECONDS = 30 * 86_400.0
_HEAD = "[[load]]\n"


@dataclass(frozen=True, slots=True)
class PastLoad:
    """One start that ended ready: seconds per phase, in order."""

    host: str
    server: str
    utc: datetime
    stages: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class PastLoads:
    """What a file holds, oldest first; `lost` blocks of it could not be read."""

    loads: tuple[PastLoad, ...]
    lost: int = 0

    def of(self, host: str, server: str) -> tuple[PastLoad, ...]:
        """The newest of one server, oldest first."""
        own = [one for one in self.loads if (one.host, one.server) == (host, server)]
        return tuple(own[-MOST_LOADS:])


def loads_path() -> Path:
    """Where load times are kept; its folder is created private.

    Raises:
        OSError: it cannot be created.
    """
    return private(state_folder() / "history") / FILE


def read_loads(path: Path) -> PastLoads:
    """Everything kept; nothing where there is no file.

    Raises:
        OSError: there is a file that cannot be read.
    """
    try:
        raw = path.read_bytes()[-2 * MOST_BYTES :]
    except FileNotFoundError:
        return PastLoads(())
    found, lost = [], 0
    for block in raw.decode("utf-8", "replace").split(_HEAD)[1:]:
        try:
            found.append(_load(tomli.loads(block)))
        except (ValueError, KeyError, TypeError, RecursionError):
            lost += 1
    return PastLoads(tuple(sorted(found, key=lambda one: one.utc)), lost)


def append_load(path: Path, load: PastLoad) -> None:
    """Add a load, one write; a file that has grown large first drops what nobody reads.

    Raises:
        OSError: it cannot be written.
    """
    if path.exists() and path.stat().st_size > MOST_BYTES:
        _shorten(path)
    whole.append(path, _block(load).encode("utf-8", "replace"))


def _shorten(path: Path) -> None:
    past = read_loads(path)
    names = {(one.host, one.server): None for one in past.loads}
    kept: Iterable[PastLoad] = (load for name in names for load in past.of(*name))
    text = "".join(map(_block, sorted(kept, key=lambda one: one.utc)))
    whole.replace(path, text.encode("utf-8", "replace"))


def _block(load: PastLoad) -> str:
    stages = ", ".join(f"{quote(name)} = {seconds!r}" for name, seconds in load.stages)
    lines = (
        f"host = {quote(load.host)}",
        f"server = {quote(load.server)}",
        f"utc = {quote(utc_text(load.utc))}",
        f"seconds = {{ {stages} }}",
    )
    return _HEAD + "\n".join(lines) + "\n\n"


def _load(table: dict[str, object]) -> PastLoad:
    stages = table["seconds"]
    if not isinstance(stages, dict) or not stages:
        raise TypeError("seconds")
    return PastLoad(
        _text(table, "host"),
        _text(table, "server"),
        utc_from_text(_text(table, "utc")),
        tuple((str(name), _seconds(value)) for name, value in stages.items()),
    )


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise TypeError("seconds")
    if not 0 <= value <= _MOST_SECONDS:
        raise ValueError("seconds")
    return float(value)


def _text(table: dict[str, object], name: str) -> str:
    value = table[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value
