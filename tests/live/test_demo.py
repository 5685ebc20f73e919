"""The demo: a simulated fleet behind the whole console, gone when it ends, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
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


@pytest.mark.parametrize("end", ["quit", "term", "kill"])
def test_nothing_is_left_of_it(terminal: Callable[..., Terminal], tmp_path: Path, end: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    shown = terminal(ARGV, cols=120, rows=40, env=environment, cwd=ROOT)
    shown.wait_for("kimi-eagle3", 30)
    shown.wait_for("simulated", 30)
    family = descendants(shown.pid)
    assert len(family) > 3
    if end == "quit":
        shown.send(b"q")
    else:
        os.kill(shown.pid, signal.SIGTERM if end == "term" else signal.SIGKILL)
    shown.wait_exit(20)
    until(lambda: not any(runs(pid) for pid in family), 20)
    until(lambda: not list(tmp_path.iterdir()), 10)
    assert shown.returncode == {"quit": 0, "term": 130, "kill": -signal.SIGKILL}[end]


def test_a_scale_that_is_none_is_one_line() -> None:
    done = subprocess.run(
        [*ARGV[:-1], "-1", "--script", "x.toml"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
