"""The console inside a real tmux: terminal types, keys, resize, suspend, and what it leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig.tmux import Tmux
from tests.rig.waiting import until

ROOT = Path(__file__).parents[2]
STORY = ROOT / "sample_sessions" / "story.toml"
CONSOLE = f"{sys.executable} -m console --replay {STORY}"


def shell(term: str, *, cols: int = 100, rows: int = 30) -> Tmux:
    """A shell with job control on a terminal of this type."""
    argv = ["env", f"TERM={term}", "PS1=$ ", "sh", "-i"]
    return Tmux(argv, cols=cols, rows=rows, cwd=ROOT)


def asked(tmux: Tmux, form: str) -> str:
    """What tmux knows of the pane."""
    return tmux._asked(form)


@pytest.mark.parametrize("term", ["tmux-256color", "screen-256color", "screen"])
def test_it_starts_obeys_keys_and_leaves_the_terminal_as_it_was(term: str, tmp_path: Path) -> None:
    before = tmp_path / "before"
    with shell(term) as tmux:
        tmux.type(f"stty -g >{before}; echo marked\n")
        tmux.wait_for("marked\n")
        tmux.type(f"{CONSOLE}; stty -g | cmp - {before} && echo sa''me\n")
        tmux.wait_for("▶ kimi-base", 30)
        assert asked(tmux, "#{alternate_on}") == "1"
        tmux.press("Down")
        tmux.wait_for("▶ kimi-eagle3")
        tmux.press("5")
        tmux.wait_for("─ Session ─")
        tmux.press("1")
        tmux.wait_for("Servers")
        tmux.press("q")
        tmux.wait_for("same", 20)
        assert asked(tmux, "#{alternate_on}") == "0"
        assert asked(tmux, "#{cursor_flag}") == "1"
        assert asked(tmux, "#{mouse_any_flag}") == "0"
        assert "marked" in tmux.screen


def test_it_is_suspended_and_comes_back() -> None:
    with shell("tmux-256color") as tmux:
        tmux.type(f"{CONSOLE}\n")
        tmux.wait_for("▶ kimi-base", 30)
        tmux.press("C-z")
        tmux.wait_for(lambda screen: "Stopped" in screen or "Suspended" in screen, 20)
        assert asked(tmux, "#{alternate_on}") == "0"
        tmux.type("fg\n")
        tmux.wait_for(lambda screen: "▶ kimi-base" in screen and " q quit" in screen, 20)
        assert asked(tmux, "#{alternate_on}") == "1"
        tmux.press("q")
        tmux.wait_for(lambda _: asked(tmux, "#{alternate_on}") == "0", 20)


def test_it_follows_the_size_of_its_window() -> None:
    with shell("tmux-256color") as tmux:
        tmux.type(f"{CONSOLE}\n")
        tmux.wait_for("▶ kimi-base", 30)
        for cols, rows in ((60, 20), (140, 45), (80, 24)):
            tmux._tmux("resize-window", "-x", str(cols), "-y", str(rows))

            def fits(screen: str, cols: int = cols, rows: int = rows) -> bool:
                lines = screen.splitlines()
                framed = [line for line in lines if line.startswith("╭")]
                return (
                    len(lines) == rows
                    and bool(framed)
                    and all(len(line) == cols for line in framed)
                    and lines[-1].rstrip().endswith("q quit")
                )

            tmux.wait_for(fits, 20)
            assert asked(tmux, "#{pane_width}x#{pane_height}") == f"{cols}x{rows}"


def test_the_mouse_is_taken_by_a_key_and_given_back() -> None:
    with shell("tmux-256color") as tmux:
        tmux.type(f"{CONSOLE}\n")
        tmux.wait_for("▶ kimi-base", 30)
        assert asked(tmux, "#{mouse_any_flag}") == "0"
        tmux.press("M")
        tmux.wait_for("clicks select")
        assert asked(tmux, "#{mouse_any_flag}") == "1"
        tmux.press("M")
        tmux.wait_for("the mouse is the terminal's again")
        assert asked(tmux, "#{mouse_any_flag}") == "0"


def test_a_polite_signal_restores_the_terminal() -> None:
    with shell("tmux-256color") as tmux:
        tmux.type(f"{CONSOLE}\n")
        tmux.wait_for("▶ kimi-base", 30)
        argv = ["ps", "-o", "pid=", "--ppid", str(tmux.pid)]
        found = subprocess.run(argv, capture_output=True, text=True, check=True)
        subprocess.run(["kill", "-TERM", *found.stdout.split()], check=True)
        tmux.wait_for(lambda _: asked(tmux, "#{alternate_on}") == "0", 20)
        assert asked(tmux, "#{cursor_flag}") == "1"


def test_told_to_go_on_without_having_been_stopped_it_obeys_and_ends() -> None:
    with shell("tmux-256color") as tmux:
        tmux.type(f"{CONSOLE}\n")
        tmux.wait_for("▶ kimi-base", 30)
        argv = ["ps", "-o", "pid=", "--ppid", str(tmux.pid)]
        found = subprocess.run(argv, capture_output=True, text=True, check=True)
        for _ in range(8):
            subprocess.run(["kill", "-CONT", *found.stdout.split()], check=True)
            tmux.press("4")
            tmux.wait_for("Cycle, history, circumstances")
            tmux.press("1")
            tmux.wait_for("▶ kimi-base")
        tmux.press("q")
        gone = [*argv[:-1], str(tmux.pid)]
        until(lambda: not subprocess.run(gone, capture_output=True, check=False).stdout, 20)
        assert asked(tmux, "#{alternate_on}") == "0"


def test_inside_gnu_screen_it_paints_obeys_and_leaves(tmp_path: Path) -> None:
    sockets = tmp_path / "screens"
    sockets.mkdir(mode=0o700)
    (tmp_path / "rc").write_text("startup_message off\ndefutf8 on\naltscreen on\n")
    inside = ["sh", "-c", f"{CONSOLE}; echo left $?; read _"]
    argv = ["env", f"SCREENDIR={sockets}", "screen", "-c", str(tmp_path / "rc"), "-U", *inside]
    with Tmux(argv, cols=100, rows=30, cwd=ROOT) as tmux:
        tmux.wait_for("▶ kimi-base", 60)
        assert "╭─ ▸ Servers ─" in tmux.screen
        tmux.press("Down")
        tmux.wait_for("▶ kimi-eagle3")
        tmux.press("5")
        tmux.wait_for("─ Session ─")
        tmux.press("q")
        tmux.wait_for("left 0", 30)
        assert "Session" not in tmux.screen
        tmux.press("Enter")
        assert tmux.wait_exit(30) == 0
