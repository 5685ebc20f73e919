"""The only place that puts feeds, control and front end together; the use is chosen here, once.

Every way to run ends in an exit code and, where something is wrong, one line that says what.
"""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from console.model.clock import Pace, SystemClock
from console.model.exits import Exit
from console.model.mask import Masks
from console.store.toml import BadFile

if TYPE_CHECKING:
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
    from console.control.start import start_live

    async with start_live(options, on_demand=True) as live:
        return await run_script(options, live, live.fleet)


async def _replay(options: Namespace) -> Exit:
    from console.ui.run import run

    replay = open_replay(options.replay)
    for loss in replay.player.journal.losses():
        _tell(f"{options.replay}: {loss}")
    playing = asyncio.create_task(replay.run())
    replay.player.playing = True
    try:
        return await run(replay, SystemClock(), Pace(), _theme(options))
    finally:
        playing.cancel()


async def _interactive(options: Namespace) -> Exit:
    from console.control.start import start_live
    from console.ui.ask import Dialogs
    from console.ui.run import run

    dialogs = Dialogs()
    async with start_live(options, on_demand=False, ask=dialogs) as live:
        return await run(
            live, live.clock, live.pace, _theme(options), dialogs, live.recorded, live.begin
        )


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
