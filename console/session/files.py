"""The files that a session lies in, opened for reading and indexed as one.

Opens what the session's own name leads to, nothing that its content names; reads no events.
"""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path
from typing import BinaryIO

from console.session.blocks import SCHEMA_LINE, Buffer, Index, scan
from console.session.segments import first_of, following

MOST_FILE = 4 * 1024**3
_SCHEMA = re.compile(rb'schema = "session/(\d{1,9})"\n\n?')
_HEADER = re.compile(rb"\[\[[a-z_]+\]\] # \d+ [0-9a-f]{8}\n")


class NotASession(Exception):
    """A file that cannot be opened as a session; the text says why, for a person."""


class Files:
    """One session's files, the first of them and what follows.

    Attributes:
        index: of the blocks in all of them.

    Raises:
        NotASession: the first cannot be read, is no session, or is of a newer major schema.
    """

    def __init__(self, path: Path) -> None:
        self.path = str(first_of(path))
        self._parts = [_open(self.path)]
        self._start = _start(self.path, self._parts[0][1])
        self.index: Index = scan(self._parts[0][1], self._start)
        self._follow()

    def read_on(self) -> None:
        """Take in what was written since, in the newest file and in those after it."""
        self._grown()
        self._follow()

    def data(self, part: int) -> Buffer:
        """The bytes of one of the files."""
        return self._parts[part][1]

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(len(data) for _, data in self._parts)

    def _grown(self) -> None:
        """What was appended to the newest file of the session."""
        file, data = self._parts[-1]
        try:
            size = os.fstat(file.fileno()).st_size
            if not len(data) < size <= MOST_FILE:
                return
            data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return
        self._parts[-1] = (file, data)
        damage = self.index.damage
        while damage and damage[-1].offset >= self.index.end:
            damage.pop()
        scan(data, max(self._start, self.index.end), self.index, len(self._parts) - 1)

    def _follow(self) -> None:
        """Take in the files that follow the newest one of the session."""
        for path in following(Path(self.path), len(self._parts)):
            try:
                part = _open(str(path))
                self._start = _start(str(path), part[1])
            except NotASession:
                return  # just begun, or none of ours: what was read stands
            self._parts.append(part)
            self.index.end = self._start
            scan(part[1], self._start, self.index, len(self._parts) - 1)


def _open(path: str) -> tuple[BinaryIO, Buffer]:
    try:
        file = open(path, "rb")  # noqa: SIM115  # it stays open: the file may still grow
        size = file.seek(0, 2)
        if size == 0:
            raise NotASession(f"{path}: empty")
        if size > MOST_FILE:
            raise NotASession(f"{path}: {size:,} bytes: larger than any session")
        return file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except IsADirectoryError as error:
        raise NotASession(f"{path}: a folder; the path of a session file was expected") from error
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise NotASession(f"{path}: {text.lower()}") from error


def _start(path: str, data: Buffer) -> int:
    """The offset after the first line; checks the schema where that line is whole."""
    found = _SCHEMA.match(data)
    if found is not None:
        if int(found[1]) > 1:
            raise NotASession(
                f"{path}: session/{int(found[1])} is newer than session/1, which this console reads"
            )
        return found.end()
    if not _HEADER.search(data[: 1024 * 1024]):
        expected = SCHEMA_LINE.decode().strip()
        raise NotASession(f"{path}: not a session file (it begins otherwise than {expected})")
    return 0
