"""What ends a step before it ends itself: a log line, a process gone, nothing that moves, time.

Follows the stream while a step runs. Decides nothing about servers: it only looks for what the
script names, and says which of it came.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from contextlib import suppress

from console.control.arguments import PROCESS_EXIT, Step, until_log
from console.control.port import Control, Outcome
from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import clean, plain
from console.stream.fact import Standing
from console.stream.logs import last_lines, lines
from console.stream.run_events import ActAdvanced, RunMeasured
from console.stream.server_events import LoadAdvanced, LogAdvanced, StandingChanged, TokenSeen
from console.stream.state import Item, State

MOST_LINES = 50
_ACCESS = re.compile(r'"[A-Z]+ /\S* HTTP/')
"""A poll writes such a line itself: no sign that anything moves."""
_LOOKS = 8


class Watchdog:
    """The watchdog of one step on one server.

    Args:
        until_us: when the whole script is over; None for never.
    """

    def __init__(
        self, control: Control, step: Step, server: str, masks: Masks, until_us: int | None
    ) -> None:
        self._control = control
        self._step = step
        self._server = server
        self._masks = masks
        self._until_us = until_us
        self._patterns = [
            (text, found) for text in step.fail_fast if (found := until_log(text)) is not None
        ]
        self._moved_us = control.timeline.now_us
        logs = control.timeline.state.logs
        self._followed = {name for name, log in logs.items() if log.feed is not None}
        self._was_up = False
        self._said: Outcome | None = None
        self._tripped = asyncio.Event()

    def __enter__(self) -> Watchdog:
        self._control.timeline.subscribe(self.take)
        return self

    def __exit__(self, *_: object) -> None:
        self._control.timeline.unsubscribe(self.take)

    def take(self, item: Item, _state: State) -> None:
        """Look at what comes."""
        match item:
            case LogAdvanced() if item.log.partition("/")[0] == self._server:
                self._read(LogId(item.log), item.first, item.first + item.count)
            case LoadAdvanced() | TokenSeen() if item.server == self._server:
                self._moved()
            case StandingChanged() if item.server == self._server:
                self._moved()
                gone = item.standing is Standing.DOWN and self._was_up
                self._was_up = item.standing not in (Standing.DOWN, Standing.UNKNOWN)
                if gone and PROCESS_EXIT in self._step.fail_fast:
                    self._trip(Exit.STEP, f"{self._server} is gone: {plain(item.why)}")
            case RunMeasured() | ActAdvanced():
                self._moved()
            case _:
                pass
        self.over()

    def over(self) -> Outcome | None:
        """Why the step ends now; None while it goes on."""
        now_us, stall_s = self._control.timeline.now_us, self._step.stall_s
        if self._until_us is not None and now_us >= self._until_us:
            self._trip(Exit.DEADLINE, "the time of the whole script is over")
        elif stall_s and now_us - self._moved_us >= stall_s * US_PER_S:
            self._trip(Exit.DEADLINE, f"nothing moved for {stall_s:g} s")
        return self._said

    async def around(self, work: Coroutine[object, object, Outcome]) -> Outcome:
        """Do the work, ended early where that has to be."""
        running = asyncio.ensure_future(work)
        looking = asyncio.ensure_future(self._look())
        try:
            await asyncio.wait((running, looking), return_when=asyncio.FIRST_COMPLETED)
            if not running.done() and self._said is not None:
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running
                return self._said
            return await running
        except asyncio.CancelledError:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            raise
        finally:
            looking.cancel()

    async def _look(self) -> None:
        """Return once the step has to end."""
        waits = [self._step.stall_s / _LOOKS] if self._step.stall_s else []
        waits += [1.0] if self._until_us is not None else []
        while self.over() is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.05, min(waits)) if waits else None):
                    await self._tripped.wait()

    def _read(self, log: LogId, first: int, end: int) -> None:
        # What a log held before anybody followed it is no news of this step.
        if (first == 0 and log not in self._followed) or self._said is not None:
            return
        for line in lines(self._control.timeline.logs, log, first, end):
            said = plain(line)
            if not _ACCESS.search(said):
                self._moved()
            for text, pattern in self._patterns:
                if pattern.search(said):
                    self._trip(Exit.STEP, f"{text} in {log}: {said}")
                    return

    def _moved(self) -> None:
        self._moved_us = self._control.timeline.now_us

    def _trip(self, code: Exit, why: str) -> None:
        if self._said is not None:
            return
        timeline = self._control.timeline
        log = timeline.state.logs.get(self._server)
        end = log.mark.end if log is not None else 0
        newest = last_lines(timeline.logs, LogId(self._server), MOST_LINES, end) if end else ()
        kept = tuple(newest) if code is Exit.STEP else ()
        self._said = Outcome(code, clean(f"{self._step.verb} ended: {why}", self._masks), {}, kept)
        self._tripped.set()
