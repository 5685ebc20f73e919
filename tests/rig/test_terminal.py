"""A program on the pseudo-terminal and in tmux is driven by keys and read from its screen."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rig.process import runs
from tests.rig.screen import Screen
from tests.rig.terminal import Terminal
from tests.rig.tmux import Tmux
from tests.rig.waiting import DeadlineMissedError, until

TALK = """
import sys
print("size", *__import__("os").get_terminal_size(), flush=True)
for line in sys.stdin:
    word = line.strip()
    if word == "end":
        sys.exit(3)
    print(f"heard [{word}] \\x1b[31mred\\x1b[0m", flush=True)
"""
TALKING = [sys.executable, "-c", TALK]
BOTH: list[Callable[..., Terminal | Tmux]] = [Terminal, Tmux]

APP = """
from textual.app import App, ComposeResult
from textual.widgets import Static

class Sized(App[None]):
    BINDINGS = [("q", "quit", "Quit")]

    def compose(self) -> ComposeResult:
        yield Static("ünïcode │ 你好", id="text")

    def on_resize(self, event) -> None:
        self.query_one("#text").update(f"ünïcode │ 你好 │ {event.size.width}x{event.size.height}")

Sized().run()
"""


@pytest.mark.parametrize("kind", BOTH)
def test_size_screen_and_exit_code(kind: Callable[..., Terminal | Tmux]) -> None:
    with kind(TALKING, cols=60, rows=10) as shown:
        assert shown.wait_for("size 60 10").startswith("size 60 10")
        enter = "enter" if isinstance(shown, Terminal) else "Enter"
        shown.press("h", "i", enter)
        assert "heard [hi] red" in shown.wait_for(lambda text: "heard" in text).splitlines()
        assert shown.returncode is None
        shown.press("e", "n", "d", enter)
        assert shown.wait_exit() == 3


@pytest.mark.parametrize("kind", BOTH)
def test_size_of_the_persons_terminal_is_not_passed_on(
    kind: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    with kind(["sh", "-c", "echo [$COLUMNS] $TERM; exec sleep 60"]) as shown:
        assert shown.wait_for("[").split()[0] == "[]"


@pytest.mark.parametrize("kind", BOTH)
def test_missed_text_fails_with_the_screen(kind: Callable[..., Screen]) -> None:
    with kind(TALKING) as shown:
        shown.wait_for("size")
        with pytest.raises(DeadlineMissedError) as caught:
            shown.wait_for("never", 0.05)
    assert "'never' not met within 0.05 s" in str(caught.value)
    assert "size 80 24" in str(caught.value)


@pytest.mark.parametrize("kind", BOTH)
def test_stop_kills_a_program_that_ignores_hangups(kind: Callable[..., Terminal | Tmux]) -> None:
    with kind(["sh", "-c", "trap '' HUP TERM INT; echo up; while :; do sleep 1; done"]) as shown:
        shown.wait_for("up")
        pid = shown.pid
        assert runs(pid)
        shown.stop()
        until(lambda: not runs(pid), 5)


@pytest.mark.parametrize("kind", BOTH)
def test_death_by_signal_is_a_negative_code(kind: Callable[..., Terminal | Tmux]) -> None:
    with kind(["sh", "-c", "kill -KILL $$"]) as shown:
        assert shown.wait_exit() == -signal.SIGKILL


async def test_async_wait_and_raw_output() -> None:
    with Terminal(TALKING) as shown:
        shown.send(b"one\n")
        await shown.await_for("heard [one]")
        assert b"\x1b[31mred" in shown.output
        shown.press("ctrl+c")
        assert shown.wait_exit() in (1, -signal.SIGINT)
    assert b"KeyboardInterrupt" in shown.output


def test_textual_draws_resizes_and_quits_on_the_terminal() -> None:
    with Terminal([sys.executable, "-c", APP], cols=70, rows=12) as shown:
        assert shown.wait_for("70x12").splitlines()[0] == "ünïcode │ 你好 │ 70x12"
        shown.resize(100, 30)
        assert shown.wait_for("100x30").splitlines()[0] == "ünïcode │ 你好 │ 100x30"
        shown.press("q")
        assert shown.wait_exit() == 0
        assert b"\x1b[?1049l" in shown.output


def test_sequences_split_between_writes_leave_no_trace() -> None:
    split = r"stty -echo; printf 'a\033[<'; read x; printf 'ub\033Pq12'; read x; printf '3\033\\c'"
    with Terminal(["sh", "-c", split]) as shown:
        until(lambda: shown.output.endswith(b"\x1b[<"), 5)
        shown.press("enter")
        until(lambda: shown.output.endswith(b"q12"), 5)
        shown.press("enter")
        assert shown.wait_exit() == 0
        assert shown.screen.rstrip() == "abc"


def test_tmux_keeps_colours_and_removes_its_socket(tmp_path: Path) -> None:
    with Tmux(TALKING, cwd=tmp_path) as shown:
        shown.type("Enter")
        shown.press("Enter")
        shown.wait_for("heard [Enter] red")
        assert "\x1b[31mred" in shown.coloured_screen
        assert shown.socket.is_socket()
    assert not shown.socket.exists()


def test_tmux_that_is_missing_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        Tmux(TALKING)
    assert caught.value.filename == "tmux"
