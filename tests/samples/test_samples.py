"""The sample sessions: made from the committed code, replayed to a committed final state."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.mask import Masks
from console.session.journal import Journal
from console.session.words import told
from console.stream.state import State, facts

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
SAMPLES = sorted((ROOT / "sample_sessions").glob("*.toml"))


def final(path: Path) -> str:
    """Play it event by event to its end; what is known then, and what was lost, one fact a line."""
    replay = Replay(Journal(path), ManualClock(), Masks())
    player = replay.player
    player.advance(player.length_us)
    assert player.at_end
    played = known(replay.timeline.state)
    player.seek(0)
    player.seek(player.length_us)
    assert known(replay.timeline.state) == played
    return "\n".join([*played, *player.journal.losses()]) + "\n"


def known(state: State) -> list[str]:
    """Every fact of a State and how far each log reaches."""
    lines = [line for fact in facts(state) for line in told(fact)]
    marks = [
        f"{log}: lines {cell.mark.first} to {cell.mark.end}" for log, cell in state.logs.items()
    ]
    return [*lines, *marks]


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_a_sample_replays_to_its_golden_state(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("a replay opened a socket")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    text = final(path)
    golden = GOLDEN / f"{path.stem}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", ["story", "torn"])
def test_a_sample_is_what_its_maker_makes(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "tests.samples.make", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / f"{name}.toml").read_bytes() == (
        ROOT / "sample_sessions" / f"{name}.toml"
    ).read_bytes()


def test_the_torn_sample_says_what_it_lost() -> None:
    journal = Journal(ROOT / "sample_sessions" / "torn.toml")
    assert not journal.closed
    assert len(journal.index.damage) == 2
    assert "bytes are damaged or cut" in journal.losses()[0]


def test_the_lab_night_ends_in_the_story_s_verdict() -> None:
    night = ROOT / "sample_sessions" / "lab-night.toml"
    done = subprocess.run(
        [sys.executable, "-m", "console", "compare", night, night],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("FASTER by 19.0 % [17.5, 20.5]")


def test_strict_scrubbing_keeps_a_night_comparable(tmp_path: Path) -> None:
    night, clean = ROOT / "sample_sessions" / "lab-night.toml", tmp_path / "clean.toml"
    scrub: list[str | Path] = ["session", "scrub", night, clean, "--redact", "strict"]
    compare: list[str | Path] = ["compare", clean, clean]
    for words in (scrub, compare):
        done = subprocess.run(
            [sys.executable, "-m", "console", *words],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("FASTER by 19.0 %")
