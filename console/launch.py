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

from console.lab.child import LabChild, NoLab
from console.model.clock import Pace, SystemClock
from console.model.exits import Exit, NotStarted
from console.store.toml import BadFile

if TYPE_CHECKING:
    from console.control.live import Live
    from console.control.live_session import Stage
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
    except NotStarted as error:
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
        return await _live(options, lambda: _fleet(options))
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
    from console.control.live_session import LiveSession
    from console.model.ask import Nobody
    from console.plain.run import run_script

    session, stage = LiveSession(options), await staging()
    async with session.live(stage, Nobody(), on_demand=True) as live:
        return await run_script(options, live, stage.fleet)


async def _replayed_script(options: Namespace) -> Exit:
    from console.plain.run import run_script

    replay = open_replay(options.replay)
    return await run_script(options, replay, replay.fleet())


async def _replay(options: Namespace) -> Exit:
    """The screen first: what is slow to load comes once it is there."""
    from console.ui.run import run

    async with AsyncExitStack() as stack:

        async def opening() -> Replay:
            replay = open_replay(options.replay)
            replay.player.playing = True
            stack.callback(asyncio.create_task(replay.run()).cancel)
            return replay

        return await run(opening, SystemClock(), Pace(), _theme(options))


async def _interactive(options: Namespace, staging: Staging) -> Exit:
    """The screen first: what is slow to load comes once it is there."""
    from console.ui.ask import Dialogs
    from console.ui.run import run

    sizes: list[Callable[[], int | None]] = []
    dialogs = Dialogs()
    async with AsyncExitStack() as stack:

        async def opening() -> Live:
            from console.control.live_session import LiveSession

            session = LiveSession(options)
            sizes.append(session.recorded)
            live = session.live(await staging(), dialogs, on_demand=False)
            return await stack.enter_async_context(live)

        def recorded() -> int | None:
            return sizes[0]() if sizes else None

        pace = Pace().scaled(options.lab_scale)
        return await run(opening, SystemClock(), pace, _theme(options), dialogs, recorded)


async def _scene(lab: LabChild) -> Stage:
    """The demo's fleet, and what to look at first."""
    from console.control.live_session import Stage
    from console.store.fleet import load_fleet

    try:
        scene = await lab.ready()
    except NoLab as error:
        raise NotStarted(Exit.STEP, str(error)) from error
    # What the demo keeps lies in the lab's own folder: that goes however either of them ends.
    os.environ["SPEC_CONSOLE_STATE"] = str(Path(scene.fleet).parent / "console-state")
    fleet = replace(load_fleet(scene.fleet), name="demo (simulated)")
    return Stage(fleet, "simulated", DEMO_HINTS)


async def _fleet(options: Namespace) -> Stage:
    """The fleet of the file named or found."""
    from console.control.live_session import Stage
    from console.store.fleet import find_fleet, load_fleet

    path = find_fleet(options.fleet)
    if path is None:
        raise NotStarted(
            Exit.USAGE,
            "no fleet.toml here or in the configuration folder; --fleet FILE names one, "
            "--demo needs none",
        )
    return Stage(load_fleet(path))


def open_replay(path: str) -> Replay:
    """A control over a saved session.

    Raises:
        NotStarted: the file is no session.
    """
    from console.control.replay import Replay
    from console.model.mask import Masks
    from console.session.journal import Journal, NotASession

    try:
        return Replay(Journal(path), SystemClock(), Masks())
    except NotASession as error:
        raise NotStarted(Exit.USAGE, str(error)) from error


def _theme(options: Namespace) -> Theme:
    from console.store.theme import load_theme

    return load_theme(options.theme or "dark")


def _tell(text: str) -> None:
    print(f"spec-console: {text}", file=sys.stderr)
