"""What people have in their ssh configuration works, whichever way SSH is spoken."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Ask, Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport import ssh_unused
from console.transport.ssh_options import place
from console.transport.wire import LinkState, Wire
from console.transport.wires import wire_to
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.transport.person import Person

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=30.0)


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
    return (await wire.run(["echo", "in"], deadline_s=30)).out == b"in\n"


def keygen(*arguments: str | Path) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True
    )


async def test_include_with_a_pattern_and_host_with_an_exception(
    sshd: Sshd, tmp_path: Path, way: Way
) -> None:
    config, folder = tmp_path / "config", tmp_path / "conf.d"
    folder.mkdir()
    (folder / "10-rig").write_text(sshd.client_block("r* !right").replace(" root\n", " nobody\n"))
    # What is said first holds, so the user here must win over the included one's.
    config.write_text(f"Host rig\n    User root\nInclude {folder}/*\n")
    config.write_text(f"Host rig\n    User root\nHost *\nInclude {folder}/*\n")
    async with wired(way, config) as wire:
        assert await gets_in(wire)
    async with wired(way, config, "right") as wire:
        with pytest.raises(WireError) as caught:
            await gets_in(wire)
        assert caught.value.kind is Failure.NO_LINK


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ("host 127.0.0.1", True),
        ("host rig", False),  # by then the name is the one that HostName gave
        ("originalhost rig", True),
        ("originalhost rig user nobody", False),
        ('exec "test -d /"', True),
        ("exec false", False),
        ("!originalhost other", True),
        ("all", True),
    ],
)
async def test_match(sshd: Sshd, tmp_path: Path, way: Way, match: str, holds: bool) -> None:
    config = tmp_path / "config"
    block = sshd.client_block("rig").replace("    User root\n", "")
    if match.startswith("!"):
        match += " host *"
    config.write_text(f"{block}Match {match}\n    User root\nHost *\n    User nobody\n")
    async with wired(way, config) as wire:
        if holds:
            assert await gets_in(wire)
        else:
            with pytest.raises(WireError) as caught:
                await gets_in(wire)
            assert caught.value.kind is Failure.AUTH


@pytest.mark.parametrize("compressed", [True, False])
async def test_compression_makes_less_of_the_same_text(
    sshd: Sshd, tmp_path: Path, way: Way, compressed: bool
) -> None:
    config, size = tmp_path / "config", 300_000
    with TcpProxy(sshd.port) as proxy:
        block = sshd.client_block("rig", f"Compression {'yes' if compressed else 'no'}")
        config.write_text(block.replace(f"Port {sshd.port}", f"Port {proxy.port}"))
        known = sshd.known_hosts.read_text().replace(str(sshd.port), str(proxy.port))
        sshd.known_hosts.write_text(known)
        async with wired(way, config) as wire:
            argv = ["sh", "-c", f"head -c {size} /dev/zero"]
            assert (await wire.run(argv, deadline_s=10)).out == bytes(size)
        assert (proxy.carried_bytes < size / 5) is compressed


async def test_tokens_in_the_name_of_a_file_of_known_hosts(
    sshd: Sshd, tmp_path: Path, way: Way
) -> None:
    config = tmp_path / "config"
    (tmp_path / "rig-127.0.0.1").write_text(sshd.known_hosts.read_text())
    block = sshd.client_block("rig").replace(str(sshd.known_hosts), f"{tmp_path}/%n-%h")
    config.write_text(block)
    async with wired(way, config) as wire:
        assert await gets_in(wire)


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


@pytest.mark.parametrize("named", ["{socket}", "$RIG_AGENT", "SSH_AUTH_SOCK", "none"])
async def test_the_agent_that_is_named(
    sshd: Sshd, tmp_path: Path, way: Way, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    with agent(tmp_path, sshd.client_key) as socket:
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        monkeypatch.setenv("RIG_AGENT", str(socket))
        if named in ("SSH_AUTH_SOCK", "none"):
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        block = sshd.client_block("rig", f"IdentityAgent {named.format(socket=socket)}")
        block = block.replace(f"    IdentityFile {sshd.client_key}\n", "")
        config.write_text(block.replace("    IdentitiesOnly yes\n", ""))
        async with wired(way, config) as wire:
            if named == "none":
                with pytest.raises(WireError) as caught:
                    await gets_in(wire)
                assert caught.value.kind is Failure.AUTH
            else:
                assert await gets_in(wire)


@pytest.mark.parametrize("beside", [True, False])
async def test_certificates_of_a_user_and_of_a_host(tmp_path: Path, way: Way, beside: bool) -> None:
    """The user's lies beside its key, or where CertificateFile says."""
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
    if not beside:
        (folder / "client_key-cert.pub").rename(tmp_path / "mine.pub")
        option = f"CertificateFile {tmp_path / 'mine.pub'}"
        server.ssh_config.write_text(server.client_block("rig", option))
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


async def test_a_locked_key_in_the_form_of_today(sshd: Sshd, way: Way) -> None:
    keygen("-p", "-P", "", "-N", "open sesame", "-f", sshd.client_key)
    assert "BEGIN OPENSSH PRIVATE KEY" in sshd.client_key.read_text()
    person = Person("open sesame")
    async with wired(way, sshd.ssh_config, ask=person) as wire:
        assert await gets_in(wire)
    assert [question.text for question in person.asked] == [f"Passphrase for {sshd.client_key}"]


@pytest.mark.parametrize(
    "text",
    ["Host rig\n    Port not-a-number\n", 'Host rig\nMatch exec "test a = a" nonsense x\n'],
)
async def test_a_wrong_configuration_is_said(tmp_path: Path, way: Way, text: str) -> None:
    config = tmp_path / "config"
    config.write_text(text)
    async with wired(way, config) as wire:
        with pytest.raises(WireError) as caught:
            await gets_in(wire)
        assert caught.value.kind is Failure.CONFIG
        if way is Way.ASYNCSSH:
            assert 'transport = "openssh"' in caught.value.detail[0]


async def test_without_a_named_file_the_persons_and_the_machines_are_read(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncssh alone would read the person's only; ssh finds both by itself."""
    own, machine = tmp_path / ".ssh" / "config", tmp_path / "ssh_config"
    own.parent.mkdir()
    own.write_text("Host rig\n    User root\n")
    machine.write_text(sshd.client_block("rig").replace(" root\n", " nobody\n"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(ssh_unused, "MACHINE_CONFIG", str(machine))
    wire = wire_to(Host("box", Way.ASYNCSSH, "rig"), SystemClock(), PACE, Nobody())
    try:
        assert await gets_in(wire)
    finally:
        await wire.close()


IN_VAIN = ("ControlMaster", "KnownHostsCommand", "StrictHostKeyChecking", "RevokedHostKeys")
SAID = {
    Way.ASYNCSSH: (
        f"{', '.join(IN_VAIN)} in {{config}}: not used here",
        "Match exec in {config}: run with its % as it stands",
    ),
    Way.OPENSSH: ("StrictHostKeyChecking in {config}: not used here",),
}


async def test_what_is_asked_for_in_vain_is_said_once_and_of_this_host_only(
    sshd: Sshd, tmp_path: Path, way: Way
) -> None:
    config = tmp_path / "config"
    values = ("auto", "/bin/echo", "no", "/dev/null")
    options = [f"{name} {value}" for name, value in zip(IN_VAIN, values, strict=True)]
    block = sshd.client_block("rig", *options).replace("    StrictHostKeyChecking yes\n", "")
    other = "Host other\n    VerifyHostKeyDNS yes\n"
    config.write_text(f'{block}{other}Match exec "echo %h | grep -q nowhere"\n    User nobody\n')
    async with wired(way, config) as wire, asyncio.timeout(60):
        ups = 0
        async for seen in wire.links():
            if seen.state is LinkState.UP:
                ups += 1
                said = tuple(line.format(config=config) for line in SAID[way])
                assert seen.detail == (said if ups == 1 else ())
                if ups == 2:
                    break
                sshd.kill_sessions()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("gpu", ("", "gpu", None)),
        ("me@gpu", ("me", "gpu", None)),
        ("gpu:2222", ("", "gpu", 2222)),
        ("ssh://me@gpu:2222/", ("me", "gpu", 2222)),
        ("me@[::1]:2222", ("me", "::1", 2222)),
        ("::1", ("", "::1", None)),
        ("corp@me@gpu", ("corp@me", "gpu", None)),
    ],
)
def test_a_place_is_user_name_and_port(text: str, parts: tuple[str, str, int | None]) -> None:
    assert place(text) == parts


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
            done = await wire.run(argv, stdin=b"in", deadline_s=30)
            assert (done.code, done.out) == (7, b"it's|a\\b!||$HOME ~ *|in")
            assert done.err == b"err\n"
            plain = await wire.run(["echo", "in"], deadline_s=30)
            assert (plain.out, plain.err) == (b"in\n", b"")
            stream = await wire.open(["cat"])
            await stream.write(b"echo")
            assert await stream.read() == b"echo"
            await stream.close()
