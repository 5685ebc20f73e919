"""Every exit code of a script as a process ends with it, and both places that document them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.model.exits import MEANINGS, Exit
from tests.plain.test_script import ROOT, STORY, run, script
from tests.rig.waiting import until

FLEET = """
schema = "fleet/1"
host = [{ name = "here", local = true }]
slot = [{ name = "here:1", host = "here", port = 1 }]
[[server]]
name = "kimi-base"
slot = "here:1"
arm = "baseline"
engine = "sglang"
url = "http://127.0.0.1:1"
log = "LOG"
[[command]]
name = "nap"
host = "here"
argv = ["sleep", "20"]
read_only = true
"""


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ('assert = ["1 == 1"]', 0),
        ('assert = ["1 == 2"]', 1),
        ("helth = {}", 2),
        ('health = { path = "/nosuch" }', 3),
        ("health = {}", 4),
        ('wait = { until = "stalled" }\ntimeout = "2h"', 5),
        ('marker = "x"', 6),
    ],
)
def test_in_a_replay(tmp_path: Path, step: str, code: int) -> None:
    done = run("--script", script(tmp_path, step), "--replay", STORY)
    assert done.returncode == code
    if code == 0:
        assert "exit 0" in done.stderr
    elif code == 2:
        assert re.search(r"s\.toml:\d+:\d+: ", done.stderr)
    else:
        assert f"exit {code}: {MEANINGS[Exit(code)]}" in done.stderr


def live(tmp_path: Path, *steps: str, options: tuple[str, ...] = ()) -> list[str]:
    fleet = tmp_path / "fleet.toml"
    (tmp_path / "server.log").write_text("a line\n")
    fleet.write_text(FLEET.replace("LOG", str(tmp_path / "server.log")))
    path = script(tmp_path, *steps)
    words = ["--fleet", fleet, "--script", path, "--record", tmp_path / "night.toml", *options]
    return [sys.executable, "-m", "console", *map(str, words)]


def test_what_is_not_confirmed_is_6_and_nothing_was_touched(tmp_path: Path) -> None:
    argv = live(tmp_path, "restart = {}", options=("--apply",))
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    (tmp_path / "second").mkdir()
    argv = live(tmp_path / "second", "restart = {}")
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "read-only: nothing on a host is changed without --apply" in done.stderr


def test_a_roll_back_is_7(tmp_path: Path) -> None:
    """The act itself is proven on servers; here only that its code is the process's."""
    program = (
        "import sys\nfrom console.cli import main\nfrom console.control.live import Live\n"
        "from console.control.port import Outcome\nfrom console.model.exits import Exit\n"
        "async def do(*_a, **_k): return Outcome(Exit.ROLLED_BACK, 'rolled back')\n"
        "Live.do = do\nsys.exit(main(sys.argv[1:]))\n"
    )
    argv = live(tmp_path, "restart = {}", options=("--apply", "--yes-target", "kimi-base"))
    done = subprocess.run(
        [sys.executable, "-c", program, *argv[3:]],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert f"exit 7: {MEANINGS[Exit.ROLLED_BACK]}" in done.stderr


def test_a_defect_is_8(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom console.cli import main\nfrom console.control.steps import Steps\n"
        "async def go(_self): raise ZeroDivisionError('x')\n"
        "Steps.go = go\nsys.exit(main(sys.argv[1:]))\n"
    )
    argv = live(tmp_path, "health = {}")
    environment = {**os.environ, "SPEC_CONSOLE_STATE": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", program, *argv[3:]],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 8
    assert "Traceback" not in done.stderr


@pytest.fixture
def waiting(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    def start(*more: str) -> subprocess.Popen[str]:
        wait = 'id = "long"\nwait = { until = "idle", every = "50ms" }\ntimeout = "1h"'
        argv = live(tmp_path, wait, 'id = "never"\nhealth = {}', *more)
        process = subprocess.Popen(
            argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        night = tmp_path / "night.toml"
        until(lambda: night.exists() and b"connection refused" in night.read_bytes(), 60)
        return process

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_130_and_what_always_runs_still_runs(
    waiting: Callable[..., subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    saved = tmp_path / "saved.toml"
    process = waiting(f'id = "keep"\nsave = "{saved}"\nalways = true')
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "long       wait kimi-base: INTERRUPTED" in err
    assert "never      health: left out" in err
    assert "keep       save: passed" in err
    assert "interrupted; kimi-base down" in err
    assert saved.exists()


def test_a_second_signal_leaves_at_once(waiting: Callable[..., subprocess.Popen[str]]) -> None:
    process = waiting('id = "slow"\nrun = "nap"\ntimeout = "1h"\nalways = true')
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    for line in process.stderr:
        if "long       wait kimi-base: INTERRUPTED" in line:
            break
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=15) == 130


def test_help_and_the_readme_name_all_of_them() -> None:
    helped = run("--help").stdout
    readme = (ROOT / "README.md").read_text()
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^ +{code.value}  {re.escape(meaning)}$", helped, re.MULTILINE)
        assert re.search(rf"^\| {code.value} \| \S", readme, re.MULTILINE)
