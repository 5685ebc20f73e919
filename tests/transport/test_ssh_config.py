"""What people have in their ssh configuration works, whichever way SSH is spoken."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Ask, Nobody, Question
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=5.0)


@asynccontextmanager
async def wired(
    way: Way, config: Path, alias: str = "rig", ask: Ask | None = None
) -> AsyncIterator[Wire]:
    wire = wire_to(Host("box", way, alias, str(config)), SystemClock(), PACE, ask or Nobody())
    try:
        yield wire
    finally:
        await wire.close()


async def gets_in(wire: Wire) -> bool:
    return (await wire.run(["echo", "in"], deadline_s=8)).out == b"in\n"


def keygen(*arguments: str | Path) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True
    )


async def test_include_and_match(sshd: Sshd, tmp_path: Path, way: Way) -> None:
    config, included = tmp_path / "config", tmp_path / "included"
    block = sshd.client_block("rig").replace("    User root\n", "")
    included.write_text(block)
    config.write_text(f"Include {included}\nMatch host 127.0.0.1\n    User root\nHost *\n")
    config.write_text(config.read_text() + "    Compression yes\n")
    async with wired(way, config) as wire:
        assert await gets_in(wire)


async def test_a_proxy_command_carries_the_connection(sshd: Sshd, tmp_path: Path, way: Way) -> None:
    config, used, proxy = tmp_path / "config", tmp_path / "used", tmp_path / "proxy"
    proxy.write_text(f'#!/bin/sh\ntouch {used}\nexec busybox nc "$1" "$2"\n')
    proxy.chmod(0o755)
    config.write_text(sshd.client_block("rig", f"ProxyCommand {proxy} %h %p"))
    async with wired(way, config) as wire:
        assert await gets_in(wire)
    assert used.exists()


@contextmanager
def agent(folder: Path, key: Path) -> Iterator[Path]:
    """A socket of an agent that holds the key; its file is moved away meanwhile."""
    socket = folder / "agent"
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        try:
            subprocess.run(
                ["ssh-add", "-q", key], check=True, env={"SSH_AUTH_SOCK": str(socket)},
                capture_output=True,
            )  # fmt: skip
            yield socket
        finally:
            running.terminate()


async def test_an_agent_of_its_own(sshd: Sshd, tmp_path: Path, way: Way) -> None:
    config = tmp_path / "config"
    with agent(tmp_path, sshd.client_key) as socket:
        block = sshd.client_block("rig", f"IdentityAgent {socket}")
        block = block.replace(f"    IdentityFile {sshd.client_key}\n", "")
        config.write_text(block.replace("    IdentitiesOnly yes\n", ""))
        async with wired(way, config) as wire:
            assert await gets_in(wire)


async def test_certificates_of_a_user_and_of_a_host(tmp_path: Path, way: Way) -> None:
    for name in ("user_ca", "host_ca"):
        keygen("-t", "ed25519", "-N", "", "-f", tmp_path / name)
    folder = tmp_path / "sshd"
    trusts = [
        f"TrustedUserCAKeys {tmp_path}/user_ca.pub",
        f"HostCertificate {folder}/host_key-cert.pub",
    ]
    server = Sshd(folder, directives=trusts)
    host_key, client_key = folder / "host_key.pub", folder / "client_key.pub"
    keygen("-s", tmp_path / "host_ca", "-I", "rig", "-h", "-n", "127.0.0.1", host_key)
    keygen("-s", tmp_path / "user_ca", "-I", "me", "-n", "root", client_key)
    (folder / "authorized_keys").write_text("")
    authority = (tmp_path / "host_ca.pub").read_text()
    server.known_hosts.write_text(f"@cert-authority [127.0.0.1]:{server.port} {authority}")
    with server:
        async with wired(way, server.ssh_config) as wire:
            assert await gets_in(wire)
        server.forget_host()
        async with wired(way, server.ssh_config) as wire:
            with pytest.raises(WireError) as caught:
                await gets_in(wire)
            assert caught.value.kind is Failure.KEY_UNKNOWN


class Person:
    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return self._answer


async def test_a_locked_key_in_the_form_of_today(sshd: Sshd, way: Way) -> None:
    keygen("-p", "-P", "", "-N", "open sesame", "-f", sshd.client_key)
    assert "BEGIN OPENSSH PRIVATE KEY" in sshd.client_key.read_text()
    person = Person("open sesame")
    async with wired(way, sshd.ssh_config, ask=person) as wire:
        assert await gets_in(wire)
    assert [question.text for question in person.asked] == [f"Passphrase for {sshd.client_key}"]


async def test_a_wrong_configuration_is_said(tmp_path: Path, way: Way) -> None:
    config = tmp_path / "config"
    config.write_text("Host rig\n    Port not-a-number\n")
    async with wired(way, config) as wire:
        with pytest.raises(WireError) as caught:
            await gets_in(wire)
        assert caught.value.kind is Failure.CONFIG


NOISE = {
    ".bashrc": "echo out of bash; echo err >&2\n",
    ".zshenv": "echo out of zsh; echo err >&2\n",
    ".config/fish/config.fish": "echo out of fish; echo err >&2\n",
    ".tcshrc": "echo out of tcsh\n",
}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "dash", "busybox"])
async def test_login_shells_with_noisy_start_up_files(tmp_path: Path, way: Way, shell: str) -> None:
    path = shutil.which(shell)
    assert path, f"{shell} is missing: apt-get install {shell}"
    path += " sh" if shell == "busybox" else ""
    banner = tmp_path / "banner"
    banner.write_text("You are watched.\n")
    forced = [f'ForceCommand {path} -c "$SSH_ORIGINAL_COMMAND"', f"Banner {banner}"]
    with Sshd(tmp_path / shell, directives=forced) as server:
        for name, text in NOISE.items():
            file = server.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        async with wired(way, server.ssh_config) as wire:
            script = 'printf "%s|" "$@"; cat; echo err >&2; exit 7'
            argv = ["/bin/sh", "-c", script, "sh", "it's", "a\\b!", "", "$HOME ~ *"]
            done = await wire.run(argv, stdin=b"in", deadline_s=8)
            assert (done.code, done.out) == (7, b"it's|a\\b!||$HOME ~ *|in")
            assert done.err == b"err\n"
            plain = await wire.run(["echo", "in"], deadline_s=8)
            assert (plain.out, plain.err) == (b"in\n", b"")
            stream = await wire.open(["cat"])
            await stream.write(b"echo")
            assert await stream.read() == b"echo"
            await stream.close()
