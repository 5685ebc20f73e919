"""The scripts that come along: each without a mistake, and what can run without a server runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.control.replay import Replay
from console.control.script import load_script
from console.model.clock import ManualClock
from console.model.mask import Masks
from console.session.journal import Journal
from tests.plain.test_script import ROOT, STORY, run

SCRIPTS = sorted((ROOT / "sample_sessions" / "scripts").glob("*.toml"))


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_it_has_no_mistake(path: Path) -> None:
    fleet = Replay(Journal(STORY), ManualClock(), Masks()).fleet()
    script = load_script(path, fleet)
    assert script.name == path.stem
    assert len([*script.steps, *(step for one in script.steps for step in one.rounds)]) >= 3


def test_the_recorded_night_proves_that_its_arms_were_never_comparable(tmp_path: Path) -> None:
    script = ROOT / "sample_sessions" / "scripts" / "evidence.toml"
    page = tmp_path / "evidence.md"
    done = run("--script", script, "--replay", STORY, "--summary", page, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("NOT COMPARABLE")
    assert "## evidence: passed" in page.read_text()
    assert os.stat(page).st_size < 10_000
