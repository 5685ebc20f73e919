"""A log on a host is followed to the byte over a real sshd whose sessions are killed."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.model.text import clean_lines
from console.stream.fact import FeedState, GapKind
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil
from tests.services.following import Followed, following

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=5.0)
TOOLS = ("stat", "tail", "head", "dd", "cat", "wc", "sleep", "printf", "echo")


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


class Box(Sshd):
    """A host, and the way to it."""

    way = Way.ASYNCSSH

    def __enter__(self) -> Self:
        super().__enter__()
        return self


ALL_WAYS = pytest.mark.parametrize("box", ["gnu", "busybox", "openssh"], indirect=True)


@pytest.fixture(params=["gnu", "busybox"])
def box(request: pytest.FixtureRequest, tmp_path: Path, mark: str) -> Iterator[Box]:
    """A host with its own tools, with BusyBox's first in PATH, or reached by the system's ssh."""
    set_env = {"RIG_TAIL": mark}
    if request.param == "busybox":
        folder = tmp_path / "busybox"
        folder.mkdir()
        for name in TOOLS:
            (folder / name).symlink_to("/usr/bin/busybox")
        set_env["PATH"] = f"{folder}:{os.environ['PATH']}"
    with Box(tmp_path / "sshd", set_env=set_env) as server:
        if request.param == "openssh":
            server.way = Way.OPENSSH
        yield server


@asynccontextmanager
async def wired(config: Path, *enter: str, way: Way = Way.ASYNCSSH) -> AsyncIterator[Wire]:
    host = Host("box", way, "rig", str(config), enter)
    wire = wire_to(host, SystemClock(), PACE, Nobody())
    try:
        yield wire
    finally:
        await wire.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "it's a log!.log"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def numbered(start: int, end: int) -> str:
    return "".join(f"line {number}\n" for number in range(start, end))


async def cut(said: Followed, box: Box) -> None:
    """Kill the link under the tail and return when the tail has noticed."""
    before = said.states.count(FeedState.CUT)
    box.kill_sessions()
    await said.until_state(FeedState.CUT, count=before + 1)


@asynccontextmanager
async def away(said: Followed, box: Box) -> AsyncIterator[None]:
    """The host is gone as long as the body runs, and the tail knows."""
    await asyncio.to_thread(box.stop)
    await said.until_state(FeedState.CUT)
    yield
    await asyncio.to_thread(box.start)


@ALL_WAYS
async def test_killed_in_mid_tail_it_goes_on_at_the_byte(box: Box, log: Path) -> None:
    append(log, numbered(0, 100) + "half a li")
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 99")
        await cut(said, box)
        assert said.feeds[-1].failure is Failure.LINK_LOST
        append(log, "ne\n" + numbered(100, 200))
        await said.until_line("line 199")
        said.check_whole(log)
        assert said.gap_kinds == [GapKind.LINK]
        gap = said.gaps[0]
        assert (gap.lost_bytes, gap.lost_lines) == (0, 0)
        assert gap.reread_bytes is not None
        assert gap.reread_bytes >= len("half a li")
        assert f"{gap.reread_bytes:,} bytes read again, 0 lost" in gap.text


@ALL_WAYS
async def test_killed_again_and_again_while_it_is_written(box: Box, log: Path) -> None:
    append(log, "begin\n")
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("begin")
        for turn in range(4):
            append(log, numbered(turn * 5000, turn * 5000 + 5000))
            if turn % 2:
                await said.until_line(f"line {turn * 5000 + 2500}")
            await cut(said, box)
            await said.until_state(FeedState.FOLLOWING, count=turn + 2)
        append(log, "end\n")
        await said.until_line("end")
        said.check_whole(log)
        assert set(said.gap_kinds) == {GapKind.LINK}
        assert said.lines == log.read_text().splitlines()  # noqa: ASYNC240


async def test_rotated_while_away_the_old_file_is_finished(box: Box, log: Path) -> None:
    append(log, numbered(0, 10))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 9")
        async with away(said, box):
            append(log, numbered(10, 20))
            old = log.rename(log.with_name(f"{log.name}.1"))  # noqa: ASYNC240
            append(log, numbered(20, 30))
        await said.until_line("line 29")
        said.check_whole(old, log)
        assert said.gap_kinds == [GapKind.LINK, GapKind.ROTATED]


@pytest.mark.parametrize(
    "names",
    [(".3", ".2", ".1"), (".11", ".10", ".9"), ("-20260222", "-20260223", "-20260224")],
    ids=["numbers", "two digits", "dates"],
)
async def test_rotated_thrice_while_away_every_file_is_read_in_turn(
    box: Box, log: Path, names: tuple[str, ...]
) -> None:
    append(log.with_name(f"{log.name}.12"), "older than all of it\n")
    append(log, numbered(0, 3))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 2")
        async with away(said, box):
            files = [log.with_name(log.name + name) for name in names]
            append(log, "end of the old one\n")
            os.rename(log, files[0])
            for turn, file in enumerate((*files[1:], log)):
                append(file, f"in file {turn}\n")
            # Within one second, which is all that BusyBox can tell apart.
        await said.until_line("in file 2")
        said.check_whole(*files, log)
        assert said.gap_kinds == [GapKind.LINK, *3 * [GapKind.ROTATED]]
        assert [gap.lost_bytes for gap in said.gaps] == [0, 0, 0, 0]


async def test_files_packed_while_away_are_said_to_be_skipped(box: Box, log: Path) -> None:
    append(log, numbered(0, 3))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 2")
        async with away(said, box):
            old, last = log.with_name(f"{log.name}.4"), log.with_name(f"{log.name}.1")
            os.rename(log, old)
            for number in (2, 3, 5):
                append(log.with_name(f"{log.name}.{number}.gz"), "packed")
            append(last, "not packed yet\n")
            append(log, "now\n")
        await said.until_line("now")
        assert said.lines[3:] == ["not packed yet", "now"]
        assert said.gap_kinds == [GapKind.LINK, GapKind.ROTATED, GapKind.ROTATED]
        assert said.gaps[1].text == "rotated more than once: 2 between cannot be read any more"
        assert [gap.lost_bytes for gap in said.gaps] == [0, None, 0]
        said.check_numbers()


async def test_truncated_while_away_is_said(box: Box, log: Path) -> None:
    append(log, numbered(0, 100))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 99")
        async with away(said, box):
            os.truncate(log, 0)
            append(log, "fresh\n")
        await said.until_line("fresh")
        assert said.gap_kinds == [GapKind.TRUNCATED]
        assert said.gaps[0].lost_bytes is None
        said.check_exact(numbered(0, 100).encode(), b"fresh\n")


async def test_truncated_then_rotated_while_away_nothing_is_lost(box: Box, log: Path) -> None:
    append(log, numbered(0, 10))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 9")
        os.truncate(log, 0)
        await auntil(lambda: said.gaps)
        async with away(said, box):
            append(log, "before it was rotated\n")
            log.rename(log.with_name(f"{log.name}.1"))  # noqa: ASYNC240
            append(log, "after\n")
        await said.until_line("after")
        said.check_exact(numbered(0, 10).encode(), b"before it was rotated\n", b"after\n")
        assert said.gap_kinds.count(GapKind.LINK) == 1
        assert "0 bytes read again, 0 lost" in said.gaps[1].text


async def test_cut_back_to_what_was_read_again_is_said(box: Box, log: Path) -> None:
    append(log, numbered(0, 50))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 49")
        append(log, "more\n")
        await said.until_line("more")
        async with away(said, box):
            os.truncate(log, 390)  # beyond where reading begins again, before where it ended
        await auntil(lambda: said.gaps)
        append(log, "fresh\n")
        await said.until_line("fresh")
        assert said.gap_kinds == [GapKind.TRUNCATED]
        assert said.lines[51:] == [*numbered(0, 50).splitlines(), "fresh"]
        assert said.advances[-1].byte[1] == 396
        said.check_numbers()


async def test_replaced_in_place_by_a_longer_file_is_seen(box: Box, log: Path) -> None:
    append(log, numbered(0, 100))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 99")
        async with away(said, box):
            os.truncate(log, 0)
            append(log, "other " * 500 + "\nfresh\n")
        await said.until_line("fresh")
        assert said.gap_kinds[0] is GapKind.LINK
        assert said.gaps[-1].text == "replaced while it was not followed: restarted at 0"
        assert said.lines[-2].startswith("other other")
        said.check_numbers()


async def test_gone_and_another_in_its_place_is_counted_as_lost(box: Box, log: Path) -> None:
    append(log, numbered(0, 3))
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 2")
        async with away(said, box):
            other = log.with_name("other")
            append(other, "anew\n")
            os.replace(other, log)
        await said.until_line("anew")
        assert said.gap_kinds == [GapKind.LINK]
        assert said.gaps[0].lost_bytes is None
        assert "another file now, lost what followed byte 21" in said.gaps[0].text
        said.check_numbers()


@ALL_WAYS
async def test_a_silent_link_resumes_without_loss(
    box: Box, log: Path, tcp_proxy: Callable[[int], TcpProxy], tmp_path: Path
) -> None:
    proxy = tcp_proxy(box.port)
    config = tmp_path / "proxied"
    text = box.ssh_config.read_text().replace(f"Port {box.port}", f"Port {proxy.port}")
    config.write_text(text)
    kind, blob = box.known_hosts.read_text().split()[1:3]
    box.known_hosts.write_text(f"[127.0.0.1]:{proxy.port} {kind} {blob}\n")
    append(log, numbered(0, 10))
    async with wired(config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("line 9")
        proxy.silence()
        append(log, numbered(10, 20))
        await said.until_state(FeedState.CUT)
        proxy.resume()
        await said.until_line("line 19")
        said.check_whole(log)
        assert [gap.lost_bytes for gap in said.gaps] == [0]


@ALL_WAYS
async def test_nothing_is_left_on_the_host(box: Box, log: Path, mark: str) -> None:
    append(log, "one\n")
    async with wired(box.ssh_config, way=box.way) as wire:
        await wire.up()
        keeper = started(mark)  # what holds up a link of the system's ssh
        async with following(wire, log) as said, following(wire, log.with_name("no")) as waiting:
            await said.until_line("one")
            await waiting.until_state(FeedState.MISSING)
            await auntil(lambda: {"tail", "dd", "sleep"} <= set(started(mark).values()))
        await auntil(
            lambda: started(mark).keys() == keeper.keys(), 5, "processes gone, closed one by one"
        )
        async with following(wire, log) as said:
            await said.until_line("one")
            await cut(said, box)
            await said.until_state(FeedState.FOLLOWING, count=2)
    await auntil(lambda: not started(mark), 5, "processes gone, link closed")
    assert started(mark) == {}


async def test_with_the_host_gone_for_good_nothing_is_left_there(
    box: Box, log: Path, mark: str
) -> None:
    append(log, "one\n")
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("one")
        assert started(mark)
        os.kill(box.pid, 19)  # no new session can begin while the daemon is stopped
        try:
            box.kill_sessions()
            await auntil(lambda: not started(mark), 5, "processes gone after a crash of sshd")
        finally:
            os.kill(box.pid, 18)


async def test_a_command_is_ended_with_the_link(box: Box, log: Path, mark: str) -> None:
    append(log, "one\n")
    async with wired(box.ssh_config, way=box.way) as wire:
        async with following(wire, ("sh", "-c", f"echo begun; sleep 300; : {mark}")) as said:
            await said.until_line("begun")
            assert said.lines == ["begun"]
        await auntil(lambda: "sh" not in started(mark).values(), 5)


async def test_entered_into_namespaces_of_its_own(box: Box, log: Path, mark: str) -> None:
    enter = ("unshare", "--pid", "--fork", "--mount-proc", "--uts")
    append(log, numbered(0, 10))
    async with wired(box.ssh_config, *enter) as wire, following(wire, log) as said:
        await said.until_line("line 9")
        append(log, "more\n")
        await said.until_line("more")
        await cut(said, box)
        append(log, "back\n")
        await said.until_line("back")
        said.check_whole(log)
        shells = await wire.run(["sh", "-c", "echo $$"], deadline_s=5)
        assert int(shells.out) < 10  # numbers of a fresh process namespace
    await auntil(lambda: not started(mark), 5, "processes gone")


@ALL_WAYS
async def test_a_burst_of_200_000_lines_arrives_whole_over_a_killed_link(
    box: Box, log: Path
) -> None:
    append(log, "begin\n")
    async with wired(box.ssh_config, way=box.way) as wire, following(wire, log) as said:
        await said.until_line("begin")
        append(log, numbered(0, 100_000))
        await said.until_line("line 50000")
        await cut(said, box)
        append(log, numbered(100_000, 200_000))
        await said.until_line("line 199999", 20)
        said.check_whole(log)
        assert [gap.lost_bytes for gap in said.gaps] == [0]


async def test_a_line_of_100_megabytes_passes_and_is_counted(box: Box, log: Path) -> None:
    append(log, "begin\n")
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("begin")
        with log.open("ab") as file:
            for _ in range(100):
                file.write(b"x" * 1_000_000)
            file.write(b"\nend\n")
        await said.until_line("end", 30)
        assert said.lines[1] == "x" * 65_536 + f" +{100_000_000 - 65_536:,} bytes"
        assert len(said.lines) == 3
        assert said.range_of(log) == (0, log.stat().st_size)  # noqa: ASYNC240
        said.check_numbers()


async def test_binary_passes_to_the_byte(box: Box, log: Path) -> None:
    rng = random.Random(7)
    data = rng.randbytes(300_000).replace(b"\r", b"r").replace(b"\0", b"0") + b"\nend\n"
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        with log.open("ab") as file:
            file.write(data)
        await said.until_line("end")
        assert said.lines == clean_lines(data.split(b"\n")[:-1], Masks())
        assert said.range_of(log) == (0, len(data))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
async def test_login_shells(tmp_path: Path, shell: str, log: Path) -> None:
    path = shutil.which(shell)
    assert path, f"{shell} is missing: apt-get install {shell}"
    forced = f'ForceCommand {path} -c "$SSH_ORIGINAL_COMMAND"'
    append(log, numbered(0, 10))
    with Box(tmp_path / shell, directives=[forced]) as server:
        async with wired(server.ssh_config) as wire, following(wire, log, last_lines=2) as said:
            await said.until_line("line 9")
            append(log, "more\n")
            await said.until_line("more")
            assert said.lines == ["line 8", "line 9", "more"]
            await cut(said, server)
            append(log, "back\n")
            await said.until_line("back")
            assert said.gap_kinds == [GapKind.BYTES, GapKind.LINK]
            assert [gap.lost_bytes for gap in said.gaps] == [len(numbered(0, 8)), 0]


def started(mark: str) -> dict[int, str]:
    """Name by pid of everything the host's sessions started, sshd's own processes left out."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if f"RIG_TAIL={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
        except OSError:
            continue
    return found
