"""A live session: clock, timeline, recorder and the watched fleet, for as long as it runs.

Chooses nothing about front ends; launch puts one on top.
"""

from __future__ import annotations

import asyncio
import platform
from argparse import Namespace
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.control.guard import Guard
from console.model.ask import Ask
from console.model.clock import Pace, SystemClock, utc_text
from console.model.exits import Exit, NotStarted
from console.model.failure import WireError
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.version import written_version
from console.model.zone import UTC_ZONE
from console.session.environments import EnvironmentKeeper, wanted
from console.session.keeper import Keeper
from console.session.recorder import Recorder, started
from console.session.shelf import make_room, new_path
from console.store.environments import environments_path
from console.store.folders import sessions_folder
from console.store.history import loads_path
from console.stream.session_events import Noticed, SessionClosed, SessionOpened
from console.stream.timeline import Timeline, pair_clock
from console.stream.watch import rules

if TYPE_CHECKING:
    from console.control.live import Live


@dataclass(frozen=True, slots=True)
class Stage:
    """What is watched, and what a session says of it first.

    Attributes:
        origin: `live` or `simulated`.
        hints: notes for the person, shown once.
    """

    fleet: Fleet
    origin: str = "live"
    hints: tuple[str, ...] = ()


class LiveSession:
    """A live session about to begin: its clock, its timeline and where it is recorded."""

    def __init__(self, options: Namespace, pace: Pace, zone: str = UTC_ZONE) -> None:
        self.clock = SystemClock()
        self.pace = pace
        self.masks = Masks()
        self.timeline = Timeline(self.clock, rules(self.pace))
        self.recorder: Recorder | None = None
        self._options = options
        self._zone = zone

    def recorded(self) -> int | None:
        """Bytes recorded so far, or None when nothing is recorded."""
        recorder = self.recorder
        return None if recorder is None or recorder.stopped else recorder.size

    @asynccontextmanager
    async def live(self, stage: Stage, ask: Ask, *, on_demand: bool) -> AsyncIterator[Live]:
        """Watch the fleet and record, for as long as the body runs."""
        from console.control.acting import Acts
        from console.control.live import Live
        from console.services.live import watch_fleet

        timeline = self.timeline
        told = self._record(stage.fleet)
        recorder = self.recorder
        timeline.open([self._opened(stage)])
        running: list[asyncio.Task[None]] = []
        if recorder is not None:
            running.append(self._running("recorder", recorder.run(self.clock, self.pace)))
        try:
            async with watch_fleet(
                stage.fleet, timeline, self.clock, self.pace, self.masks, ask, on_demand=on_demand
            ) as watch:
                pairing = pair_clock(timeline, self.clock, self.pace)
                running.append(self._running("clock", pairing))
                if recorder is not None:
                    timeline.emit(started(recorder.path))
                self._keep(stage.fleet)
                for text in (*stage.hints, *told):
                    said = clean(text, self.masks)
                    timeline.emit(Noticed(Clean("session"), Clean("note"), said))
                path = str(recorder.path) if recorder is not None else ""
                guard = self._guard(attended=not on_demand)
                acts = Acts(watch, timeline, self.clock, self.pace, self.masks, ask, guard, path)
                yield Live(watch, timeline, self.clock, self.masks, recorder, acts)
        except WireError as error:
            raise NotStarted(error.kind.exit, str(error)) from error
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            timeline.emit(SessionClosed(Clean("left")))
            if recorder is not None:
                recorder.close()

    def _running(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """The task of a part that nobody waits for; a defect that ends it is told at once."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            task.get_loop().call_exception_handler({"message": "a defect", "exception": error})
            text = clean(f"{task.get_name()}: stopped by a defect: {error!r}", self.masks)
            self.timeline.emit(Noticed(Clean("session"), Clean("error"), text))

    def _guard(self, *, attended: bool) -> Guard:
        """What the command line permits; a script's dry run permits looking only."""
        options = self._options
        named = frozenset(options.yes_target)
        dry = bool(options.dry_run and options.script)
        return Guard(self.clock, self.pace, options.apply, named, dry, attended, zone=self._zone)

    def _opened(self, stage: Stage) -> SessionOpened:
        return SessionOpened(
            clean(f"spec-console {written_version()}", self.masks),
            clean(stage.fleet.name, self.masks),
            Clean(stage.origin),
            Clean(utc_text(self.clock.utc())),
            clean(platform.node(), self.masks),
        )

    def _keep(self, fleet: Fleet) -> None:
        """Tell what earlier sessions left, and keep what this one learns."""
        timeline = self.timeline
        try:
            path, environments = loads_path(), environments_path()
        except OSError as error:
            text = f"history cannot be kept: {error.strerror or error}"
            timeline.emit(Noticed(Clean("history"), Clean("warning"), clean(text, self.masks)))
            return
        for keeper in (
            Keeper(path, fleet, timeline.emit, self.clock, self.masks, self.pace.scale),
            EnvironmentKeeper(environments, fleet, timeline.emit, self.masks),
        ):
            for known in keeper.known():
                timeline.emit(known)
            timeline.subscribe(keeper.take)
        for asked in wanted(fleet, self.masks):
            timeline.emit(asked)

    def _record(self, fleet: Fleet) -> tuple[str, ...]:
        """Start recording, unless told not to or unable to; what a person should know of it."""
        if self._options.no_record:
            return ()
        told: tuple[str, ...] = ()
        try:
            if self._options.record is not None:
                path = Path(self._options.record)
            else:
                folder = sessions_folder()
                room = make_room(folder)
                told = tuple(room.said())
                if room.full:
                    return told
                path = new_path(folder, self.clock.utc(), fleet.name)
            self.recorder = Recorder(path, self.timeline.emit)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            if self._options.record is not None:
                text = f"cannot record to {self._options.record}: {why}"
                raise NotStarted(Exit.USAGE, text) from error
            return (f"cannot record to the state folder: {why}; going on without a recording",)
        self.timeline.subscribe(self.recorder.take)
        return told
