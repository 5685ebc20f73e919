"""The sshd of the tests does what its module says, seen by asyncssh and by OpenSSH's client."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh
import pytest

from tests.rig import sshd as sshd_module
from tests.rig.process import runs
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil, until

pytestmark = pytest.mark.rig


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    with Sshd(tmp_path / "sshd", set_env={"RIG_WORD": "two words"}) as running:
        yield running


def ssh(server: Sshd, command: str) -> subprocess.CompletedProcess[str]:
    argv = ["ssh", "-F", str(server.ssh_config), "-o", "BatchMode=yes", server.alias, command]
    return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)


@asynccontextmanager
async def connected(server: Sshd) -> AsyncIterator[asyncssh.SSHClientConnection]:
    config, known_hosts = [str(server.ssh_config)], str(server.known_hosts)
    async with asyncssh.connect(server.alias, config=config, known_hosts=known_hosts) as connection:
        yield connection


async def refused(server: Sshd, error: type[Exception]) -> bool:
    with pytest.raises(error):
        async with connected(server):
            pass
    return True


def test_openssh_client_runs_a_command_with_the_environment_set(server: Sshd) -> None:
    done = ssh(server, 'echo "$RIG_WORD"; id -u; exit 7')
    assert (done.stdout, done.returncode) == ("two words\n0\n", 7)


async def test_asyncssh_runs_a_command_and_sees_the_fingerprint(server: Sshd) -> None:
    async with connected(server) as connection:
        done = await connection.run("echo here")
        key = connection.get_server_host_key()
    assert done.stdout == "here\n"
    assert key is not None
    assert key.get_fingerprint() == server.fingerprint


def test_sessions_run_no_start_up_file_but_their_own(server: Sshd) -> None:
    (server.home / ".bashrc").write_text("echo own start\n")
    assert ssh(server, "echo $HOME").stdout == f"own start\n{server.home}\n"


def test_fingerprint_is_what_ssh_keygen_prints(server: Sshd) -> None:
    argv = ["ssh-keygen", "-lf", str(server.folder / "host_key.pub")]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert shown.split()[1] == server.fingerprint


async def test_changed_and_unknown_host_keys_are_refused_until_trusted(server: Sshd) -> None:
    before, port = server.fingerprint, server.port
    server.new_host_key()
    assert server.fingerprint != before
    assert server.port == port
    changed = ssh(server, "true")
    assert changed.returncode == 255
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in changed.stderr
    assert await refused(server, asyncssh.HostKeyNotVerifiable)
    server.forget_host()
    assert "No ED25519 host key is known" in ssh(server, "true").stderr
    assert await refused(server, asyncssh.HostKeyNotVerifiable)
    server.trust_host()
    assert ssh(server, "true").returncode == 0


async def test_kill_sessions_cuts_a_tail_in_mid_stream(server: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("one\n")
    async with connected(server) as connection:
        tail = await connection.create_process(f"tail -n +1 -F {log}")
        assert await asyncio.wait_for(tail.stdout.readline(), 5) == "one\n"
        daemon = server.pid
        assert server.kill_sessions() == 1
        with pytest.raises(asyncssh.ConnectionLost):
            await asyncio.wait_for(tail.stdout.read(), 5)
        await asyncio.wait_for(connection.wait_closed(), 5)
        assert tail.exit_status is None
    assert server.pid == daemon
    assert ssh(server, "echo again").stdout == "again\n"


async def test_restart_cuts_sessions_and_listens_on_the_same_port(server: Sshd) -> None:
    port, daemon = server.port, server.pid
    async with connected(server) as connection:
        server.restart()
        await asyncio.wait_for(connection.wait_closed(), 5)
    assert (server.port, server.pid != daemon) == (port, True)
    assert ssh(server, "echo back").stdout == "back\n"


async def test_stopped_server_refuses_and_leaves_nothing_running(server: Sshd) -> None:
    left = int(ssh(server, "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $!").stdout)
    assert runs(left)
    server.stop()
    until(lambda: not runs(left), 2, "the command left behind has ended")
    assert await refused(server, ConnectionRefusedError)


async def test_max_sessions_is_the_number_of_channels(tmp_path: Path) -> None:
    with Sshd(tmp_path / "small", max_sessions=2) as server:
        async with connected(server) as connection:
            first = await connection.create_process("cat")
            second = await connection.create_process("cat")
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.create_process("cat")
            first.stdin.write_eof()
            second.stdin.write_eof()
            await auntil(lambda: second.exit_status == 0, 5)


def test_broken_directive_fails_with_what_sshd_says(tmp_path: Path) -> None:
    broken = Sshd(tmp_path / "broken", directives=["NoSuchThing yes"])
    with pytest.raises(RuntimeError) as caught:
        broken.start()
    assert "NoSuchThing" in str(caught.value)


def test_missing_sshd_fails_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sshd_module, "SSHD", tmp_path / "nowhere")
    with pytest.raises(RuntimeError) as caught:
        Sshd(tmp_path / "none")
    assert "apt-get install openssh-server" in str(caught.value)
    assert not list(tmp_path.iterdir())
