"""Holds the lab together: what ends when, and that nothing stays behind.

The keeper forks the lab and waits for the console's pipe to close. Both adopt orphans (Linux'
child subreaper), so whichever of the two is left finds every descendant and kills it, then
removes the directory. Only both killed in the same instant leave anything.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 1.5
_SWEEP_S = 5.0


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans; OSError where that is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot adopt orphans")


def _parents() -> dict[int, tuple[int, bytes]]:
    """Parent and state of every process that can be seen."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(entry.name)] = (int(fields[1]), fields[0])
    return found


def descendants(root: int) -> list[int]:
    """All processes below `root`, zombies included, children before grandchildren."""
    parents = _parents()
    below, generation = [], {root}
    while generation:
        generation = {pid for pid, (parent, _) in parents.items() if parent in generation}
        below.extend(sorted(generation))
    return below


def reap_orphans(known: Iterable[int]) -> None:
    """Collect dead children that nobody else waits for."""
    me, spared = os.getpid(), set(known)
    for pid, (parent, state) in _parents().items():
        if parent == me and state == b"Z" and pid not in spared:
            _collect(pid)


def _collect(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def sweep() -> None:
    """Kill and collect every descendant of this process until there is none, or 5 s have gone."""
    me = os.getpid()
    limit = time.monotonic() + _SWEEP_S
    while (below := descendants(me)) and time.monotonic() < limit:
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            _collect(pid)
        time.sleep(0.005)


def remove(directory: Path) -> None:
    """Remove the lab's directory and all in it."""
    shutil.rmtree(directory, ignore_errors=True)


def keep(directory: Path, lab: Callable[[int], None]) -> int:
    """Run `lab` in a child and wait for the first of: its end, stdin's end, a signal to stop.

    `lab` gets the end of a pipe that closes when the keeper is gone. Returns the exit code.
    """
    adopt_orphans()
    asked_r, asked_w = os.pipe()
    os.set_blocking(asked_w, False)
    signal.set_wakeup_fd(asked_w)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    leash_r, leash_w = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(leash_w)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _become(lab, leash_r)
    os.close(leash_r)
    status = _wait(child, asked_r)
    if status is None:
        os.close(leash_w)
        status = _end_of(child)
    sweep()
    remove(directory)
    return status


def _become(lab: Callable[[int], None], leash: int) -> None:
    try:
        lab(leash)
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _wait(child: int, asked: int) -> int | None:
    """The child's exit code, or None when the lab is to stop."""
    while True:
        ready, _, _ = select.select([0, asked], [], [])
        if asked in ready:
            numbers = os.read(asked, 64)
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if set(numbers) - {signal.SIGCHLD}:
                return None
            reap_orphans((child,))
        if 0 in ready and not os.read(0, 4096):
            return None


def _end_of(child: int) -> int:
    """Its exit code once it has stopped by itself; 0 when it is waited for no longer."""
    limit = time.monotonic() + _GRACE_S
    while time.monotonic() < limit:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    return 0
