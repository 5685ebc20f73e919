"""The files of one session: the first, and those that follow it once it grew too long.

Owns their names, `night.toml`, `night.0002.toml`, …: found by name, never by what a file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.session.blocks import SCHEMA_LINE
from console.store import whole

SEGMENT_BYTES = 64 * 1024 * 1024
MOST_SEGMENTS = 1000
_COPIED_BYTES = 1024 * 1024
_LATER = re.compile(r"(.+)\.(\d{4})\.toml")


def segment(first: Path, number: int) -> Path:
    """The file of that number, from 1."""
    return first if number == 1 else first.with_name(f"{first.stem}.{number:04}.toml")


def first_of(path: Path) -> Path:
    """The first file of the session that a file belongs to: itself where there is no other."""
    later = _LATER.fullmatch(path.name)
    first = path.with_name(f"{later[1]}.toml") if later is not None else path
    return first if first.is_file() else path


def following(first: Path, after: int = 1) -> Iterator[Path]:
    """The files after number `after`, as far as they lie there without a gap; no link is one."""
    for number in range(after + 1, MOST_SEGMENTS + 1):
        path = segment(first, number)
        if path.is_symlink() or not path.is_file():
            return
        yield path


def copy_session(first: Path, target: Path) -> None:
    """All files of a session as one new file of its owner's.

    Raises:
        OSError: the file exists, or one of them cannot be read or written.
    """
    whole.create(target, _parts(first))


def _parts(first: Path) -> Iterator[bytes]:
    for path in (first, *following(first)):
        with open(path, "rb") as part:
            if path != first and part.read(len(SCHEMA_LINE)) != SCHEMA_LINE:
                part.seek(0)
            while data := part.read(_COPIED_BYTES):
                yield data
