"""A real OpenSSH server on loopback with its own configuration, keys and client files.

Everything lives in one folder; the machine's own ssh files are neither read nor written.
It accepts root by one key that it makes itself. Needs to run as root; sessions get an empty HOME
of their own, so that no start-up file of the person's runs in a shell that a test may kill.
Whatever a session left running ends with the server, found by a variable only this server sets.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.rig.ports import free_port
from tests.rig.process import Child, parent_and_name, runs
from tests.rig.waiting import until

SSHD = Path("/usr/sbin/sshd")
PRIVILEGE_SEPARATION_FOLDER = Path("/run/sshd")
MARK = "RIG_SSHD"

SERVER_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {host_key}
PidFile {folder}/sshd.pid
AuthorizedKeysFile {authorized_keys}
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitUserRC no
PrintMotd no
PrintLastLog no
MaxStartups 100
MaxSessions {max_sessions}
LogLevel VERBOSE
Subsystem sftp internal-sftp
SetEnv {set_env}
"""

CLIENT_BLOCK = """\
Host {alias}
    HostName 127.0.0.1
    Port {port}
    User root
    IdentityFile {client_key}
    IdentitiesOnly yes
    UserKnownHostsFile {known_hosts}
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""


class Sshd:
    """One server; `start` it or use it as a context manager. Its port stays for its life.

    `directives` are further lines of sshd_config; `set_env` is what every session gets in its
    environment (sshd honours one SetEnv line only, so it is not to be put in `directives`).
    A session starts in root's folder, as passwd has it, with HOME set to `home`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        alias: str = "rig",
        max_sessions: int = 10,
        directives: Sequence[str] = (),
        set_env: Mapping[str, str] | None = None,
    ) -> None:
        if not SSHD.exists() or shutil.which("ssh-keygen") is None:
            raise RuntimeError(f"{SSHD} or ssh-keygen is missing: apt-get install openssh-server")
        PRIVILEGE_SEPARATION_FOLDER.mkdir(mode=0o755, exist_ok=True)
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.alias = alias
        self.port = free_port()
        self.log = folder / "sshd.log"
        self.client_key = folder / "client_key"
        self.known_hosts = folder / "known_hosts"
        self.ssh_config = folder / "ssh_config"
        self._config = folder / "sshd_config"
        self._host_key = folder / "host_key"
        self._token = uuid.uuid4().hex
        self._child: Child | None = None
        _make_key(self.client_key)
        _make_key(self._host_key)
        shutil.copyfile(self.client_key.with_suffix(".pub"), folder / "authorized_keys")
        variables = {MARK: self._token, "HOME": str(self.home), **(set_env or {})}
        config = SERVER_CONFIG.format(
            port=self.port,
            host_key=self._host_key,
            folder=folder,
            authorized_keys=folder / "authorized_keys",
            max_sessions=max_sessions,
            set_env=" ".join(f'"{name}={value}"' for name, value in variables.items()),
        )
        self._config.write_text(config + "".join(f"{line}\n" for line in directives))
        self.ssh_config.write_text(self.client_block(alias))
        self.trust_host()

    def __enter__(self) -> Sshd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The listening daemon's process id; RuntimeError when it is not running."""
        if self._child is None:
            raise RuntimeError("sshd is not running")
        return self._child.pid

    @property
    def fingerprint(self) -> str:
        """The host key's fingerprint as OpenSSH prints it: SHA256:… without padding."""
        blob = base64.b64decode(self._public_host_key().split()[1])
        digest = base64.b64encode(hashlib.sha256(blob).digest()).decode()
        return "SHA256:" + digest.rstrip("=")

    def client_block(self, alias: str, *options: str) -> str:
        """An ssh_config block that reaches this server as `alias`; `options` are added lines."""
        block = CLIENT_BLOCK.format(
            alias=alias, port=self.port, client_key=self.client_key, known_hosts=self.known_hosts
        )
        return block + "".join(f"    {option}\n" for option in options)

    def start(self) -> None:
        """Run the server and return once it listens; RuntimeError with its log if it ends."""
        if self._child is not None:
            raise RuntimeError("sshd is already running")
        seen = self.log.stat().st_size if self.log.exists() else 0
        child = Child([str(SSHD), "-D", "-e", "-f", str(self._config)], self.log)
        self._child = child

        def listening_or_over() -> bool:
            return b"Server listening on" in self._log_from(seen) or child.returncode is not None

        until(listening_or_over, 5, "sshd listening")
        if child.returncode is not None:
            self._child = None
            raise RuntimeError(f"sshd ended: {self._log_from(seen).decode(errors='replace')}")

    def stop(self) -> None:
        """End the daemon, its sessions and whatever they left running. Safe to repeat."""
        if self._child is not None:
            self.kill_sessions()
            self._child.stop()
            self._child = None
        for pid in _pids_with_variable(f"{MARK}={self._token}"):
            _kill(pid)

    def restart(self) -> None:
        """Cut every session, end the daemon and start it again on the same port."""
        if self._child is not None:
            self.kill_sessions()
            self._child.stop()
            self._child = None
        self.start()

    def kill_sessions(self) -> int:
        """SIGKILL the sshd processes of every connection, as a crash would; how many it were.

        Remote commands lose their pipes but are not signalled. The daemon keeps listening.
        """
        pids = _sshd_descendants(self.pid)
        for pid in pids:
            _kill(pid)
        until(lambda: not any(map(runs, pids)), 5, "sessions gone")
        return len(pids)

    def new_host_key(self) -> None:
        """Change the host key and restart; known_hosts keeps the old one."""
        self._host_key.unlink()
        self._host_key.with_suffix(".pub").unlink()
        _make_key(self._host_key)
        self.restart()

    def trust_host(self) -> None:
        """Write the present host key to known_hosts as its only entry."""
        kind, blob = self._public_host_key().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {blob}\n")

    def forget_host(self) -> None:
        """Empty known_hosts: the server's key is then unknown."""
        self.known_hosts.write_text("")

    def _public_host_key(self) -> str:
        return self._host_key.with_suffix(".pub").read_text()

    def _log_from(self, offset: int) -> bytes:
        return self.log.read_bytes()[offset:]


def _make_key(path: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rig", "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _sshd_descendants(daemon: int) -> list[int]:
    """Processes called sshd… below `daemon`: one a connection, two where the user is not root."""
    table = {pid: known for pid in _pids() if (known := parent_and_name(pid)) is not None}
    family, found = {daemon}, []
    grown = True
    while grown:
        grown = False
        for pid, (parent, name) in table.items():
            if parent in family and pid not in family and name.startswith("sshd"):
                family.add(pid)
                found.append(pid)
                grown = True
    return found


def _pids_with_variable(pair: str) -> list[int]:
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            if pair.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found
