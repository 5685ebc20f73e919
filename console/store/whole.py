"""Writing a file so that no half of it is ever trusted, whatever room the disk has left.

Owns the three ways there are: a new file, one in place of another, and more at the end of one. What
cannot be written whole leaves everything as it was and raises.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PRIVATE = 0o600
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def create(path: Path, parts: Iterable[bytes], mode: int = PRIVATE) -> None:
    """A new file.

    Raises:
        OSError: it exists, or cannot be written; then there is none.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, mode)
    with ExitStack() as undo:
        # Whatever ends the writing: half a file must not stay.
        undo.callback(path.unlink, missing_ok=True)
        try:
            with _named(path):
                for part in parts:
                    _all(descriptor, part)
        finally:
            os.close(descriptor)
        undo.pop_all()


def replace(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    """The file anew, in one step for whoever reads it meanwhile.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with _named(path):
        beside.unlink(missing_ok=True)  # of a process of the same number that was killed
        create(beside, [data], mode)
        try:
            os.replace(beside, path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise


def append(path: Path, data: bytes) -> None:
    """More at its end; the file is made where there is none.

    Raises:
        OSError: it cannot be written; the file is as long as before.
    """
    with locked(path) as descriptor:
        add(descriptor, data)


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """A file to read and to `add` to, which nobody else adds to as long as the body runs."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK, PRIVATE)
    try:
        with _named(path):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
    finally:
        os.close(descriptor)


def add(descriptor: int, data: bytes) -> None:
    """More at the end of a file that is locked.

    Raises:
        OSError: it cannot be written; the file is as long as before.
    """
    size = os.fstat(descriptor).st_size
    try:
        _all(descriptor, data)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """An error of the system names the file that a person knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
