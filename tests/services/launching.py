"""Commands of acts on a real host of this machine, and small servers that they start and end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from console.model.clock import Pace, SystemClock
from console.model.mask import Masks
from console.services.launcher import Launcher
from console.services.process import HostCommands
from console.transport.wire import Wire

PACE = replace(Pace(), act_look_s=0.05, stop_grace_s=0.4, kill_grace_s=0.4, act_link_s=5.0)

LISTEN = """
import os, signal, socket, sys
port, ways = int(sys.argv[1]), sys.argv[2:]
if "stubborn" in ways:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind(("127.0.0.1", port))
listening.listen()
if "orphans" in ways or "left" in ways:
    for _ in range(2):
        if os.fork() == 0:
            if "left" in ways:
                listening.close()
            signal.pause()
            os._exit(0)
print("out", flush=True)
print("err", file=sys.stderr, flush=True)
print("out again", flush=True)
signal.pause()
"""
"""A server that listens and does nothing: `stubborn` ignores TERM, `orphans` has two children that
hold its port, `left` two that do not."""


class Box:
    """A host reached over a wire, its private folder below `home`."""

    def __init__(self, wire: Wire, home: Path, folder: Path) -> None:
        self.masks = Masks()
        self.waits: list[str] = []
        self.commands = HostCommands(wire, SystemClock(), PACE, self.masks, self.waits.append)
        self.launcher = Launcher(self.commands)
        self.home = home
        self.private = home / ".spec-console"
        self.program = folder / "listen.py"
        self.program.write_text(LISTEN)

    def argv(self, port: int, *ways: str) -> tuple[str, ...]:
        """The command line of a small server."""
        return (sys.executable, str(self.program), str(port), *ways)

    def running(self) -> list[int]:
        """Every process of such a server."""
        return with_word(str(self.program))


def with_word(word: str) -> list[int]:
    """Processes, zombies left out, one of whose words begins with this: a test's own folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if any(one.startswith(word.encode()) for one in words):
                    found.append(int(entry.name))
    return sorted(found)


def parent(pid: int) -> int | None:
    """The process that began this one; None for one that is gone."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return None
    return int(after_name.split()[1])


@contextlib.contextmanager
def ended(word: str) -> Iterator[None]:
    """Whatever with this word is left afterwards ends: it is in no group of the test's."""
    try:
        yield
    finally:
        for pid in with_word(word):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def environ(pid: int) -> dict[str, str]:
    """The block a process was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(pair.decode().partition("=")[::2] for pair in pairs if pair)


def cmdline(pid: int) -> list[str]:
    """Its command line."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]


def in_background(
    argv: tuple[str, ...],
    log: Path,
    more: Mapping[str, str] | None = None,
    *,
    own_session: bool = False,
) -> subprocess.Popen[bytes]:
    """A process that a person started by hand."""
    with log.open("ab") as out:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **(more or {})},
            start_new_session=own_session,
        )


def shifted_clock(folder: Path) -> tuple[dict[str, str], Path]:
    """What a session on a host gets whose clock is off: its variables, and the file that says by
    how many hours."""
    own = folder / "clock"
    own.mkdir()
    hours, date = own / "hours", own / "date"
    hours.write_text("0")
    date.write_text(
        "#!/bin/sh\n"
        'case "$*" in -d*|-r*) exec /bin/date "$@";; esac\n'
        f'exec /bin/date -d "$(cat {hours}) hours" "$@"\n'
    )
    date.chmod(0o755)
    return {"PATH": f"{own}:/usr/local/bin:/usr/bin:/bin"}, hours
