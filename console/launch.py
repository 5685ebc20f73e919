"""The only place that puts feeds, control and front end together; the use is chosen here, once.

Every way to run ends in an exit code and, where something is wrong, one line that says what.
"""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from console.control.live_session import LiveSession, Refused, Stage
from console.lab.child import LabChild, NoLab
from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.exits import Exit
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.store.fleet import find_fleet, load_fleet
from console.store.toml import BadFile

if TYPE_CHECKING:
    from console.control.live import Live
    from console.control.replay import Replay
    from console.store.theme import Theme


Staging = Callable[[], Awaitable[Stage]]

DEMO_HINTS = (
    "simulated: no GPU, no network; kimi-base runs without the six NCCL variables of its plan",
)


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
    if options.replay is not None:
        return await (_replayed_script(options) if options.script else _replay(options))
    if not options.demo:
        return await _live(options, _given(_fleet(options)))
    lab = LabChild(options.lab_scale, options.assume)
    try:
        return await _live(options, lambda: _scene(lab))
    finally:
        lab.stop()


async def _live(options: Namespace, staging: Staging) -> Exit:
    if options.script is not None:
        return await _script(options, staging)
    return await _interactive(options, staging)


async def _script(options: Namespace, staging: Staging) -> Exit:
    from console.plain.run import run_script

    session, stage = LiveSession(options), await staging()
    async with session.live(stage, Nobody(), on_demand=True) as live:
        return await run_script(options, live, stage.fleet)


async def _replayed_script(options: Namespace) -> Exit:
    from console.plain.run import run_script

    replay = open_replay(options.replay)
    return await run_script(options, replay, replay.fleet())


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


async def _interactive(options: Namespace, staging: Staging) -> Exit:
    from console.ui.ask import Dialogs
    from console.ui.run import run

    session, dialogs = LiveSession(options), Dialogs()
    async with AsyncExitStack() as stack:

        async def opening() -> Live:
            live = session.live(await staging(), dialogs, on_demand=False)
            return await stack.enter_async_context(live)

        return await run(
            opening, session.clock, session.pace, _theme(options), dialogs, session.recorded
        )


def _given(fleet: Fleet) -> Staging:
    async def staging() -> Stage:
        return Stage(fleet)

    return staging


async def _scene(lab: LabChild) -> Stage:
    """The demo's fleet, and what to look at first."""
    try:
        scene = await lab.ready()
    except NoLab as error:
        raise Refused(Exit.STEP, str(error)) from error
    # What the demo keeps lies in the lab's own folder: that goes however either of them ends.
    os.environ["SPEC_CONSOLE_STATE"] = str(Path(scene.fleet).parent / "console-state")
    fleet = replace(load_fleet(scene.fleet), name="demo (simulated)")
    return Stage(fleet, "simulated", DEMO_HINTS)


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


def _theme(options: Namespace) -> Theme:
    from console.store.theme import load_theme

    return load_theme(options.theme or "dark")


def _tell(text: str) -> None:
    print(f"spec-console: {text}", file=sys.stderr)
