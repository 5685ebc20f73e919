"""A simulated server under the console's own services, and what they say of it in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Fleet, Host, LogSource, Server, Slot
from console.model.mask import Masks
from console.services.live import Watch, watch_fleet
from console.stream.fact import Standing
from console.stream.server_events import StandingChanged
from console.stream.state import Item, State
from console.stream.timeline import Timeline, pair_clock
from console.stream.watch import rules
from console.transport.http import Http
from console.transport.local import LocalWire
from tests.lab.simulated import Simulated

E = TypeVar("E")

SCALE = 20.0
PACE = Pace().scaled(SCALE)


class Seen:
    """What happened, in order."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.items: list[Item] = []
        timeline.subscribe(self.take)

    def take(self, item: Item, _state: State) -> None:
        self.items.append(item)

    def of(self, kind: type[E]) -> list[E]:
        """Every event of a kind."""
        return [item for item in self.items if isinstance(item, kind)]

    def standings(self, server: str = "spec") -> list[Standing]:
        found = [e for e in self.items if isinstance(e, StandingChanged) and e.server == server]
        return [
            e.standing for n, e in enumerate(found) if not n or found[n - 1].standing != e.standing
        ]

    def standing(self, server: str = "spec") -> Standing:
        return self.timeline.state.standing(server)

    def why(self, server: str = "spec") -> str:
        found = self.timeline.state.servers[server].standing
        return found.why if found else ""


@asynccontextmanager
async def watching(
    server: Simulated, pace: Pace = PACE, tools: Path | None = None
) -> AsyncIterator[tuple[Watch, Seen]]:
    """Watch it as both arms of one slot; `tools` is a folder with the host's nvidia-smi."""
    enter = ("env", f"PATH={tools}:{os.environ['PATH']}") if tools else ()
    url = f"http://127.0.0.1:{server.port}"
    log = LogSource(path=str(server.log_path))
    fleet = Fleet(
        "lab",
        (Host("here", enter=enter),),
        (Slot("slot", "here", port=server.port),),
        (
            Server("base", "slot", Arm.BASELINE, url),
            Server("spec", "slot", Arm.SPECULATIVE, url, log=log),
        ),
    )
    clock = SystemClock()
    timeline = Timeline(clock, rules(pace))
    seen = Seen(timeline)
    async with watch_fleet(fleet, timeline, clock, pace, Masks(), Nobody()) as watch:
        ticking = asyncio.create_task(pair_clock(timeline, clock, pace))
        try:
            yield watch, seen
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)


async def generate(server: Simulated, tokens: int) -> int:
    """Ask for that many tokens; the status code."""
    http = Http(LocalWire(Host("here")), SystemClock())
    body = (
        b'{"text": "once", "sampling_params": {"max_new_tokens": %d, "ignore_eos": true}}' % tokens
    )
    try:
        url = f"http://127.0.0.1:{server.port}/generate"
        return (await http.post(url, body, deadline_s=30, most_bytes=1_000_000)).code
    finally:
        await http.close()
