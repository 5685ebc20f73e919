"""A log on this machine is followed to the byte, whatever happens to its file."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.model.failure import Failure
from console.model.fleet import Host
from console.stream.fact import FeedState, GapKind
from console.stream.server_events import LogListed
from console.transport.local import LocalWire
from tests.rig.waiting import auntil
from tests.services.following import following

pytestmark = pytest.mark.rig


@pytest.fixture(scope="session")
def busybox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose programs are all BusyBox."""
    folder = tmp_path_factory.mktemp("busybox")
    for name in ("sh", "stat", "tail", "head", "dd", "cat", "wc", "sleep"):
        (folder / name).symlink_to("/usr/bin/busybox")
    return folder


@pytest.fixture(params=["gnu", "busybox"])
async def wire(request: pytest.FixtureRequest, busybox: Path) -> AsyncIterator[LocalWire]:
    """This machine, with its own tools and with BusyBox's in front."""
    enter: tuple[str, ...] = ()
    if request.param == "busybox":
        path = f"{busybox}:{os.environ['PATH']}"
        # The template names /bin/sh; this puts BusyBox's in its place.
        swap = 'shift; exec sh "$@"'
        enter = ("env", f"PATH={path}", str(busybox / "sh"), "-c", swap, "sh")
    wire = LocalWire(Host("here", enter=enter))
    yield wire
    await wire.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def append(path: Path, text: str | bytes) -> None:
    with path.open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def numbered(start: int, end: int) -> str:
    return "".join(f"line {number}\n" for number in range(start, end))


async def test_what_is_there_and_what_comes(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 3))
    async with following(wire, log) as said:
        await said.until_line("line 2")
        append(log, numbered(3, 5))
        await said.until_line("line 4")
        append(log, "half")
        append(log, " and half\n")
        await said.until_line("half and half")
        said.check_whole(log)
    assert isinstance(said.events[0], LogListed)
    assert said.states == [FeedState.OPENING, FeedState.FOLLOWING]
    assert said.gaps == []


async def test_only_the_last_lines_at_first(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 1000))
    async with following(wire, log, last_lines=2) as said:
        await said.until_line("line 999")
        assert said.lines == ["line 998", "line 999"]
        append(log, "next\n")
        await said.until_line("next")
        begin = size(log) - len("line 998\nline 999\nnext\n")
        assert said.range_of(log) == (begin, size(log))
        assert [(gap.gap, gap.at, gap.lost_bytes) for gap in said.gaps] == [
            (GapKind.BYTES, 0, begin)
        ]
        assert said.gaps[0].text == f"begins here: {begin:,} bytes before were not read"
        said.check_numbers()


async def test_the_window_grows_until_it_holds_the_last_lines(wire: LocalWire, log: Path) -> None:
    append(log, "".join(f"{number} {'x' * 2000}\n" for number in range(300)))
    async with following(wire, log, last_lines=250) as said:
        await auntil(lambda: len(said.lines) >= 250, 8)
        assert [line.split()[0] for line in said.lines] == [str(n) for n in range(50, 300)]


async def test_followed_anew_it_says_that_lines_may_stand_here_twice(
    wire: LocalWire, log: Path
) -> None:
    append(log, numbered(0, 3))
    async with following(wire, log, first=7) as said:
        await said.until_line("line 2")
        assert [(gap.gap, gap.at) for gap in said.gaps] == [(GapKind.INEXACT, 7)]
        assert said.advances[0].first == 8


async def test_none_of_the_old_lines(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 10))
    async with following(wire, log, last_lines=0) as said:
        await said.until_state(FeedState.FOLLOWING)
        append(log, "fresh\n")
        await said.until_line("fresh")
        assert said.lines == ["fresh"]


async def test_a_missing_log_is_waited_for_and_read_from_its_start(
    wire: LocalWire, log: Path
) -> None:
    async with following(wire, log, last_lines=1) as said:
        await said.until_state(FeedState.MISSING)
        assert said.feeds[-1].failure is Failure.MISSING
        append(log, numbered(0, 3))
        await said.until_line("line 2")
        said.check_whole(log)


async def test_a_folder_is_unreadable_not_missing(wire: LocalWire, tmp_path: Path) -> None:
    async with following(wire, tmp_path) as said:
        await said.until_state(FeedState.UNREADABLE)
        assert said.feeds[-1].why == f"{tmp_path}: not a regular file"


async def test_below_a_closed_folder_is_unreadable_until_it_opens(
    log: Path, tmp_path: Path
) -> None:
    append(log, numbered(0, 2))
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    closed = tmp_path / "closed"
    closed.mkdir()
    log = rotated(log, closed / "server.log")
    closed.chmod(0o000)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    wire = LocalWire(Host("here", enter=nobody))
    async with following(wire, log) as said:
        await said.until_state(FeedState.UNREADABLE)
        assert said.feeds[-1].failure is Failure.UNREADABLE
        assert said.feeds[-1].why == f"{log}: Permission denied"
        closed.chmod(0o755)
        log.chmod(0o644)
        await said.until_line("line 1")
        said.check_whole(log)
    await wire.close()


async def test_rotation_finishes_the_old_file_first(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 3))
    async with following(wire, log) as said:
        await said.until_line("line 2")
        old = rotated(log)
        append(old, "late in the old file\n")
        append(log, numbered(3, 6))
        append(old, "without a newline")
        await said.until_line("line 5")
        append(log, "more\n")
        await said.until_line("more")
        assert said.gap_kinds == [GapKind.ROTATED]
        assert said.gaps[0].lost_bytes == 0
        said.check_numbers()
        assert said.range_of(old) == (0, size(old))
        assert said.range_of(log) == (0, size(log))
        assert said.lines[3:5] == ["late in the old file", "without a newline"]


async def test_renamed_without_a_successor_goes_on(wire: LocalWire, log: Path) -> None:
    append(log, "one\n")
    async with following(wire, log) as said:
        await said.until_line("one")
        old = rotated(log)
        append(old, "two\n")
        await said.until_line("two")
        append(log, "three\n")
        await said.until_line("three")
        said.check_whole(old, log)
        assert said.lines == ["one", "two", "three"]


async def test_truncation_begins_again_at_zero(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 50))
    async with following(wire, log) as said:
        await said.until_line("line 49")
        before = len(said.advances)
        os.truncate(log, 0)
        await auntil(lambda: said.gaps, 8)
        append(log, numbered(100, 103))
        await said.until_line("line 102")
        assert said.gap_kinds == [GapKind.TRUNCATED]
        assert said.gaps[0].text == "truncated: restarted at 0"
        assert said.advances[before].byte[0] == 0
        assert said.advances[-1].byte[1] == size(log)
        assert said.lines == [*numbered(0, 50).split("\n")[:-1], "line 100", "line 101", "line 102"]


async def test_truncated_and_written_at_once(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 50))
    async with following(wire, log) as said:
        await said.until_line("line 49")
        rewrite(log, "short\n")
        await said.until_line("short")
        assert said.gap_kinds == [GapKind.TRUNCATED]
        assert said.lines[50:] == ["short"]
        said.check_numbers()


async def test_deleted_and_made_again(wire: LocalWire, log: Path) -> None:
    append(log, numbered(0, 3))
    async with following(wire, log) as said:
        await said.until_line("line 2")
        os.unlink(log)
        append(log, "anew\n")
        await said.until_line("anew")
        assert said.lines == ["line 0", "line 1", "line 2", "anew"]
        assert said.gap_kinds == [GapKind.ROTATED]


async def test_a_bar_is_seen_without_a_newline(wire: LocalWire, log: Path) -> None:
    async with following(wire, log) as said:
        await said.until_state(FeedState.MISSING)
        append(log, "start\n\rLoad:  1%\rLoad:  2%")
        await said.until_line("Load:  2%")
        assert "Load:  1%" not in said.lines
        append(log, "\rLoad: 50%\rLoad: 100%\nend\n")
        await said.until_line("end")
        assert said.lines == ["start", "Load:  2%", "Load: 100%", "end"]
        assert said.range_of(log) == (0, size(log))


async def test_bytes_that_are_no_text_stop_nothing(wire: LocalWire, log: Path) -> None:
    append(log, b"bad \xff\xfe byte\n\x1b[2Jclear\n" + b"\0" * 5000 + b"after\n")
    async with following(wire, log) as said:
        await said.until_line("<NUL>×5000after")
        assert said.lines[:2] == ["bad \ufffd\ufffd byte", "<CSI>clear"]


async def test_a_burst_arrives_whole_and_in_batches(wire: LocalWire, log: Path) -> None:
    append(log, "begin\n")
    async with following(wire, log) as said:
        await said.until_line("begin")
        append(log, numbered(0, 50_000))
        await said.until_line("line 49999")
        said.check_whole(log)
        assert len(said.advances) < 200


async def test_nothing_is_left_running(wire: LocalWire, log: Path) -> None:
    append(log, "one\n")
    async with following(wire, log) as said:
        await said.until_line("one")
        assert mentioning(log)
    await auntil(lambda: not mentioning(log), 4)


async def test_let_go_at_any_moment_nothing_is_left_running(wire: LocalWire, log: Path) -> None:
    append(log, "one\n")
    for step in range(15):
        async with following(wire, log):
            # The moment is the point here: before, while and after the script has begun.
            await asyncio.sleep(step * 0.004)
    await auntil(lambda: not mentioning(log), 4)
    assert log.read_text() == "one\n"  # noqa: ASYNC240


async def test_with_its_shell_killed_the_rest_ends_and_reading_goes_on(
    wire: LocalWire, log: Path
) -> None:
    append(log, "one\n")
    async with following(wire, log) as said:
        await said.until_line("one")
        shell = next(pid for pid in mentioning(log) if os.getpgid(pid) == pid)
        await auntil(lambda: len(mentioning(log)) >= 3)
        os.kill(shell, signal.SIGKILL)
        await said.until_state(FeedState.CUT)
        assert said.feeds[-1].why == "the command that reads the log ended"
        append(log, "two\n")
        await said.until_line("two")
        said.check_whole(log)
        assert not any(os.getpgid(pid) == shell for pid in mentioning(log))


async def test_a_command_that_prints_a_log(log: Path) -> None:
    append(log, numbered(0, 2))
    wire = LocalWire(Host("here"))
    async with following(wire, ("sh", "-c", f"cat {log}; echo bad >&2; exec sleep 300")) as said:
        await said.until_line("bad")
        assert said.gap_kinds == [GapKind.INEXACT]
        assert said.lines == ["line 0", "line 1", "bad"]
        assert (said.advances[0].file, said.advances[0].byte) == ((), ())
        said.check_numbers()
    await wire.close()


async def test_a_command_that_ends_is_said_and_run_again(log: Path) -> None:
    append(log, "once\n")
    wire = LocalWire(Host("here"))
    async with following(wire, ("cat", str(log))) as said:
        await auntil(lambda: said.lines.count("once") >= 2)
        cut = next(feed for feed in said.feeds if feed.feed is FeedState.CUT)
        assert (cut.failure, cut.why) == (Failure.REMOTE, "the command ended")
        assert said.gap_kinds[:2] == [GapKind.INEXACT, GapKind.LINK]
        assert "lines may be missing or repeated" in said.gaps[1].text
        said.check_numbers()
    await wire.close()


def size(path: Path) -> int:
    return path.stat().st_size


def rotated(path: Path, to: Path | None = None) -> Path:
    return path.rename(to or path.with_name(f"{path.name}.1"))


def rewrite(path: Path, text: str) -> None:
    path.write_text(text)


def mentioning(path: Path) -> list[int]:
    """Processes of others that name this path in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(path).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
