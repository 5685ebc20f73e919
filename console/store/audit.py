"""The audit: what was changed on which host, by whom, with which result. One JSON object a line.

Owns the file `audit.jsonl` in the state folder, apart from any session, so that deleting one
leaves the other. Only ever appended to; each line holds the hash of the line before it. It is
given masked texts and never asks for others.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from console.store import whole
from console.store.folders import state_folder

FILE = "audit.jsonl"
_LAST_BYTES = 65_536

Value = str | int | float | Mapping[str, str] | None


def append(record: Mapping[str, Value]) -> Path:
    """Add a line and force it to the disk; where it is.

    Raises:
        OSError: it cannot be written.
    """
    path = state_folder() / FILE
    with whole.locked(path) as descriptor:
        before, broken = _last_line(descriptor)
        linked = {**record, "previous": hashlib.sha256(before).hexdigest() if before else ""}
        line = json.dumps(linked, ensure_ascii=True).encode() + b"\n"
        # A line that was cut short, by a power cut say, stays for itself; ours begins anew.
        whole.add(descriptor, b"\n" + line if broken else line)
        os.fsync(descriptor)
    return path


def read_all() -> list[bytes]:
    """Every line of the audit; none where nothing was ever changed.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return (state_folder() / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return []


def chained(lines: list[bytes]) -> int | None:
    """The first line (from 0) that does not follow from the one before; None when all do."""
    for number, line in enumerate(lines):
        wanted = hashlib.sha256(lines[number - 1]).hexdigest() if number else ""
        try:
            if json.loads(line)["previous"] != wanted:
                return number
        except (ValueError, KeyError, TypeError):
            return number
    return None


def _last_line(descriptor: int) -> tuple[bytes, bool]:
    """The last line without its end, and whether that end is missing."""
    size = os.fstat(descriptor).st_size
    held = min(size, _LAST_BYTES)
    data = os.pread(descriptor, held, size - held)
    broken = bool(data) and not data.endswith(b"\n")
    return data.rstrip(b"\n").rpartition(b"\n")[2], broken
