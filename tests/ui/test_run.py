"""The screen as a program of its own, on a real pseudo-terminal."""

from __future__ import annotations

import subprocess
import sys

from console.model.exits import Exit
from console.ui.run import NO_TERMINAL
from tests.rig.terminal import Terminal
from tests.rig.waiting import until
from tests.ui.measure import ROOT

ARGV = [sys.executable, "-m", "tests.ui.busy"]


def test_starts_shows_and_leaves_the_terminal_as_it_was() -> None:
    with Terminal([*ARGV, "50"], cols=80, rows=24, cwd=ROOT) as terminal:
        until(lambda: "Decode batch. #running-req: 1, #token" in terminal.screen, 20, "lines")
        assert "▶ kimi-base" in terminal.screen
        terminal.press("down")
        until(lambda: "▶ kimi-eagle3" in terminal.screen, 5, "the selection")
        terminal.press("q")
        assert terminal.wait_exit() == Exit.OK
        assert b"\x1b[?1049l" in terminal.output[-200:]
        assert b"\x1b[?25h" in terminal.output[-200:]


def test_mouse_is_left_to_the_terminal() -> None:
    with Terminal([*ARGV, "0"], cols=80, rows=24, cwd=ROOT) as terminal:
        until(lambda: "kimi-base" in terminal.screen, 20, "the dashboard")
        assert b"\x1b[?1000h" not in terminal.output
        assert b"\x1b[?1003h" not in terminal.output


def test_without_a_terminal_it_says_what_to_use() -> None:
    done = subprocess.run(
        [*ARGV, "0"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == Exit.USAGE
    assert done.stdout == b""
    assert done.stderr.decode() == f"spec-console: {NO_TERMINAL}\n"


def test_a_defect_is_one_line_and_no_traceback() -> None:
    with Terminal([*ARGV, "broken"], cols=80, rows=24, cwd=ROOT) as terminal:
        assert terminal.wait_exit(20) == Exit.INTERNAL
        told = terminal.output.decode()
        assert "spec-console: stopped because of a defect: ValueError: <CSI> is no time" in told
        assert "Traceback" not in told
        assert b"\x1b[?1049l" in terminal.output


def test_what_cannot_be_opened_is_told_by_whoever_opens_it() -> None:
    with Terminal([*ARGV, "refused"], cols=80, rows=24, cwd=ROOT) as terminal:
        assert terminal.wait_exit(20) == 1
        told = terminal.output
        assert told.rstrip().endswith(b"refused: nothing to open")
        assert told.index(b"\x1b[?1049l") < told.index(b"refused: nothing")
