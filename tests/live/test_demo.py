"""The demo: a simulated fleet behind the whole console, gone when it ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.live.fleets import ROOT, console
from tests.rig.process import runs
from tests.rig.terminal import Terminal
from tests.rig.waiting import until

pytestmark = pytest.mark.rig
ARGV = [sys.executable, "-m", "console", "--demo", "--lab-scale", "40"]


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(entry.name)] = int(fields[1])
    family = {pid}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return sorted(family - {pid})


def test_a_script_on_the_demo(tmp_path: Path) -> None:
    script = ROOT / "sample_sessions" / "scripts" / "check.toml"
    done = console(tmp_path, "--demo", "--lab-scale", "40", "--script", script)
    assert done.returncode == 0, done.stderr
    # Who waits for a server polls it: the newest lines may be of that, the answer is the wait's.
    assert "/health 200 in" in done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert 'HTTP/1.1" 200 OK' in done.stdout
    assert "simulated" in done.stderr
    assert not (tmp_path / "state").exists()


def listening(pids: Sequence[int]) -> set[int]:
    """The TCP ports on which any of these processes listens."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(entry.readlink().name)
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in inodes
    }


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


ENDS = {
    "quit": (None, 0),
    "interrupt": (signal.SIGINT, 130),
    "term": (signal.SIGTERM, 130),
    "hangup": (signal.SIGHUP, 130),
    "kill": (signal.SIGKILL, -signal.SIGKILL),
}
ROUNDS = int(os.environ.get("DEMO_ROUNDS", "1"))
"""How often each end is tried: DEMO_ROUNDS=7 makes more than twenty of quit, TERM and kill -9."""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_nothing_is_left_of_it(
    terminal: Callable[..., Terminal], tmp_path: Path, end: str, turn: int
) -> None:
    del turn
    number, code = ENDS[end]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    shown = terminal(ARGV, cols=120, rows=40, env=environment, cwd=ROOT)
    shown.wait_for("kimi-eagle3", 60)
    shown.wait_for("simulated", 60)
    family = descendants(shown.pid)
    ports = listening(family)
    assert len(family) > 10  # keeper, lab, launcher, tracker, eight ranks, detokenizer
    assert len(ports) >= 3  # two SSH servers and the server that is up
    assert all(map(answers, ports))
    if number is None:
        shown.send(b"q")
    else:
        os.kill(shown.pid, number)
    shown.wait_exit(30)
    until(lambda: not any(runs(pid) for pid in family), 30, "no process")
    until(lambda: not list(tmp_path.iterdir()), 20, "no file and no socket in a file")
    assert not list(filter(answers, ports))
    assert shown.returncode == code


def test_a_scale_that_is_none_is_one_line() -> None:
    done = subprocess.run(
        [*ARGV[:-1], "-1", "--script", "x.toml"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
