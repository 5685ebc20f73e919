"""What a person sees at the end of every session that comes along, as text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.control.port import Control
from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.mask import Masks
from console.session.journal import Journal
from console.store.preferences import Settings
from console.store.theme import load_theme
from console.ui.app import ConsoleApp
from tests.samples.test_samples import GOLDEN, SAMPLES
from tests.ui.stage import look, text


async def last_screen(path: Path) -> str:
    replay = Replay(Journal(path), ManualClock(), Masks())
    replay.player.seek(replay.player.length_us)

    async def opening() -> Control:
        return replay

    app = ConsoleApp(opening, ManualClock(), Settings(), load_theme("dark"))
    async with app.run_test(size=(120, 40)) as pilot:
        while not app.is_open and app.defect is None:
            await pilot.pause()
        await look(app, pilot)
        return text(app)


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
async def test_the_last_screen(path: Path) -> None:
    """UPDATE_GOLDEN=1 writes it anew."""
    shown = await last_screen(path)
    golden = GOLDEN / f"{path.stem}.screen.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown + "\n")
    assert shown + "\n" == golden.read_text()
    assert "REPLAY" in shown
