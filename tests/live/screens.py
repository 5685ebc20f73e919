"""The real screen over a live session in this process, for tests that look at it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console.cli import parser
from console.control.live_session import LiveSession, Stage
from console.control.port import Control
from console.model.ask import Nobody
from console.model.clock import Pace
from console.store.fleet import load_fleet
from console.store.preferences import Settings
from console.store.theme import load_theme
from console.ui.app import ConsoleApp
from tests.rig.waiting import auntil

PACE = replace(
    Pace(),
    health_starting_s=0.1,
    health_up_s=0.2,
    health_deadline_s=1.0,
    screen_s=0.02,
    tail_look_s=0.1,
    connect_deadline_s=5.0,
    reconnect_first_s=0.1,
    reconnect_most_s=0.3,
)


def options(*arguments: str) -> Namespace:
    """The program's own options."""
    return parser().parse_args(arguments)


@dataclass
class Shown:
    """A screen with a live session behind it."""

    app: ConsoleApp
    pilot: Pilot[Any]

    def text(self) -> str:
        """What stands on it."""
        return "\n".join(
            "".join(segment.text for segment in strip)
            for strip in self.app.screen._compositor.render_strips()
        )

    async def wait_for(self, *words: str, deadline_s: float = 20.0) -> None:
        """Return once all these words stand on it."""

        def all_there() -> bool:
            return all(word in self.text() for word in words)

        try:
            await auntil(all_there, deadline_s)
        except AssertionError as error:
            raise AssertionError(f"{words} not on\n{self.text()}") from error


@asynccontextmanager
async def shown(
    fleet: Path, record: Path, size: tuple[int, int] = (120, 40), pace: Pace = PACE
) -> AsyncIterator[Shown]:
    """The console on a fleet file, recorded."""
    session = LiveSession(options("--record", str(record)), pace)
    async with session.live(Stage(load_fleet(fleet)), Nobody(), on_demand=False) as live:

        async def opening() -> Control:
            return live

        app = ConsoleApp(opening, session.clock, Settings(pace=pace), load_theme("dark"))
        async with app.run_test(size=size) as pilot:
            yield Shown(app, pilot)
            await pilot.press("q")
