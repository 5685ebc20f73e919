"""A night by hand on a real screen, turned into a script, run on a fresh box: same acts, same
verdict."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from console.session.journal import Journal
from console.stream.run_events import ActFinished, ActRequested, BenchFinished, VerdictReached
from tests.lab.running import Lab, lab
from tests.live.fleets import ROOT
from tests.live.simulated import at_scale
from tests.rig.tmux import Tmux
from tests.rig.waiting import until

pytestmark = pytest.mark.rig

SCALE = 20.0
FOCUSED = re.compile(r"\x1b\[1;7m(?:\x1b\[[0-9;]*m)* (\w+) ")
CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d) UTC")


class Hands:
    """A person at the keyboard, who looks before the next key."""

    def __init__(self, tmux: Tmux) -> None:
        self.tmux = tmux

    def look(self, *words: str) -> None:
        """Until all of it stands on the screen."""
        self.tmux.wait_for(lambda screen: all(word in screen for word in words), 60)

    def press(self, *keys: str) -> None:
        self.tmux.press(*keys)

    def confirm(self, name: str, *words: str) -> None:
        """Read the question for as long as it has to be, then say yes."""
        self.look(name, "Cancel", *words)
        shown = self._seconds(self.tmux.screen)
        self.tmux.wait_for(lambda screen: (self._seconds(screen) - shown) % 86_400 >= 2, 60)
        typed = f"Type {name} to go on" in self.tmux.screen
        if typed:
            self.tmux.type(name)
            self.look(f"│ {name}  ")
        # An answer that cannot be given yet is passed over, so what has the focus is looked at.
        while (before := self._focused()) in ("", "Cancel") and not typed:
            self.press("Right")
            self._wait_for_focus_other_than(before)
        self.press("Enter")

    def measure(self, name: str, bench: str) -> None:
        self.press("b")
        self.look(f"Measure {name}")
        self.press("Right", "Enter")
        self.look(f"✓ {bench}: {name}")

    def _wait_for_focus_other_than(self, before: str) -> None:
        until(lambda: self._focused() != before, 20, "another focus")

    def _focused(self) -> str:
        """The answer that has the focus; empty where none has."""
        rows = [row for row in self.tmux.coloured_screen.split("\n") if "Cancel" in row]
        found = FOCUSED.search(rows[-1]) if rows else None
        return found[1] if found is not None else ""

    @staticmethod
    def _seconds(screen: str) -> int:
        found = CLOCK.search(screen)
        assert found is not None, screen
        hours, minutes, seconds = map(int, found.groups())
        return hours * 3600 + minutes * 60 + seconds


def by_hand(box: Lab, folder: Path) -> Path:
    """Restart with variables, measure, swap arms, measure, compare; the session."""
    night = folder / "night.toml"
    argv = [sys.executable, "-m", "console", "--fleet", box.ready["fleet"], "--record", str(night)]
    argv += ["--lab-scale", str(SCALE)]
    with Tmux(argv, cols=130, rows=42, env=at_scale(SCALE, folder), cwd=ROOT) as tmux:
        hands = Hands(tmux)
        tmux.wait_for(lambda screen: re.search("▶ kimi-base .* idle", screen) is not None, 60)
        hands.press("U")
        hands.look("UNLOCKED")
        hands.press("r")
        hands.look("Look and ask")
        tmux.type("NCCL_PROTO=LL NCCL_ALGO=Ring")
        hands.look("NCCL_PROTO=LL NCCL_ALGO=Ring")
        hands.press("C-s")
        hands.confirm("kimi-base", "+ NCCL_ALGO=Ring")
        hands.look("✓ ready after")
        hands.measure("kimi-base", "b1")
        hands.press("Down")
        hands.look("▶ kimi-eagle3")
        hands.press("C-p")
        hands.look("Search for commands")
        tmux.type("swap arms")
        hands.look("End the slot's other arm")
        hands.press("Enter")
        hands.look("swap kimi-eagle3", "Look and ask")
        hands.press("C-s")
        hands.confirm("kimi-eagle3", "stops: kimi-base")
        hands.look("✓ ready after")
        hands.measure("kimi-eagle3", "s2")
        hands.press("c")
        hands.look("NOT COMPARABLE")
        hands.press("q")
        assert tmux.wait_exit(30) == 0
    return night


def done(session: Path) -> list[tuple[str, ...]]:
    """What was done and came of it, in order."""
    found: list[tuple[str, ...]] = []
    journal = Journal(session)
    assert journal.losses() == []
    for event in journal.events():
        match event:
            case ActRequested():
                given = [f"{name}={value}" for name, value in event.arguments]
                found.append((event.verb, event.server, *given))
            case ActFinished():
                found.append((event.outcome,))
            case BenchFinished():
                found.append((event.bench, "valid" if event.valid else "not valid"))
            case VerdictReached():
                found.append((event.verdict,))
    return found


def test_what_was_done_on_the_screen_runs_again_as_a_script_and_says_the_same(
    tmp_path: Path,
) -> None:
    with lab(tmp_path / "lab", scale=SCALE) as box:
        night = by_hand(box, tmp_path)
    assert done(night) == [
        ("restart", "kimi-base", "env=NCCL_PROTO=LL NCCL_ALGO=Ring"),
        ("done",),
        ("b1", "valid"),
        ("swap", "kimi-eagle3"),
        ("done",),
        ("s2", "valid"),
        ("NOT COMPARABLE",),
    ]
    again, second = tmp_path / "again.toml", tmp_path / "second.toml"
    command = [sys.executable, "-m", "console"]
    environment = at_scale(SCALE, tmp_path / "fresh")
    told = subprocess.run(
        [*command, "session", "to-script", night, "-o", again],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    with lab(tmp_path / "second", scale=SCALE) as box:
        ran = subprocess.run(
            [*command, "--fleet", box.ready["fleet"], "--lab-scale", str(SCALE), "--script", again,
             "--apply", "--yes-target", "kimi-base", "--yes-target", "kimi-eagle3", "--json",
             "--record", second],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert ran.returncode == 0, again.read_text() + ran.stderr
    steps = [record for record in map(json.loads, ran.stdout.splitlines()) if "verb" in record]
    verdict = steps[-1]
    assert verdict["results"]["verdict"] == "NOT COMPARABLE"
    assert "NCCL_ALGO" in verdict["text"]
    assert done(second) == done(night)
