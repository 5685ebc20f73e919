"""The live table of a script: on a terminal only, gone where others write and at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plain.test_exit_codes import live
from tests.plain.test_script import ROOT, STORY, script
from tests.rig.terminal import Terminal

WAIT = 'id = "long"\nwait = { until = "idle", every = "50ms" }\ntimeout = "1h"'


@pytest.mark.rig
def test_it_shows_what_runs_and_leaves_only_what_was_told(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    argv = live(tmp_path, 'id = "first"\nnote = "begin"', WAIT, 'id = "last"\nhealth = {}')
    shown = terminal(argv, cols=100, rows=30, env={**os.environ, "TERM": "xterm"}, cwd=ROOT)
    shown.wait_for("1 of 3 steps", 30)
    shown.wait_for("▶ long", 10)
    assert "✓ first" in shown.screen
    assert "· last" in shown.screen
    os.kill(shown.pid, signal.SIGTERM)
    shown.wait_exit(30)
    text = shown.screen
    assert "exit 130: interrupted by a signal" in text
    assert "of 3 steps" not in text
    assert "▶" not in text


@pytest.mark.rig
def test_a_dumb_terminal_gets_lines(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    argv = live(tmp_path, 'id = "first"\nnote = "begin"', 'id = "last"\nhealth = {}')
    shown = terminal(argv, cols=100, rows=30, env={**os.environ, "TERM": "dumb"}, cwd=ROOT)
    shown.wait_exit(30)
    assert "steps ──" not in shown.screen
    assert "first      note: passed" in shown.screen


def test_no_terminal_gets_no_control_byte(tmp_path: Path) -> None:
    path = script(tmp_path, 'wait = { until = "health" }\ntimeout = "900s"', "tail = {}")
    argv = [sys.executable, "-m", "console", "--script", str(path), "--replay", str(STORY)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not [char for char in done.stdout + done.stderr if ord(char) < 32 and char != "\n"]
