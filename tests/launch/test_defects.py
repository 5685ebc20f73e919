"""Defects put in on purpose: a line, a masked report, exit 8, the terminal as it was."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from console.model.exits import Exit
from tests.rig.terminal import Terminal

ROOT = Path(__file__).parents[2]
STORY = ROOT / "sample_sessions" / "story.toml"
SCRIPT = ROOT / "sample_sessions" / "scripts" / "check.toml"
KEY = "sk-proj-0123456789abcdefghijklmnop"
SCRIPTED = ("--script", SCRIPT, "--replay", STORY)
FLEET = """
schema = "fleet/1"
host = [{ name = "here", local = true }]
slot = [{ name = "here:1", host = "here", port = 1 }]
[[server]]
name = "base"
slot = "here:1"
arm = "baseline"
engine = "sglang"
url = "http://127.0.0.1:1"
"""
WAIT = """
schema = "script/1"
name = "wait"
targets = ["base"]
step = [{ health = {}, always = true }, { note = "after all" , always = true }]
"""
PROGRAM = """
import sys
from console.cli import main

def broken(*_args, **_kwargs):
    raise ZeroDivisionError("api_key={key} \\x1b[2J is no number")

async def broken_later(*_args, **_kwargs):
    broken()

import {module} as module
{place} = {what}
sys.exit(main(sys.argv[1:]))
"""


def program(module: str, place: str, what: str = "broken") -> list[str]:
    """The console with one function replaced by one that is broken."""
    code = PROGRAM.format(key=KEY, module=module, place=f"module.{place}", what=what)
    return [sys.executable, "-c", code]


def report_of(told: str, state: Path) -> str:
    """The report that was told of, after all that is promised of it was looked at."""
    assert "Traceback" not in told
    assert KEY not in told
    assert "stopped because of a defect: ZeroDivisionError: api_key=" in told
    found = re.search(r"report: (\S+)", told.replace("\r\n", "\n"))
    assert found is not None
    path = Path(found[1])
    assert path.parent == state
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert KEY not in text
    assert not [char for char in text if ord(char) < 32 and char != "\n"]
    assert "ZeroDivisionError" in text
    assert "in broken" in text
    return text


@pytest.mark.parametrize(
    ("module", "place", "what", "arguments"),
    [
        ("console.launch", "open_replay", "broken", SCRIPTED),
        ("console.plain.run", "load_script", "broken", SCRIPTED),
        ("console.control.steps", "Steps.go", "broken_later", SCRIPTED),
        ("console.plain.report", "Report.ended", "broken", SCRIPTED),
        ("console.launch", "load_settings", "broken", ("--replay", STORY)),
        ("console.session.journal", "Journal.__init__", "broken", ("session", "info", STORY)),
        ("console.command.settings", "load_settings", "broken", ("settings",)),
    ],
)  # fmt: skip
def test_a_defect_without_a_screen(
    module: str, place: str, what: str, arguments: tuple[str | Path, ...], tmp_path: Path
) -> None:
    argv: list[str | Path] = [*program(module, place, what), *arguments]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERNAL, done.stderr
    report_of(done.stderr.splitlines()[-1], tmp_path / "state")


@pytest.mark.parametrize(
    ("module", "place", "what"),
    [
        ("console.launch", "open_replay", "broken"),
        ("console.ui.screens.dashboard", "Dashboard.show", "broken"),
        ("console.ui.panes.servers", "Servers.row", "broken"),
        ("console.ui.panes.log", "Log.row", "broken"),
        ("console.ui.screens.opening", "Opening.compose", "broken"),
        ("console.ui.follow", "Follow.run", "broken_later"),
        ("console.ui.app", "ConsoleApp.on_mount", "broken"),
    ],
)
def test_a_defect_of_the_screen(module: str, place: str, what: str, tmp_path: Path) -> None:
    argv = [*program(module, place, what), "--replay", str(STORY)]
    with Terminal(argv, cols=120, rows=24, cwd=ROOT) as terminal:
        before = termios.tcgetattr(terminal._master)
        assert terminal.wait_exit(20) == Exit.INTERNAL, terminal.screen
        told = terminal.output.decode()
        report_of(told, tmp_path / "state")
        assert told.rindex("\x1b[?1049l") < told.index("stopped because")
        assert "\x1b[?25h" in told
        assert termios.tcgetattr(terminal._master) == before


def test_a_defect_in_the_background_is_told_when_the_screen_is_left(tmp_path: Path) -> None:
    argv = program("console.control.replay", "Replay.run", "broken_later")
    with Terminal([*argv, "--replay", str(STORY)], cols=120, rows=24, cwd=ROOT) as terminal:
        terminal.wait_for("kimi-base", 20)
        terminal.press("q")
        assert terminal.wait_exit(20) == Exit.INTERNAL
        report_of(terminal.output.decode(), tmp_path / "state")


def test_a_task_that_nobody_waits_for_is_told_as_well(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from console.cli import main
import console.launch as module

async def broken():
    raise ZeroDivisionError("api_key={key} \x1b[2J is no number")

def replay(path):
    asyncio.get_running_loop().create_task(broken())
    return whole(path)

whole, module.open_replay = module.open_replay, replay
sys.exit(main(sys.argv[1:]))
"""
    argv: list[str | Path] = [sys.executable, "-c", code.replace("{key}", KEY), *SCRIPTED]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERNAL, done.stderr
    report_of(done.stderr.splitlines()[-1], tmp_path / "state")


@pytest.mark.parametrize(
    ("module", "place", "part"),
    [
        ("console.session.recorder", "Recorder.run", "recorder"),
        ("console.control.live_session", "pair_clock", "clock"),
    ],
)
def test_a_defect_beside_a_live_session_is_told_at_once_and_reported(
    module: str, place: str, part: str, tmp_path: Path
) -> None:
    fleet, script = tmp_path / "fleet.toml", tmp_path / "wait.toml"
    fleet.write_text(FLEET)
    script.write_text(WAIT)
    argv: list[str | Path] = program(module, place, "broken_later")  # type: ignore[assignment]
    argv += ["--fleet", fleet, "--script", script]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERNAL, done.stderr
    *told, last = done.stderr.splitlines()
    report_of(last, tmp_path / "state")
    at_once = [line for line in told if f"error: {part}: stopped by a defect: ZeroDiv" in line]
    assert len(at_once) == 1
    assert told.index(at_once[0]) < len(told) - 1
    assert KEY not in done.stderr


def test_where_no_report_can_be_written_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    argv: list[str | Path] = [*program("console.launch", "load_settings"), "--replay", STORY]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERNAL
    assert "; no report could be written: " in done.stderr
    assert "Traceback" not in done.stderr
