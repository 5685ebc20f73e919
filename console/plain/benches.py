"""How far the benchmarks of a live session are, for whoever has no screen.

Says it at every run, and now and then between, in the words of the screen. It must never tell of a
replay, whose benchmarks are long over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from console.control.port import Control
from console.model.text import plain
from console.render.bench import progress
from console.stream.run_events import BenchStarted, RunMeasured
from console.stream.state import Bench, Item, State


@dataclass(slots=True)
class Benches:
    """Hands (server, text) of every benchmark under way to `say`, every `every_s` at least."""

    control: Control
    every_s: float
    say: Callable[[str, str], None]
    _telling: asyncio.Task[None] | None = field(default=None)

    def take(self, item: Item, state: State) -> None:
        """One item of the timeline."""
        del state
        if isinstance(item, BenchStarted | RunMeasured):
            self._tell()
            if self._telling is None or self._telling.done():
                self._telling = asyncio.create_task(self._keep_telling())

    def close(self) -> None:
        """Say no more."""
        if self._telling is not None:
            self._telling.cancel()

    def _under_way(self) -> list[Bench]:
        benches = self.control.timeline.state.benches.values()
        return [one for one in benches if one.started is not None and one.finished is None]

    async def _keep_telling(self) -> None:
        """Tell it again and again, as long as one is under way."""
        while self._under_way() and await self.control.pass_time(self.every_s):
            self._tell()

    def _tell(self) -> None:
        timeline = self.control.timeline
        for bench in self._under_way():
            assert bench.started is not None
            server = bench.started.server
            token = timeline.state.servers[server].token
            self.say(plain(server), progress(bench, token, timeline.now_us))
