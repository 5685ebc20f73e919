"""The only bridge from the stream to the screen: reads the newest State at a steady pace.

There is no queue: what came and went between two looks is in the stores, not on the screen. After
a rest the first event is looked at as it comes; from then on the pace holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.control.port import Control
from console.model.clock import Clock, Pace
from console.model.verb import Need
from console.model.verbs import VERBS
from console.model.zone import UTC_ZONE
from console.render.header import Mode
from console.stream.state import Item, State
from console.ui.sight import Sight


class Follow:
    """Looks at the timeline and hands what it saw to `show`.

    Args:
        recorded: how many bytes are recorded so far; None for nobody who could say.
        zone: the time zone that clocks are shown in.
    """

    def __init__(
        self,
        control: Control,
        clock: Clock,
        pace: Pace,
        show: Callable[[Sight], None],
        recorded: Callable[[], int | None] | None = None,
        zone: str = UTC_ZONE,
    ) -> None:
        self._control = control
        self._clock = clock
        self._pace = pace
        self._show = show
        self._recorded = recorded
        self._zone = zone
        self._mode = Mode()
        self._mode_second = -1
        self._news = asyncio.Event()

    def look(self) -> None:
        """Look once, now."""
        timeline = self._control.timeline
        self._show(
            Sight(
                timeline.state, timeline.now_us, timeline.logs, timeline.series, self._read_mode()
            )
        )

    async def run(self) -> None:
        """Look at every beat of the pace, for as long as it runs."""
        timeline = self._control.timeline
        timeline.subscribe(self._came)
        try:
            while True:
                had_news = self._news.is_set()
                self._news.clear()
                self.look()
                await self._beat(had_news)
        finally:
            timeline.unsubscribe(self._came)

    def _came(self, _item: Item, _state: State) -> None:
        self._news.set()

    async def _beat(self, had_news: bool) -> None:
        """Until the next look: a whole beat after news, at most one after none."""
        waits = [asyncio.ensure_future(self._clock.sleep(self._pace.screen_s))]
        if not had_news:
            waits.append(asyncio.ensure_future(self._wait_for_news()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _wait_for_news(self) -> None:
        await self._news.wait()

    def _read_mode(self) -> Mode:
        second = self._clock.now_us() // 1_000_000
        if second != self._mode_second:
            self._mode_second = second
            can = self._control.can
            self._mode = Mode(
                replay=self._control.playback is not None,
                read_only=not any(
                    verb.need is Need.UNLOCK and can(verb.id) is None for verb in VERBS.values()
                ),
                recorded_bytes=self._recorded() if self._recorded else None,
                zone=self._zone,
            )
        return self._mode
