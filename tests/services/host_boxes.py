"""Hosts as people have them: any login shell, noisy start-up files, GNU's or BusyBox's tools.

A BusyBox host has BusyBox's applets alone in its PATH and BusyBox as its /bin/sh, in a mount
namespace that its sessions share; nothing of the machine is changed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.rig.ports import free_port
from tests.rig.process import Child, runs
from tests.rig.sshd import Sshd
from tests.rig.waiting import until

BUSYBOX = Path("/usr/bin/busybox")
SHELLS = ("bash", "dash", "zsh", "fish", "tcsh", "busybox")
TOOLS = ("gnu", "busybox")
NOISE = {
    ".bashrc": "echo out of bash; echo err >&2\n",
    ".zshenv": "echo out of zsh; echo err >&2\n",
    ".config/fish/config.fish": "echo out of fish; echo err >&2\n",
    ".tcshrc": "echo out of tcsh\n",
}
GPU_TOOL = """#!/bin/sh
printf "%s|" "$@"
echo
case "$*" in *-lms*) exec sleep 600 ;; esac
"""
"""A stand-in for nvidia-smi that says what it was asked."""

_HOLD = 'mount --bind {busybox} /bin/sh && echo up && trap "exit 0" TERM && sleep 1000 & wait $!'
_SESSION = """#!/bin/dash
exec nsenter --target {pid} --mount --wd=/ {shell} -c "$SSH_ORIGINAL_COMMAND"
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A host under test and what lies there.

    Attributes:
        here: a folder of the host as this machine sees it.
        there: the same as the host sees it.
        port: where a server of the host listens, with NCCL_PROTO=LL and a secret in its block.
    """

    here: Path
    there: str
    port: int
    python: bool


def shell_argv(shell: str) -> str:
    """A login shell as a command."""
    path = shutil.which(shell)
    assert path, f"{shell} is missing: apt-get install {shell}"
    return f"{path} sh" if shell == "busybox" else path


def applets(folder: Path) -> Path:
    """A folder of BusyBox's applets and nvidia-smi's stand-in."""
    folder.mkdir()
    listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    for applet in listed.stdout.split():
        (folder / applet).symlink_to(BUSYBOX)
    return folder


def gpu_tool(folder: Path) -> None:
    """Put the stand-in for nvidia-smi there."""
    folder.mkdir(exist_ok=True)
    (folder / "nvidia-smi").write_text(GPU_TOOL)
    (folder / "nvidia-smi").chmod(0o755)


@contextmanager
def shell_host(folder: Path, shell: str, tools: str) -> Iterator[Sshd]:
    """An sshd whose sessions have this login shell and these tools."""
    folder.mkdir()
    with ExitStack() as running:
        if tools == "busybox":
            path = applets(folder / "bin")
            gpu_tool(path)
            session = running.enter_context(busybox_session(folder, shell))
            force, search = f"ForceCommand {session}", str(path)
        else:
            gpu_tool(folder / "bin")
            force = f'ForceCommand {shell_argv(shell)} -c "$SSH_ORIGINAL_COMMAND"'
            search = f"{folder / 'bin'}:{os.environ['PATH']}"
        sshd = Sshd(folder / "sshd", directives=[force], set_env={"PATH": search})
        server = running.enter_context(sshd)
        for name, text in NOISE.items():
            file = server.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        yield server


@contextmanager
def busybox_session(folder: Path, shell: str) -> Iterator[Path]:
    """A program that runs a session's command by this login shell where /bin/sh is BusyBox's."""
    # dash is /bin/sh here, so what stands in its place would be met as a login shell too.
    copy = folder / "dash"
    shutil.copy("/bin/dash", copy)
    log = folder / "namespace.log"
    argv = ["unshare", "--mount", "--propagation", "private", str(copy), "-c"]
    holder = Child([*argv, _HOLD.format(busybox=BUSYBOX)], log)
    try:
        until(lambda: b"up" in log.read_bytes() or holder.returncode is not None, 30)
        assert holder.returncode is None, f"no namespaces on this machine: {log.read_text()}"
        session = folder / "session"
        login = str(copy) if shell == "dash" else shell_argv(shell)
        session.write_text(_SESSION.format(pid=holder.pid, shell=login))
        session.chmod(0o755)
        yield session
    finally:
        holder.kill()


@contextmanager
def small_server(enter: tuple[str, ...] = (), folder: str = "/tmp") -> Iterator[int]:
    """The port of BusyBox's httpd, which serves a folder; `enter` gets into where it runs."""
    port = free_port()
    argv = ["env", "-i", "NCCL_PROTO=LL", "SECRET_TOKEN=hidden", "PATH=/bin:/usr/bin"]
    argv += ["busybox", "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", folder]
    with subprocess.Popen([*enter, *argv], stdin=subprocess.DEVNULL) as running:
        listening = f"0100007F:{port:04X} 00000000:0000 0A"
        until(lambda: listening in Path("/proc/net/tcp").read_text(), 10)
        try:
            yield port
        finally:
            for pid in listeners(port) or [running.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            running.wait(10)
            until(lambda: not runs(running.pid), 5)


def listeners(port: int) -> list[int]:
    """Processes with this port in their arguments, as this machine numbers them."""
    word = f"127.0.0.1:{port}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if word in words and b"httpd" in words:
                    found.append(int(entry.name))
    return found
