"""The console on a remote machine, in a session of the real OpenSSH client inside a real tmux."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.rig.process import runs
from tests.rig.sshd import Sshd
from tests.rig.tmux import Tmux
from tests.rig.waiting import until
from tests.services.launching import with_word
from tests.ui.test_tmux import ROOT, STORY, asked, shell

pytestmark = pytest.mark.rig


def far(sshd: Sshd, session: Path) -> str:
    """The command line that replays a session over there, on a terminal."""
    there = f"cd {shlex.quote(str(ROOT))} && exec {sys.executable} -m console --replay {session}"
    return shlex.join(["ssh", "-F", str(sshd.ssh_config), "-t", sshd.alias, there])


def resized(tmux: Tmux, cols: int, rows: int) -> None:
    tmux._tmux("resize-window", "-x", str(cols), "-y", str(rows))
    tmux.wait_for(
        lambda screen: (
            len(screen.splitlines()) == rows
            and screen.splitlines()[-1].rstrip().endswith("q quit")
            and any(line.startswith("╭") and len(line) == cols for line in screen.splitlines())
        ),
        20,
    )


def test_it_paints_obeys_resizes_and_leaves_through_ssh(sshd: Sshd) -> None:
    with shell("tmux-256color") as tmux:
        tmux.type(f"{far(sshd, STORY)}; echo le''ft $?\n")
        tmux.wait_for("▶ kimi-base", 60)
        resized(tmux, 120, 40)
        tmux.press("3")
        tmux.wait_for("Who says what")
        resized(tmux, 80, 24)
        tmux.press("1")
        tmux.wait_for("Servers")
        tmux.press("q")
        tmux.wait_for("left 0", 30)
        assert asked(tmux, "#{alternate_on}") == "0"
        assert asked(tmux, "#{mouse_any_flag}") == "0"


def test_a_session_that_is_cut_leaves_no_console_behind(sshd: Sshd, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    shutil.copy(STORY, own)
    with shell("tmux-256color") as tmux:
        tmux.type(f"{far(sshd, own)}; echo le''ft $?\n")
        tmux.wait_for("▶ kimi-base", 60)
        consoles = with_word(str(own))
        assert consoles
        assert sshd.kill_sessions() >= 1
        tmux.wait_for("left 255", 30)
        until(lambda: not any(runs(pid) for pid in consoles), 30, "the console has ended")
