"""What only the system's ssh does: masters, its own words, and ending with the console."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Host, Wire
from console.transport.openssh import OpensshWire
from console.transport.openssh_ask import Asker
from console.transport.openssh_words import Said, question, unopened
from console.transport.wire import CHANNELS, LinkState, Use
from tests.rig.http import ScriptedHttp
from tests.rig.ports import free_port
from tests.rig.process import runs
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil, until

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=30.0)


@asynccontextmanager
async def wired(config: Path, alias: str = "rig") -> AsyncIterator[OpensshWire]:
    wire = OpensshWire(Host("box", Wire.OPENSSH, alias, str(config)), SystemClock(), PACE, Nobody())
    try:
        yield wire
    finally:
        await wire.close()


def naming(text: str) -> list[int]:
    """Processes with this text in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and text.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def folders() -> list[Path]:
    """What this process keeps for its connections."""
    return list(Path(tempfile.gettempdir()).glob(f"spec-console-ssh-{os.getpid()}-*"))


def connections(sshd: Sshd) -> int:
    return sshd.log.read_text().count("Accepted publickey")


async def test_all_goes_over_one_connection_and_nothing_is_left(sshd: Sshd) -> None:
    async with wired(sshd.ssh_config) as wire:
        with ScriptedHttp() as server:
            tails = [await wire.open(["cat"]) for _ in range(CHANNELS[Use.TAIL])]
            reads = [wire.run(["echo", "in"], deadline_s=30) for _ in range(CHANNELS[Use.READ])]
            act = wire.run(["echo", "in"], deadline_s=5, use=Use.ACT)
            stream = await wire.connect("127.0.0.1", server.port)
            assert [done.out for done in await asyncio.gather(*reads, act)] == [b"in\n"] * 3
            assert connections(sshd) == 1
            assert len(tails) + len(reads) + 2 < 10  # with the one that keeps the link
            await stream.close()
    assert naming(str(sshd.ssh_config)) == []
    assert folders() == []


async def test_a_folder_only_its_user_can_enter(sshd: Sshd) -> None:
    async with wired(sshd.ssh_config) as wire:
        await wire.up()
        (folder,) = folders()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "master").is_socket()


async def test_a_master_of_the_users_own_is_shared_and_outlives_the_console(
    sshd: Sshd, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    socket = Path(tempfile.mkdtemp()) / "own"
    config.write_text(sshd.client_block("rig", f"ControlPath {socket}"))
    argv = ["ssh", "-F", str(config), "-M", "-N", "rig"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as own:  # noqa: ASYNC220
        try:
            await auntil(socket.exists)
            async with wired(config) as wire, asyncio.timeout(60):
                async for seen in wire.links():
                    if seen.state is LinkState.UP:
                        assert seen.detail[0].startswith("over your own ssh master")
                        break
                assert (await wire.run(["echo", "in"], deadline_s=30)).out == b"in\n"
                with ScriptedHttp() as server:
                    stream = await wire.connect("127.0.0.1", server.port)
                    await stream.close()
                with pytest.raises(WireError) as refused:
                    await wire.connect("127.0.0.1", 1)
                assert refused.value.kind is Failure.REFUSED
                assert "does not say why" in refused.value.why
            assert connections(sshd) == 1
            assert own.poll() is None
        finally:
            own.terminate()


async def test_a_master_that_only_the_configuration_asks_for_is_not_left_behind(
    sshd: Sshd, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    socket = tmp_path / "m"
    options = ("ControlMaster auto", f"ControlPath {socket}", "ControlPersist yes")
    config.write_text(sshd.client_block("rig", *options))
    async with wired(config) as wire:
        assert (await wire.run(["echo", "in"], deadline_s=30)).out == b"in\n"
        assert not socket.exists()
    assert naming(str(config)) == []


async def test_a_command_that_ends_with_255_is_no_lost_link(sshd: Sshd) -> None:
    async with wired(sshd.ssh_config) as wire:
        done = await wire.run(["sh", "-c", "echo out; exit 255"], deadline_s=30)
        assert (done.code, done.out) == (255, b"out\n")


async def test_sshd_without_a_free_session_is_named(tmp_path: Path) -> None:
    with Sshd(tmp_path / "few", max_sessions=2) as few:
        async with wired(few.ssh_config) as wire:
            held = await wire.open(["cat"])
            await held.write(b"there")
            assert await held.read() == b"there"
            with pytest.raises(WireError) as caught:
                await wire.run(["true"], deadline_s=30)
            assert caught.value.kind is Failure.NO_CHANNEL
            await held.close()


async def test_what_the_configuration_would_run_or_forward_is_not(
    sshd: Sshd, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    mark = tmp_path / "ran"
    options = (
        "RemoteCommand echo mine",
        "PermitLocalCommand yes",
        f"LocalCommand touch {mark}",
        "LocalForward 127.0.0.1:1 127.0.0.1:1",
        "RequestTTY force",
    )
    config.write_text(sshd.client_block("rig", *options))
    async with wired(config) as wire:
        assert (await wire.run(["echo", "in"], deadline_s=30)).out == b"in\n"
    assert not mark.exists()


async def test_each_of_many_refused_connections_learns_why(sshd: Sshd) -> None:
    async with wired(sshd.ssh_config) as wire:
        places = [("127.0.0.1", free_port())] * 3 + [("::1", free_port())]
        tries = [wire.connect(*place) for place in places]
        for error in await asyncio.gather(*tries, return_exceptions=True):
            assert isinstance(error, WireError)
            assert (error.kind, error.why) == (Failure.REFUSED, "connection refused")


@pytest.fixture
def precious(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the folder that the console runs in."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    file = here / "precious"
    file.write_text("mine")
    return file


async def test_without_ssh_on_this_machine_it_is_said_and_nothing_removed(
    sshd: Sshd, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    async with wired(sshd.ssh_config) as wire:
        with pytest.raises(WireError) as caught:
            await wire.run(["true"], deadline_s=30)
        assert (caught.value.kind, caught.value.why) == (
            Failure.CONFIG,
            "no ssh on this machine",
        )
    assert await asyncio.to_thread(precious.read_text) == "mine"


async def test_let_go_at_any_moment_of_connecting_nothing_is_removed_or_left(
    sshd: Sshd, precious: Path
) -> None:
    for step in range(12):
        async with wired(sshd.ssh_config) as wire:
            connecting = asyncio.create_task(wire.up())
            # The moment is the point here: before, while and after each step of getting in.
            await asyncio.sleep(step * 0.02)
        await asyncio.gather(connecting, return_exceptions=True)
        assert await asyncio.to_thread(precious.read_text) == "mine"
    assert folders() == []
    assert naming(str(sshd.ssh_config)) == []


KILLED = """
import asyncio, sys
from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Host, Wire
from console.transport.wires import wire_to

async def main():
    host = Host("box", Wire(sys.argv[1]), "rig", sys.argv[2])
    wire = wire_to(host, SystemClock(), Pace(), Nobody())
    stream = await wire.open(["sh", "-c", "echo $$; exec cat"])
    print((await stream.read()).decode(), end="", flush=True)
    running = asyncio.create_task(wire.run(["sleep", "300"], deadline_s=300))
    await wire.connect("127.0.0.1", int(sys.argv[3]))
    print("connected", flush=True)
    await running

asyncio.run(main())
"""


def test_killed_the_console_leaves_nothing_running_here_or_there(sshd: Sshd, way: Wire) -> None:
    with ScriptedHttp() as server:
        argv = [sys.executable, "-c", KILLED, way, str(sshd.ssh_config), str(server.port)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as console:
            assert console.stdout is not None
            remote = int(console.stdout.readline())
            assert console.stdout.readline() == "connected\n"
            assert runs(remote)
            console.send_signal(signal.SIGKILL)
        until(lambda: not runs(remote), 30, "the command on the host is gone")
        until(lambda: not naming(str(sshd.ssh_config)), 30, "every ssh here is gone")


def said(*lines: str) -> Said:
    heard = Said()
    for line in lines:
        heard.take(line)
    return heard


@pytest.mark.parametrize(
    ("line", "kind", "why"),
    [
        (
            "ssh: Could not resolve hostname x: Name or service not known",
            Failure.NO_HOST,
            "Could not resolve hostname x: Name or service not known",
        ),
        (
            "ssh: connect to host x port 22: Connection refused",
            Failure.REFUSED,
            "connection refused",
        ),
        (
            "ssh: connect to host x port 22: Connection timed out",
            Failure.TIMEOUT,
            "connect to host x port 22: Connection timed out",
        ),
        (
            "ssh: connect to host x port 22: No route to host",
            Failure.NO_HOST,
            "connect to host x port 22: No route to host",
        ),
        ("t@x: Permission denied (publickey).", Failure.AUTH, "gpu accepted no key or password"),
        ("/c: line 1: Bad configuration option: x", Failure.CONFIG, None),
        ("/c line 3: keyword port extra arguments at end of line", Failure.CONFIG, None),
        ("Bad owner or permissions on /c", Failure.CONFIG, None),
        ("kex_exchange_identification: read: Connection reset by peer", Failure.CLOSED, None),
        ("words of a later version", Failure.CLOSED, "words of a later version"),
    ],
)
def test_its_words_have_a_meaning(line: str, kind: Failure, why: str | None) -> None:
    error = said("OpenSSH_9.2p1", "debug1: Connection refused", line).meaning("gpu")
    assert (error.kind, error.why) == (kind, why or line)


def test_a_changed_key_whose_line_cannot_be_read_names_the_place() -> None:
    error = said(
        "debug1: Server host key: ssh-ed25519 SHA256:new",
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
        "Offending ED25519 key in /no/such/file:7",
        "Host key verification failed.",
    ).meaning("gpu")
    assert error.kind is Failure.KEY_CHANGED
    assert error.detail[:2] == (
        "known    line 7 of /no/such/file",
        "offered  ssh-ed25519 SHA256:new",
    )


def test_its_questions_become_ours() -> None:
    heard = said("debug1: Server host key: ssh-ed25519 SHA256:new")
    trust = question(
        "box", "The authenticity of host 'gpu (10.0.0.1)' can't be …\n(yes/no)? ", heard
    )
    assert (trust.choices, trust.secret) == (("no", "yes"), False)
    assert trust.text.startswith("no host key of gpu is known.")
    assert trust.detail[0] == "offered  ssh-ed25519 SHA256:new"
    key = question("box", "Enter passphrase for key '/home/t/.ssh/id': ", heard)
    assert (key.text, key.secret) == ("Passphrase for /home/t/.ssh/id", True)
    assert question("box", "", heard).text == "ssh asks for an answer"
    touch = question("box", "Confirm user presence for key ED25519-SK SHA256:x", heard, "none")
    assert (touch.choices, touch.secret) == (("ok",), False)
    share = question("box", "Allow shared connection to gpu? ", heard, "confirm")
    assert (share.text, share.choices) == ("Allow shared connection to gpu?", ("no", "yes"))


async def test_what_a_killed_console_left_is_removed(sshd: Sshd) -> None:
    with subprocess.Popen(["true"]) as gone:  # noqa: ASYNC220
        gone.wait()
    left = Path(tempfile.mkdtemp(prefix=f"spec-console-ssh-{gone.pid}-"))
    async with wired(sshd.ssh_config) as wire:
        await wire.up()
    assert not await asyncio.to_thread(left.exists)
    assert folders() == []


async def test_a_laxer_host_key_check_is_not_taken_over_and_that_is_said(
    sshd: Sshd, tmp_path: Path
) -> None:
    config, included = tmp_path / "config", tmp_path / "included"
    included.write_text("Host *\n    StrictHostKeyChecking=no\n")
    config.write_text(f"Include {included}\n{sshd.client_block('rig')}")
    async with wired(config) as wire, asyncio.timeout(60):
        async for seen in wire.links():
            if seen.state is LinkState.UP:
                assert seen.detail == (f"StrictHostKeyChecking in {included}: not used here",)
                break
    sshd.forget_host()
    async with wired(config) as wire:
        with pytest.raises(WireError) as caught:
            await wire.run(["true"], deadline_s=30)
        assert caught.value.kind is Failure.KEY_UNKNOWN
    assert sshd.known_hosts.read_text() == ""


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("connect failed: Connection refused", Failure.REFUSED),
        ("connect failed: Name or service not known", Failure.NO_HOST),
        ("connect failed: Connection timed out", Failure.TIMEOUT),
        ("connect failed: No route to host", Failure.NO_HOST),
        ("administratively prohibited: open failed", Failure.NO_CHANNEL),
        ("resource shortage", Failure.NO_CHANNEL),
    ],
)
def test_why_a_forward_was_not_opened(reason: str, kind: Failure) -> None:
    assert unopened(reason, "box", "x:1").kind is kind


async def test_one_who_was_never_asked_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is closed before it was opened once removed the folder the console was started in."""
    (tmp_path / "mine").write_text("stays")
    monkeypatch.chdir(tmp_path)

    async def never(_: object) -> None:
        raise AssertionError("nobody asks")

    asker = Asker("box", "box", Said(), {}, never)
    asker.close()
    asker.close()
    assert (tmp_path / "mine").read_text() == "stays"
