"""The only place that puts feeds, control and front end together; the use is chosen here, once.

Every way to run ends in an exit code and, where something is wrong, one line that says what.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from console.model.ask import Ask, Nobody
from console.model.clock import Pace, SystemClock, utc_text
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.version import written_version
from console.session.recorder import Recorder, started
from console.session.shelf import make_room, new_path
from console.store.fleet import find_fleet, load_fleet
from console.store.folders import sessions_folder
from console.store.toml import BadFile
from console.stream.session_events import SessionClosed, SessionOpened
from console.stream.timeline import Timeline, pair_clock
from console.stream.watch import RULES

if TYPE_CHECKING:
    from console.control.live import Live
    from console.control.replay import Replay
    from console.store.theme import Theme


class Refused(Exception):
    """Nothing was started; the text says why, the code is how the program ends."""

    def __init__(self, code: Exit, text: str) -> None:
        super().__init__(text)
        self.code = code


def launch(options: Namespace) -> Exit:
    """Run as the options say."""
    try:
        return asyncio.run(_chosen(options))
    except BadFile as error:
        _tell(str(error))
        return Exit.USAGE
    except Refused as error:
        _tell(str(error))
        return error.code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told, not even by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.STEP


async def _chosen(options: Namespace) -> Exit:
    if options.demo and not options.replay:
        options.replay = str(_demo_session())
    if options.script is not None:
        return await _script(options)
    if options.replay is not None:
        return await _replay(options)
    return await _interactive(options)


async def _script(options: Namespace) -> Exit:
    from console.plain.run import run_script

    if options.replay is not None:
        replay = open_replay(options.replay)
        return await run_script(options, replay, replay.fleet())
    fleet = _fleet(options)
    session = LiveSession(options, fleet)
    async with session.live(Nobody(), on_demand=True) as live:
        return await run_script(options, live, fleet)


async def _replay(options: Namespace) -> Exit:
    from console.ui.run import run

    replay = open_replay(options.replay)
    for loss in replay.player.journal.losses():
        _tell(f"{options.replay}: {loss}")
    playing: list[asyncio.Task[None]] = []

    async def opening() -> Replay:
        replay.player.playing = True
        playing.append(asyncio.create_task(replay.run()))
        return replay

    try:
        return await run(opening, SystemClock(), Pace(), _theme(options))
    finally:
        for task in playing:
            task.cancel()


async def _interactive(options: Namespace) -> Exit:
    from console.ui.ask import Dialogs
    from console.ui.run import run

    session = LiveSession(options, _fleet(options))
    dialogs = Dialogs()
    async with AsyncExitStack() as stack:

        async def opening() -> Live:
            return await stack.enter_async_context(session.live(dialogs, on_demand=False))

        return await run(
            opening, session.clock, session.pace, _theme(options), dialogs, session.recorded
        )


class LiveSession:
    """A live session about to begin: its clock, its timeline and where it is recorded."""

    def __init__(self, options: Namespace, fleet: Fleet) -> None:
        self.fleet = fleet
        self.clock = SystemClock()
        self.pace = Pace().scaled(options.lab_scale)
        self.masks = Masks()
        self.timeline = Timeline(self.clock, RULES)
        self.recorder = _recorder(options, self)

    def recorded(self) -> int | None:
        """Bytes recorded so far, or None when nothing is recorded."""
        recorder = self.recorder
        return None if recorder is None or recorder.stopped else recorder.size

    @asynccontextmanager
    async def live(self, ask: Ask, *, on_demand: bool) -> AsyncIterator[Live]:
        """Watch the fleet and record, for as long as the body runs."""
        from console.control.live import Live
        from console.services.live import watch_fleet

        timeline, recorder = self.timeline, self.recorder
        timeline.open([self._opened()])
        running: list[asyncio.Task[None]] = []
        if recorder is not None:
            running.append(asyncio.create_task(recorder.run(self.clock, self.pace)))
        try:
            async with watch_fleet(
                self.fleet, timeline, self.clock, self.pace, self.masks, ask, on_demand=on_demand
            ) as watch:
                running.append(asyncio.create_task(pair_clock(timeline, self.clock, self.pace)))
                if recorder is not None:
                    timeline.emit(started(recorder.path))
                yield Live(watch, timeline, self.clock, self.masks, recorder)
        except WireError as error:
            raise Refused(error.kind.exit, str(error)) from error
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            timeline.emit(SessionClosed(Clean("left")))
            if recorder is not None:
                recorder.close()

    def _opened(self) -> SessionOpened:
        return SessionOpened(
            clean(f"spec-console {written_version()}", self.masks),
            clean(self.fleet.name, self.masks),
            Clean("live"),
            Clean(utc_text(self.clock.utc())),
            clean(platform.node(), self.masks),
        )


def _recorder(options: Namespace, session: LiveSession) -> Recorder | None:
    """The recorder, unless told not to record, or unable to."""
    if options.no_record:
        return None
    emit = session.timeline.emit
    try:
        if options.record is not None:
            path = Path(options.record)
        else:
            folder = sessions_folder()
            room = make_room(folder)
            for told in room.said():
                _tell(told)
            if room.full:
                return None
            path = new_path(folder, session.clock.utc(), session.fleet.name)
        recorder = Recorder(path, emit)
    except OSError as error:
        named = options.record or "the state folder"
        why = f"cannot record to {named}: {(error.strerror or str(error)).lower()}"
        if options.record is not None:
            raise Refused(Exit.USAGE, why) from error
        _tell(f"{why}; going on without a recording")
        return None
    session.timeline.subscribe(recorder.take)
    return recorder


def _fleet(options: Namespace) -> Fleet:
    path = find_fleet(options.fleet)
    if path is None:
        raise Refused(
            Exit.USAGE,
            "no fleet.toml here or in the configuration folder; --fleet FILE names one, "
            "--demo needs none",
        )
    return load_fleet(path)


def open_replay(path: str) -> Replay:
    """A control over a saved session.

    Raises:
        Refused: the file is no session.
    """
    from console.control.replay import Replay
    from console.session.journal import Journal, NotASession

    try:
        return Replay(Journal(path), SystemClock(), Masks())
    except NotASession as error:
        raise Refused(Exit.USAGE, str(error)) from error


def _demo_session() -> Path:
    from console.store.folders import bundled

    return bundled("sample_sessions") / "story.toml"


def _theme(options: Namespace) -> Theme:
    from console.store.theme import load_theme

    return load_theme(options.theme or "dark")


def _tell(text: str) -> None:
    print(f"spec-console: {text}", file=sys.stderr)
