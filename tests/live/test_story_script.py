"""The whole story as one script on the simulated box: from wrong belief to right conclusion.

What a run says is held against a golden text, its figures left out: those are for the verdicts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from console.cli import parser
from console.control.live_session import LiveSession, Stage
from console.model.ask import Nobody
from console.model.clock import Pace
from console.model.exits import Exit
from console.plain.run import run_script
from console.session.journal import Journal
from console.store.fleet import load_fleet
from console.stream.run_events import VerdictReached
from tests.lab.running import lab
from tests.live.fleets import ROOT
from tests.plain.test_script import golden

pytestmark = [pytest.mark.rig, pytest.mark.alone]

SCALE = 25.0
SCRIPT = ROOT / "sample_sessions" / "scripts" / "whole-night.toml"
YES = ("--apply", "--yes-target", "kimi-base", "--yes-target", "kimi-eagle3")


def pace(scale: float) -> Pace:
    """Loads are simulated and run faster; what this machine itself has to do does not."""
    return replace(
        Pace().scaled(scale),
        kill_grace_s=15.0,
        read_deadline_s=Pace().read_deadline_s,
        health_deadline_s=Pace().health_deadline_s,
    )


def told(err: str) -> str:
    """What was done and how it ended: step lines without their figures."""
    lines = []
    for line in err.splitlines():
        found = re.match(
            r"\S+Z  (\S+ +\w+(?: kimi-\w+)?: (?:passed|left out|FAILED.*?))(?:  |$)", line
        )
        if found is not None:
            lines.append(found[1])
    return "\n".join(lines) + "\n"


async def test_the_story_ends_in_the_right_conclusion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(tmp_path / "state"))
    night = tmp_path / "night.toml"
    page = tmp_path / "night.md"
    options = parser().parse_args(
        [
            *YES,
            "--script",
            str(SCRIPT),
            "--record",
            str(night),
            "--summary",
            str(page),
            "--var",
            "tokens=120",
        ]
    )
    with lab(tmp_path / "lab", scale=SCALE) as running:
        fleet = load_fleet(running.ready["fleet"])
        session = LiveSession(options, pace(SCALE))
        async with session.live(Stage(fleet, "simulated"), Nobody(), on_demand=True) as live:
            code = await run_script(options, live, fleet)
    shown = capsys.readouterr()
    assert code is Exit.OK, shown.err
    golden("whole-night.txt", told(shown.err))
    verdicts = [e for e in Journal(night).events() if isinstance(e, VerdictReached)]
    assert [one.verdict for one in verdicts[:2]] == ["NOT COMPARABLE", "FASTER"]
    assert verdicts[0].text.startswith(
        "NOT COMPARABLE: baseline was assumed, not measured (90 tok/s"
    )
    assert verdicts[2].verdict in ("FASTER", "SLOWER", "SAME", "UNCLEAR", "NO DIFFERENCE SHOWN")
    assert "## whole-night: passed" in page.read_text()
