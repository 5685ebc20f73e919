"""A log on a host is followed to the byte over a real sshd whose sessions are killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.stream.fact import FeedState, GapKind
from console.transport.ssh import SshWire
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil
from tests.services.following import Followed, following

pytestmark = pytest.mark.rig

PACE = Pace().scaled(20)
TOOLS = ("stat", "tail", "head", "dd", "cat", "wc", "sleep", "printf", "echo")


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


@pytest.fixture(params=["gnu", "busybox"])
def box(request: pytest.FixtureRequest, tmp_path: Path, mark: str) -> Iterator[Sshd]:
    """A host with its own tools, or with BusyBox's first in PATH."""
    set_env = {"RIG_TAIL": mark}
    if request.param == "busybox":
        folder = tmp_path / "busybox"
        folder.mkdir()
        for name in TOOLS:
            (folder / name).symlink_to("/usr/bin/busybox")
        set_env["PATH"] = f"{folder}:{os.environ['PATH']}"
    with Sshd(tmp_path / "sshd", set_env=set_env) as server:
        yield server


@asynccontextmanager
async def wired(config: Path, *enter: str) -> AsyncIterator[SshWire]:
    host = Host("box", Way.ASYNCSSH, "rig", str(config), enter)
    wire = SshWire(host, SystemClock(), PACE, Nobody())
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


async def cut(said: Followed, box: Sshd) -> None:
    """Kill the link under the tail and return when the tail has noticed."""
    before = said.states.count(FeedState.CUT)
    box.kill_sessions()
    await said.until_state(FeedState.CUT, count=before + 1)


async def test_killed_in_mid_tail_it_goes_on_at_the_byte(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 100) + "half a li")
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
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


async def test_killed_again_and_again_while_it_is_written(box: Sshd, log: Path) -> None:
    append(log, "begin\n")
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
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


async def test_rotated_while_away_the_old_file_is_finished(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 10))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 9")
        await asyncio.to_thread(box.stop)
        await said.until_state(FeedState.CUT)
        append(log, numbered(10, 20))
        old = log.rename(log.with_name(f"{log.name}.1"))  # noqa: ASYNC240
        append(log, numbered(20, 30))
        await asyncio.to_thread(box.start)
        await said.until_line("line 29")
        said.check_whole(old, log)
        assert said.gap_kinds == [GapKind.LINK, GapKind.ROTATED]


async def test_rotated_twice_while_away_says_what_was_skipped(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 3))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 2")
        await asyncio.to_thread(box.stop)
        await said.until_state(FeedState.CUT)
        old, between = log.with_name(f"{log.name}.2"), log.with_name(f"{log.name}.1")
        os.rename(log, old)
        append(between, "never seen\n")
        append(log, "now\n")
        os.utime(old, (0, between.stat().st_mtime - 60))
        await asyncio.to_thread(box.start)
        await said.until_line("now")
        assert said.gap_kinds == [GapKind.LINK, GapKind.ROTATED]
        assert said.gaps[1].text == "rotated more than once: 1 between were not followed"
        assert said.gaps[1].lost_bytes is None
        said.check_numbers()


async def test_truncated_while_away_is_said(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 100))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 99")
        await asyncio.to_thread(box.stop)
        await said.until_state(FeedState.CUT)
        os.truncate(log, 0)
        append(log, "fresh\n")
        await asyncio.to_thread(box.start)
        await said.until_line("fresh")
        assert said.gap_kinds == [GapKind.TRUNCATED]
        assert said.gaps[0].lost_bytes is None
        assert said.advances[-1].byte == (0, 6)
        said.check_numbers()


async def test_cut_back_to_what_was_read_again_is_said(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 50))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 49")
        append(log, "more\n")
        await said.until_line("more")
        await asyncio.to_thread(box.stop)
        await said.until_state(FeedState.CUT)
        os.truncate(log, 390)  # beyond where reading begins again, before where it ended
        await asyncio.to_thread(box.start)
        await auntil(lambda: said.gaps)
        append(log, "fresh\n")
        await said.until_line("fresh")
        assert said.gap_kinds == [GapKind.TRUNCATED]
        assert said.lines[51:] == [*numbered(0, 50).splitlines(), "fresh"]
        assert said.advances[-1].byte[1] == 396
        said.check_numbers()


async def test_replaced_in_place_by_a_longer_file_is_seen(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 100))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 99")
        await asyncio.to_thread(box.stop)
        await said.until_state(FeedState.CUT)
        os.truncate(log, 0)
        append(log, "other " * 500 + "\nfresh\n")
        await asyncio.to_thread(box.start)
        await said.until_line("fresh")
        assert said.gap_kinds[0] is GapKind.LINK
        assert said.gaps[-1].text == "replaced while it was not followed: restarted at 0"
        assert said.lines[-2].startswith("other other")
        said.check_numbers()


async def test_gone_and_another_in_its_place_is_counted_as_lost(box: Sshd, log: Path) -> None:
    append(log, numbered(0, 3))
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("line 2")
        await asyncio.to_thread(box.stop)
        await said.until_state(FeedState.CUT)
        other = log.with_name("other")
        append(other, "anew\n")
        os.replace(other, log)
        await asyncio.to_thread(box.start)
        await said.until_line("anew")
        assert said.gap_kinds == [GapKind.LINK]
        assert said.gaps[0].lost_bytes is None
        assert "another file now, lost what followed byte 21" in said.gaps[0].text
        said.check_numbers()


async def test_a_silent_link_resumes_without_loss(
    box: Sshd, log: Path, tcp_proxy: Callable[[int], TcpProxy], tmp_path: Path
) -> None:
    proxy = tcp_proxy(box.port)
    config = tmp_path / "proxied"
    text = box.ssh_config.read_text().replace(f"Port {box.port}", f"Port {proxy.port}")
    config.write_text(text)
    kind, blob = box.known_hosts.read_text().split()[1:3]
    box.known_hosts.write_text(f"[127.0.0.1]:{proxy.port} {kind} {blob}\n")
    append(log, numbered(0, 10))
    async with wired(config) as wire, following(wire, log) as said:
        await said.until_line("line 9")
        proxy.silence()
        append(log, numbered(10, 20))
        await said.until_state(FeedState.CUT)
        proxy.resume()
        await said.until_line("line 19")
        said.check_whole(log)


async def test_nothing_is_left_on_the_host(box: Sshd, log: Path, mark: str) -> None:
    append(log, "one\n")
    async with wired(box.ssh_config) as wire:
        async with following(wire, log) as said, following(wire, log.with_name("no")) as waiting:
            await said.until_line("one")
            await waiting.until_state(FeedState.MISSING)
            await auntil(lambda: {"tail", "dd", "sleep"} <= set(started(mark).values()))
        await auntil(lambda: not started(mark), 5, "processes gone, closed stream by stream")
        async with following(wire, log) as said:
            await said.until_line("one")
            await cut(said, box)
            await said.until_state(FeedState.FOLLOWING, count=2)
    await auntil(lambda: not started(mark), 5, "processes gone, link closed")


async def test_with_the_host_gone_for_good_nothing_is_left_there(
    box: Sshd, log: Path, mark: str
) -> None:
    append(log, "one\n")
    async with wired(box.ssh_config) as wire, following(wire, log) as said:
        await said.until_line("one")
        assert started(mark)
        os.kill(box.pid, 19)  # no new session can begin while the daemon is stopped
        try:
            box.kill_sessions()
            await auntil(lambda: not started(mark), 5, "processes gone after a crash of sshd")
        finally:
            os.kill(box.pid, 18)


async def test_a_command_is_ended_with_the_link(box: Sshd, log: Path, mark: str) -> None:
    append(log, "one\n")
    async with wired(box.ssh_config) as wire:
        async with following(wire, ("sh", "-c", f"echo begun; sleep 300; : {mark}")) as said:
            await said.until_line("begun")
        await auntil(lambda: "sh" not in started(mark).values(), 5)


async def test_entered_into_namespaces_of_its_own(box: Sshd, log: Path, mark: str) -> None:
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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
async def test_login_shells(tmp_path: Path, shell: str, log: Path) -> None:
    path = shutil.which(shell)
    assert path, f"{shell} is missing: apt-get install {shell}"
    forced = f'ForceCommand {path} -c "$SSH_ORIGINAL_COMMAND"'
    append(log, numbered(0, 10))
    with Sshd(tmp_path / shell, directives=[forced]) as server:
        async with wired(server.ssh_config) as wire, following(wire, log, last_lines=2) as said:
            await said.until_line("line 9")
            append(log, "more\n")
            await said.until_line("more")
            assert said.lines == ["line 8", "line 9", "more"]
            await cut(said, server)
            append(log, "back\n")
            await said.until_line("back")
            assert said.gaps[0].lost_bytes == 0


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
