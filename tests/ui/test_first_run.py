"""The first run as a person meets it: no fleet file, a terminal, the keyboard alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from console.model.exits import Exit
from console.store.fleet import load_fleet
from tests.rig.ports import free_port
from tests.rig.terminal import Terminal

ROOT = Path(__file__).parents[2]
ARGV = [sys.executable, "-c", "import sys; from console.cli import main; sys.exit(main())"]


def console(folder: Path, *words: str, cols: int = 100, rows: int = 30) -> Terminal:
    """The console in a folder without a fleet file."""
    return Terminal([*ARGV, *words], cols=cols, rows=rows, cwd=folder)


def test_welcome_offers_the_demo_and_a_server_and_leaves_when_told(tmp_path: Path) -> None:
    with console(tmp_path, cols=60, rows=20) as terminal:
        shown = terminal.wait_for("Try the demo", 20)
        assert "There is no fleet file yet." in shown
        terminal.press("enter")
        assert terminal.wait_exit() == Exit.OK
    assert not (tmp_path / "config").exists()


def test_a_server_is_added_by_the_keyboard_and_then_watched(tmp_path: Path) -> None:
    port = free_port()
    with console(tmp_path) as terminal:
        terminal.wait_for("Add a server", 20)
        terminal.press("tab", "enter")
        terminal.wait_for("1 of 4")
        terminal.press(*"local", "enter")
        terminal.wait_for("2 of 4")
        assert "✓ local: reached" in terminal.screen
        terminal.press(*str(port), "enter")
        terminal.wait_for("No server answers")
        terminal.press("tab", "enter")
        terminal.wait_for("3 of 4")
        terminal.press(*"tiny", "enter")
        terminal.wait_for("4 of 4")
        terminal.press("tab", "enter")
        terminal.wait_for("▶ tiny", 20)
        terminal.press("q")
        assert terminal.wait_exit() == Exit.OK
    (server,) = load_fleet(tmp_path / "config" / "fleet.toml").servers
    assert server.name == "tiny"
    assert server.arm == "speculative"


def test_the_demo_is_one_answer_away(tmp_path: Path) -> None:
    with console(tmp_path, "--lab-scale", "20") as terminal:
        terminal.wait_for("Try the demo", 20)
        terminal.press("tab", "tab", "enter")
        terminal.wait_for("▶ kimi-base", 40)
        terminal.press("q")
        assert terminal.wait_exit(20) == Exit.OK
    assert not (tmp_path / "state").exists()


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('schema = "script/1"\nname = "s"\n')
    for words, told in (
        (("--script", "s.toml"), "no fleet.toml here or in the configuration folder"),
        ((), "the screen needs a terminal"),
    ):
        done = subprocess.run(
            [*ARGV, *words], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == Exit.USAGE
        assert done.stderr.startswith(f"spec-console: {told}")
        assert done.stdout == ""
