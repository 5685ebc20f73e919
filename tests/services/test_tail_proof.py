"""What befalls a log while it is followed over a real sshd, each time proved to the byte.

With GNU's tools and with BusyBox's; written to before, while and after.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from console.stream.fact import GapKind
from tests.rig.waiting import auntil
from tests.services.following import Followed, following
from tests.services.test_tail_ssh import Box, box, cut, log, mark, wired

__all__ = ["box", "log", "mark"]  # fixtures

pytestmark = pytest.mark.rig

SECRET = "request with Authorization: Bearer 4f9a1c77d2e84b0f9a1c77d2e84b0f3e\n"


class Written:
    """A writer that remembers every byte, by the file that had the path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: list[bytes] = [b""]
        self._count = 0

    def lines(self, count: int, path: Path | None = None, file: int = -1) -> str:
        """Append lines as a server writes them, in some other file's name if wanted; the last."""
        text = ""
        for _ in range(count):
            self._count += 1
            text += f"{self._count} Größe 界 \x1b[31mred\x1b[0m\n"
            text += SECRET if self._count % 7 == 0 else ""
        last = f"last of {self._count}"
        data = f"{text}{last}\n".encode()
        with (path or self.path).open("ab") as opened:
            opened.write(data)
        self.files[file] += data
        return last

    def half_a_line(self, path: Path | None = None, file: int = -1) -> None:
        """Append what no newline ends."""
        with (path or self.path).open("ab") as opened:
            opened.write(b"half a l")
        self.files[file] += b"half a l"

    def another(self) -> None:
        """From now on another file has the path, or the same one from 0 on."""
        self.files.append(b"")


def rotate(written: Written) -> GapKind:
    old = written.path.rename(written.path.with_name(f"{written.path.name}.1"))
    written.lines(20, old)
    written.another()
    written.lines(20)
    written.lines(3, old, file=-2)
    written.half_a_line(old, file=-2)
    return GapKind.ROTATED


def copy_and_truncate(written: Written) -> GapKind:
    shutil.copy(written.path, written.path.with_name("kept"))
    os.truncate(written.path, 0)
    written.another()
    return GapKind.TRUNCATED


def truncate_and_write_at_once(written: Written) -> GapKind:
    copy_and_truncate(written)
    written.lines(1)
    return GapKind.TRUNCATED


def replace(written: Written) -> GapKind:
    other = written.path.with_name("other")
    written.half_a_line()
    written.another()
    written.lines(30, other)
    other.rename(written.path)
    return GapKind.ROTATED


def delete_and_recreate(written: Written) -> GapKind:
    written.half_a_line()
    written.path.unlink()
    written.another()
    written.lines(30)
    return GapKind.ROTATED


INCIDENTS = [rotate, copy_and_truncate, truncate_and_write_at_once, replace, delete_and_recreate]


async def befalls(incident: Callable[[Written], GapKind], written: Written, said: Followed) -> None:
    """Let it happen and return once the tail has said so."""
    before = Counter(said.gap_kinds)
    kind = incident(written)
    await auntil(lambda: said.gap_kinds.count(kind) > before[kind], 8, f"{kind} said")


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda one: one.__name__)
async def test_each_byte_is_held_once_whatever_befalls_the_file(
    box: Box,
    log: Path,
    incident: Callable[[Written], GapKind],
) -> None:
    written = Written(log)
    written.lines(50)
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line(written.lines(10))
        await befalls(incident, written, said)
        await said.until_line(written.lines(10))
        # The link too: what comes after must still know where it was.
        await cut(said, box)
        await said.until_line(written.lines(10))
        said.check_exact(*written.files)
        assert "4f9a1c77" not in "".join(said.lines)


async def test_a_night_of_all_of_it_in_turn(box: Box, log: Path) -> None:
    written = Written(log)
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line(written.lines(10))
        for turn, incident in enumerate(INCIDENTS * 2):
            await befalls(incident, written, said)
            if turn % 3 == 0:
                await cut(said, box)
            await said.until_line(written.lines(200))
        assert said.gap_kinds.count(GapKind.LINK) == 4
        said.check_exact(*written.files)
