"""`make screenshots`: pictures of the real program over the recorded night, into docs/."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from console.control.port import Control
from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.mask import Masks
from console.session.journal import Journal
from console.store.preferences import Settings
from console.store.theme import load_theme
from console.ui.app import ConsoleApp
from tests.ui.stage import press

ROOT = Path(__file__).parents[2]
STORY = ROOT / "sample_sessions" / "story.toml"
NIGHT = ROOT / "sample_sessions" / "lab-night.toml"
PICTURES = (
    ("dashboard-120x40", STORY, (120, 40), "dark", "1"),
    ("dashboard-80x24", STORY, (80, 24), "dark", "1"),
    ("dashboard-light", STORY, (120, 40), "light", "1"),
    ("environment-120x40", STORY, (120, 40), "dark", "3"),
    ("bench-120x40", NIGHT, (120, 40), "dark", "4"),
)


async def picture(session: Path, size: tuple[int, int], theme: str, key: str) -> str:
    """A screen at the end of a night, as SVG that needs nothing from elsewhere."""
    replay = Replay(Journal(session), ManualClock(), Masks())
    replay.player.seek(replay.player.length_us)

    async def opening() -> Control:
        return replay

    app = ConsoleApp(opening, ManualClock(), Settings(), load_theme(theme))
    async with app.run_test(size=size) as pilot:
        while not app.is_open:
            await pilot.pause()
        await press(app, pilot, key)
        svg = app.export_screenshot(title="spec-console")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal-1", svg)


def main() -> None:
    """Draw them all."""
    folder = ROOT / "docs"
    folder.mkdir(exist_ok=True)
    for name, session, size, theme, key in PICTURES:
        drawn = asyncio.run(picture(session, size, theme, key))
        (folder / f"{name}.svg").write_text(drawn)
        print(f"docs/{name}.svg")


if __name__ == "__main__":
    main()
