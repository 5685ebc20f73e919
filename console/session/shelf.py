"""The shelf: the folder of recorded sessions, its names and its cap.

Deletes only what is worth least: the oldest session without markers, acts or runs; and says so.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from console.model.clock import UTC_NAME
from console.session.files import NotASession
from console.session.journal import Journal
from console.session.segments import first_of, following

CAP_BYTES = 2 * 1024**3
NEAR = 0.9
KEPT_KINDS = ("marker", "act", "run")


@dataclass(frozen=True, slots=True)
class Room:
    """Whether there is room for another session.

    Attributes:
        used: bytes of all sessions that stay.
        deleted: the sessions that were removed.
        full: nothing more may be recorded.
    """

    used: int
    deleted: tuple[Path, ...] = ()
    full: bool = False

    def said(self, cap: int = CAP_BYTES) -> list[str]:
        """What a person should know of it."""
        told = [f"deleted {path.name}: sessions are over {cap:,} bytes" for path in self.deleted]
        if self.full:
            why = "and all hold markers, acts or runs"
            told.append(f"not recording: sessions fill their {cap:,} bytes {why}")
        elif self.used > NEAR * cap:
            told.append(f"sessions use {self.used:,} of {cap:,} bytes")
        return told


def make_room(folder: Path, cap: int = CAP_BYTES) -> Room:
    """Delete the oldest dispensable sessions until those that stay are under the cap."""
    sizes: dict[Path, int] = {}
    for path in sorted(folder.glob("*.toml")):
        first = first_of(path)
        try:
            sizes[first] = sizes.get(first, 0) + path.lstat().st_size
        except OSError:
            continue
    used = sum(sizes.values())
    deleted: list[Path] = []
    for path, size in sizes.items():
        if used < cap:
            break
        if not _dispensable(path):
            continue
        try:
            for part in [*following(path)][::-1]:
                part.unlink()
            path.unlink()
        except OSError:
            continue
        deleted.append(path)
        used -= size
    return Room(used, tuple(deleted), used >= cap)


def _dispensable(path: Path) -> bool:
    if path.is_symlink():
        return False
    try:
        journal = Journal(path)
    except NotASession:
        return False
    return not any(kind in journal.index.kinds for kind in KEPT_KINDS)


def new_path(folder: Path, moment: datetime, fleet: str) -> Path:
    """A name for a session that begins now; never one that exists."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", fleet.removesuffix(".toml")).strip("-.") or "session"
    stem = f"{moment.strftime(UTC_NAME)}-{safe[:40]}"
    path = folder / f"{stem}.toml"
    number = 2
    while os.path.lexists(path):
        path = folder / f"{stem}-{number}.toml"
        number += 1
    return path
