"""A look at running servers for a command: read once, nothing recorded, nothing changed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock, utc_text
from console.model.exits import Exit, NotStarted
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.version import written_version
from console.services.live import Watch, watch_fleet
from console.session.environments import EnvironmentKeeper, wanted
from console.store.environments import environments_path
from console.store.fleet import find_fleet, load_fleet
from console.stream.session_events import SessionOpened
from console.stream.timeline import Timeline
from console.stream.watch import rules


@dataclass(frozen=True, slots=True)
class Look:
    """A watched fleet, what is known of it, and what was kept of it."""

    fleet: Fleet
    watch: Watch
    timeline: Timeline
    keeper: EnvironmentKeeper


def given_fleet(options: Namespace) -> Fleet:
    """The fleet that is named or found.

    Raises:
        NotStarted: there is none.
        BadFile: it is wrong.
    """
    path = find_fleet(options.fleet)
    if path is None:
        raise NotStarted(Exit.USAGE, "no fleet.toml here or in the configuration folder: --fleet")
    return load_fleet(path)


def checked(fleet: Fleet, server: str) -> str:
    """The name, if the fleet has such a server.

    Raises:
        NotStarted: it has not.
    """
    names = [one.name for one in fleet.servers]
    if server not in names:
        known = ", ".join(names)
        raise NotStarted(Exit.USAGE, f'no server is named "{server}" (known: {known})')
    return server


@asynccontextmanager
async def looking(fleet: Fleet) -> AsyncIterator[Look]:
    """Connections to the fleet's hosts as they are needed, closed at the end."""
    clock, masks, pace = SystemClock(), Masks(), Pace()
    timeline = Timeline(clock, rules(pace))
    name, writer = clean(fleet.name, masks), clean(f"spec-console {written_version()}", masks)
    opened = SessionOpened(writer, name, Clean("live"), Clean(utc_text(clock.utc())))
    timeline.open([opened])
    keeper = EnvironmentKeeper(environments_path(), fleet, timeline.emit, masks)
    async with watch_fleet(fleet, timeline, clock, pace, masks, Nobody(), on_demand=True) as watch:
        for event in (*keeper.known(), *wanted(fleet, masks)):
            timeline.emit(event)
        timeline.subscribe(keeper.take)
        yield Look(fleet, watch, timeline, keeper)
