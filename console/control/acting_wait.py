"""Waiting for a server that was just launched: ready, failed, gone, stalled; and how far it is.

Owns when a load counts as which. A deadline only warns while progress is visible; what ends the
wait is a reason. It launches and stops nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.model.clock import US_PER_S, Clock, Pace
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.text import Clean, plain
from console.services.launcher import Launched
from console.services.process import HostCommands
from console.stream.logs import last_lines, lines
from console.stream.server_events import HealthSeen, LoadAdvanced, LoadEnded, LogAdvanced
from console.stream.state import Item, State
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.services.live import Watch

_OK = 200
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Waited:
    """How a wait ended: `exit` OK means ready; `lines` are those of the log that show why not."""

    exit: Exit
    text: str
    took_us: int
    lines: tuple[Clean, ...] = ()
    alive: bool = True


@dataclass(slots=True)
class Readiness:
    """One wait for one launch.

    Attributes:
        say: told how far it is, when that changes and every `progress_s`.
        tick: called at every look.
    """

    server: str
    port: int
    launched: Launched
    watch: Watch
    timeline: Timeline
    commands: HostCommands
    clock: Clock
    pace: Pace
    say: Callable[[str], None]
    tick: Callable[[], Awaitable[object]]
    _begun_us: int = 0
    _moved_us: int = 0
    _far: str = "no sign of progress yet"
    _ended: LoadEnded | None = None
    _answered: bool = False
    _read_to: int = 0
    _size: int = 0

    async def wait(self, ready_s: float) -> Waited:
        """Until it is ready and stays so for `act_settle_s`, or until it is clear that it is not.

        Raises:
            WireError: the host was not reached for `act_link_s`.
        """
        self._begun_us = self._moved_us = told_us = self.clock.now_us()
        warned, told = False, ""
        asking: asyncio.Task[HealthSeen] | None = None
        asked_us = 0
        with self._listening():
            try:
                while True:
                    over = await self._over(asking)
                    if over is not None:
                        return over
                    now_us = self.clock.now_us()
                    if asking is not None and asking.done():
                        if asking.result().code == _OK and (done := await self._ready()):
                            return done
                        asking = None
                    if (
                        asking is None
                        and now_us - asked_us >= self.pace.health_starting_s * US_PER_S
                    ):
                        asked_us = now_us
                        asking = asyncio.create_task(self.watch.ask_health(self.server))
                    late = now_us - self._begun_us > ready_s * US_PER_S
                    if late and not warned:
                        warned = True
                        self.say(f"not ready after {ready_s:g} s, but it moves: {self._far}")
                    if self._far != told or now_us - told_us >= self.pace.progress_s * US_PER_S:
                        told, told_us = self._far, now_us
                        self.say(self._far)
                    await self.tick()
                    await self._pause(asking)
            finally:
                if asking is not None:
                    asking.cancel()
                    await asyncio.gather(asking, return_exceptions=True)

    async def _pause(self, asking: asyncio.Task[HealthSeen] | None) -> None:
        """Until the next look, or an answer."""
        sleeping = asyncio.ensure_future(self.clock.sleep(self.pace.act_look_s))
        waits: set[asyncio.Future[Any]] = {sleeping}
        if asking is not None:
            waits.add(asking)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()

    async def _over(self, asking: asyncio.Task[HealthSeen] | None) -> Waited | None:
        """Why there is no more to wait for."""
        alive = await self._alive()
        if not alive:
            if asking is not None:
                # What it answered before it went may still be on its way.
                await asyncio.wait([asking], timeout=self.pace.act_settle_s)
            await self._last_words()
        ended = self._ended
        if ended is not None and not ended.ready:
            alive = alive and not await self._goes()
            return self._result(Exit.STEP, str(ended.why), alive, ended)
        if not alive:
            text = f"process {self.launched.pid} ended before it was ready"
            if self._answered:
                text = "died after it was ready"
            shown = await self.commands.last_lines(self.launched.log, _SHOWN)
            return replace(self._result(Exit.STEP, text, alive), lines=shown)
        quiet = self.clock.now_us() - self._moved_us > self.pace.stall_s * US_PER_S
        if quiet and not await self._grew():
            text = f"stalled: nothing moved for {self.pace.stall_s:g} s; {self._far}"
            return self._result(Exit.DEADLINE, text, alive)
        return None

    async def _grew(self) -> bool:
        """Whether the log of a server that nobody follows has grown since this was asked last."""
        if self.watch.fleet.server(self.server).log is not None:
            return False
        before, self._size = self._size, await self.commands.size(self.launched.log)
        if self._size <= before:
            return False
        self._far = f"its log has {self._size:,} bytes"
        self._moved_us = self.clock.now_us()
        return True

    async def _alive(self) -> bool:
        seen = await self.commands.look([self.launched.pid])
        leader = seen.get(self.launched.pid)
        if leader is not None and leader.alive and self.launched.is_it(leader):
            return True
        return bool(await self.commands.members(self.launched.pid)) and leader is None

    async def _last_words(self) -> None:
        """Let all that it wrote be read: what its last lines say is the reason."""
        if self.watch.fleet.server(self.server).log is None:
            return
        size = await self.commands.size(self.launched.log)
        since_us = self.clock.now_us()
        while self._read_to < size and not self._is_failed:
            if self.clock.now_us() - since_us > self.pace.kill_grace_s * self.pace.scale * US_PER_S:
                return
            await self.clock.sleep(self.pace.tail_look_s / 4)

    async def _goes(self) -> bool:
        """Whether a process whose load failed ends by itself, given some time."""
        since_us = self.clock.now_us()
        while await self._alive():
            if self.clock.now_us() - since_us > self.pace.kill_grace_s * self.pace.scale * US_PER_S:
                return False
            await self.tick()
            await self.clock.sleep(self.pace.act_look_s)
        return True

    @property
    def _is_failed(self) -> bool:
        return self._ended is not None and not self._ended.ready

    async def _ready(self) -> Waited | None:
        """It answers: is it the one that was launched, and does it last?"""
        tree = await self.commands.tree(self.port)
        if tree.launcher is None:
            return None
        if not self.launched.is_it(tree.launcher):
            pid = tree.launcher.identity.pid
            text = f"port {self.port} is answered by another process ({pid})"
            return self._result(Exit.STEP, text, await self._alive())
        took_us = self.clock.now_us() - self._begun_us
        self.say(f"ready after {took_us / US_PER_S:.1f} s; seeing whether it lasts")
        since_us = self.clock.now_us()
        while self.clock.now_us() - since_us < self.pace.act_settle_s * US_PER_S:
            if not await self._alive():
                await self._last_words()
                why = str(self._ended.why) if self._ended and not self._ended.ready else ""
                text = "died after it was ready" + (f": {why}" if why else "")
                return self._result(Exit.STEP, text, False, self._ended)
            await self.tick()
            await self.clock.sleep(self.pace.act_look_s)
        seen = await self.watch.ask_health(self.server)
        if seen.code != _OK:
            said = seen.code if seen.code is not None else seen.why or "nothing"
            return self._result(Exit.STEP, f"ready, then its health was {said}", True)
        return Waited(Exit.OK, f"ready after {took_us / US_PER_S:.1f} s", took_us)

    def _result(self, code: Exit, text: str, alive: bool, ended: LoadEnded | None = None) -> Waited:
        log, logs = LogId(self.server), self.timeline.logs
        _, end = logs.reach(log)
        shown: tuple[Clean, ...] = ()
        if ended is not None and ended.first_line is not None and not ended.ready:
            # The cause stands first; what follows from it may go on for hundreds of lines.
            last = ended.first_line + min(max(1, ended.line_count), _SHOWN)
            shown = tuple(lines(logs, log, ended.first_line, min(last, end)))
        elif end:
            shown = tuple(last_lines(logs, log, _SHOWN, end))
        return Waited(code, text, self.clock.now_us() - self._begun_us, shown, alive)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        self.timeline.subscribe(self._take)
        try:
            yield
        finally:
            self.timeline.unsubscribe(self._take)

    def _take(self, item: Item, _state: State) -> None:
        match item:
            case LoadAdvanced() if item.server == self.server:
                part = f" {item.done}/{item.total}" if item.total else ""
                self._far = plain(Clean(f"{item.phase}{part}"))
                self._moved_us = self.clock.now_us()
            case LoadEnded() if item.server == self.server:
                self._ended = item
            case HealthSeen() if item.server == self.server:
                self._answered = self._answered or item.code == _OK
            case LogAdvanced() if item.log == self.server:
                self._moved_us = self.clock.now_us()
                self._read_to = item.byte[1] if item.byte else self._read_to
            case _:
                pass
