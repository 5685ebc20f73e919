"""Copying, where a person would meet it: a bare terminal, a tmux of either mind, no clipboard."""

from __future__ import annotations

import base64
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from console.ui.clipboard import MOST_OSC52, copy
from tests.rig.terminal import Terminal
from tests.rig.tmux import Tmux
from tests.rig.waiting import until
from tests.ui.measure import ROOT

ARGV = [sys.executable, "-m", "tests.ui.busy", "0"]
LAST = "[2026-02-24 17:01:42 TP5] torch.OutOfMemoryError: CUDA out of memory."


@pytest.fixture(autouse=True)
def no_tmux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("STY", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)


def copied(text: str, **env: str) -> tuple[str, str, bool]:
    written: list[str] = []
    done = copy(text, written.append, {**os.environ, **env})
    return "".join(written), done.how, done.ok


def test_a_terminal_is_sent_its_clipboard_with_the_target_named() -> None:
    sent, how, ok = copied("界 x\ny")
    assert sent == "\x1b]52;c;" + base64.b64encode("界 x\ny".encode()).decode() + "\x07"
    assert ok
    assert how == "to the terminal's clipboard (OSC 52)"


def test_what_is_too_long_goes_to_a_file_for_its_owner_only(tmp_path: Path) -> None:
    most = MOST_OSC52 // 4 * 3
    assert copied("x" * most)[1] == "to the terminal's clipboard (OSC 52)"
    sent, how, ok = copied("x" * (most + 3))
    path = tmp_path / "spec-console-copy.log"
    assert (sent, ok) == ("", True)
    assert how == f"to {path}, too long for the clipboard"
    assert path.read_text() == "x" * (most + 3) + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = tmp_path / "spec-console-copy-2.log"
    assert copied("y" * (most + 3))[1] == f"to {again}, too long for the clipboard"


@pytest.mark.parametrize("env", [{"TERM": "linux"}, {"TERM": "dumb"}, {"STY": "1.pts"}], ids=str)
def test_without_a_clipboard_there_is_a_file(env: dict[str, str], tmp_path: Path) -> None:
    sent, how, ok = copied("hello", **env)
    assert (sent, how, ok) == ("", f"to {tmp_path / 'spec-console-copy.log'}", True)


def test_a_tmux_that_does_not_answer_is_passed_over(tmp_path: Path) -> None:
    sent, how, _ = copied("hello", TMUX="/nowhere/at/all,1,0")
    assert (sent, how) == ("", f"to {tmp_path / 'spec-console-copy.log'}")


def test_nowhere_to_write_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(stem: str) -> tuple[int, Path]:
        raise OSError(28, f"No space left on device for {stem}")

    monkeypatch.setattr("console.ui.clipboard.create", refused)
    sent, how, ok = copied("hello", TERM="linux")
    assert (sent, ok) == ("", False)
    assert how == "nothing copied: No space left on device for spec-console-copy"


def test_the_console_sends_the_clipboard_of_its_terminal() -> None:
    with Terminal(ARGV, cols=100, rows=30, cwd=ROOT) as terminal:
        until(lambda: "CUDA out of memory" in terminal.screen, 20, "lines")
        terminal.press("K", "y")
        until(lambda: "1 line to the terminal's clipboard" in terminal.screen, 10, "the answer")
        sent = re.findall(rb"\x1b\]52;([a-z]*);([A-Za-z0-9+/=]*)\x07", terminal.output)
        assert [(target, base64.b64decode(text)) for target, text in sent] == [
            (b"c", LAST.encode())
        ]
        terminal.press("q")
        terminal.wait_exit()


def in_tmux(tmux: Tmux, *words: str) -> str:
    argv = ["tmux", "-S", str(tmux.socket), *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout


@pytest.mark.parametrize(
    ("options", "told", "buffered"),
    [
        ({}, "1 line to tmux's buffer", True),
        ({"set-clipboard": "on"}, "1 line to tmux and the terminal's clipboard (OSC 52)", True),
        ({"allow-passthrough": "on"}, "1 line to the terminal's clipboard, through tmux", False),
    ],
    ids=["as it comes", "set-clipboard", "passthrough"],
)
def test_in_tmux_the_line_gets_where_tmux_lets_it(
    options: dict[str, str], told: str, buffered: bool
) -> None:
    with Tmux(ARGV, cols=100, rows=30, cwd=ROOT) as tmux:
        for name, value in options.items():
            in_tmux(tmux, "set-option", "-g", name, value)
        tmux.wait_for("CUDA out of memory", 20)
        tmux.press("K", "y")
        tmux.wait_for(told)
        if buffered:
            until(lambda: in_tmux(tmux, "list-buffers") != "", 5, "a buffer")
            assert in_tmux(tmux, "show-buffer") == LAST
        else:
            assert in_tmux(tmux, "list-buffers") == ""
        tmux.press("q")
        tmux.wait_exit()
