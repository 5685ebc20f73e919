"""A small disk that a test can fill: a tmpfs in a mount namespace of its own, held by one process.

Needs to run as root. What runs in it is entered with `enter`; the test looks at it from outside.
"""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

_HOLD = 'mount -t tmpfs -o size="$2" none "$1" && echo mounted && exec sleep 3600'


class SmallDisk:
    """A disk of `kib` KiB mounted on `folder`, which must exist; use it as a context manager."""

    def __init__(self, folder: Path, kib: int = 256) -> None:
        self.folder = folder
        self._argv = ["unshare", "-m", "/bin/sh", "-c", _HOLD, "sh", str(folder), f"{kib}k"]

    def __enter__(self) -> SmallDisk:
        self._holder = subprocess.Popen(self._argv, stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"mounted\n":
            raise RuntimeError("no tmpfs can be mounted here: needs root and mount namespaces")
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.kill()
        self._holder.communicate()

    @property
    def enter(self) -> tuple[str, ...]:
        """What stands before a command that is to see it."""
        return ("nsenter", "-t", str(self._holder.pid), "-m", "--")

    @property
    def seen(self) -> Path:
        """Its root, from outside its namespace."""
        return Path(f"/proc/{self._holder.pid}/root{self.folder}")

    def fill(self, left: int = 0) -> None:
        """Leave not one byte, or so many: a multiple of 4096."""
        with (self.seen / "filled").open("ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError as full:
                assert full.errno == errno.ENOSPC
            file.truncate(max(0, file.tell() - left))

    def empty(self) -> None:
        """Give the room back."""
        (self.seen / "filled").unlink()
