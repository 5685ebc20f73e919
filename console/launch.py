"""The only place that puts feeds, control and front end together; the use is chosen here, once.

Every way to run ends in an exit code and, where something is wrong, one line that says what; after
a defect also where its report lies.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.lab.child import LabChild, NoLab
from console.model.clock import SystemClock
from console.model.exits import Exit, NotStarted
from console.store.preferences import Settings
from console.store.settings import load_settings
from console.store.toml import BadFile

if TYPE_CHECKING:
    from console.control.live import Live
    from console.control.live_session import LiveSession, Stage
    from console.control.replay import Replay
    from console.model.mask import Masks
    from console.store.theme import Theme
    from console.ui.ask import Dialogs

    Staging = Callable[[], Awaitable[Stage]]

STATE_VARIABLE = "SPEC_CONSOLE_STATE"
DEMO_HINTS = (
    "simulated: kimi-base runs without the six NCCL variables of its plan; 3 shows it, b measures",
)


@dataclass(slots=True)
class _Use:
    """One use of the program.

    Attributes:
        masks: of its session, once there is one: what a report of a defect must not show.
        unheard: defects in the background, which nobody waited for.
    """

    options: Namespace
    settings: Settings = field(default_factory=Settings)
    masks: Masks | None = None
    unheard: list[BaseException] = field(default_factory=list)

    def note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What the event loop calls where nobody waits for an exception."""
        error = context.get("exception")
        # A connection that broke while nobody waited for it is weather, not a defect.
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.unheard.append(error)


def launch(options: Namespace) -> Exit:
    """Run as the options say; whatever happens ends in an exit code."""
    use = _Use(options)
    try:
        code = asyncio.run(_chosen(use))
    except BadFile as error:
        _tell(str(error))
        code = Exit.USAGE
    except NotStarted as error:
        if str(error):
            _tell(str(error))
        code = error.code
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told, not even by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.STEP
    except Exception as error:  # noqa: BLE001 - the last resort: a line and a report, no traceback
        return defect(error, use.masks)
    gc.collect()  # what failed in the background is told of when it is forgotten, not before
    for unheard in use.unheard[:1]:
        code = defect(unheard, use.masks)
    return code


def defect(error: BaseException, masks: Masks | None = None) -> Exit:
    """Say that the program stopped because of a defect and write a report for whoever mends it.

    Args:
        masks: what must not be shown, beside what is always recognised as a secret.
    """
    from console.model.mask import Masks
    from console.store.crash import shown, write_report

    masks = masks or Masks()
    told = shown(f"{type(error).__name__}: {error}".partition("\n")[0], masks)
    try:
        where = f"report: {write_report(error, masks, SystemClock().utc())}"
    except OSError as wrong:
        where = f"no report could be written: {(wrong.strerror or str(wrong)).lower()}"
    _tell(f"stopped because of a defect: {told}; {where}")
    return Exit.INTERNAL


async def _chosen(use: _Use) -> Exit:
    from console.store.fleet import find_fleet

    asyncio.get_running_loop().set_exception_handler(use.note)
    options = use.options
    settings = load_settings()
    use.settings = replace(settings, pace=settings.pace.scaled(options.lab_scale))
    if options.replay is not None:
        return await (_replayed_script(use) if options.script else _replay(use))
    if options.demo:
        with _lab(options) as lab:
            return await _live(use, lambda: _scene(lab))
    if options.script is None and find_fleet(options.fleet) is None:
        return await _first_run(use)
    return await _live(use, lambda: _fleet(options))


async def _live(use: _Use, staging: Staging) -> Exit:
    if use.options.script is not None:
        return await _script(use, staging)
    return await _interactive(use, lambda _dialogs: staging())


async def _first_run(use: _Use) -> Exit:
    """Ask what is wanted where there is no fleet file: the demo, or a server to be added."""
    from console.control.first_run import Chosen, FirstRun

    with ExitStack() as stack:

        async def staging(dialogs: Dialogs) -> Stage:
            from console.model.mask import Masks

            settings = use.settings
            first = FirstRun(dialogs, dialogs.tell, SystemClock(), settings.pace, Masks())
            match await first.run():
                case Chosen.DEMO:
                    return await _scene(stack.enter_context(_lab(use.options)))
                case Chosen.ADDED:
                    return await _fleet(use.options)
                case Chosen.LEAVE:
                    raise NotStarted(Exit.OK, "")

        return await _interactive(use, staging, first_run=True)


@contextmanager
def _lab(options: Namespace) -> Iterator[LabChild]:
    """The demo's lab; what the console keeps of it goes with it."""
    state = os.environ.get(STATE_VARIABLE)
    lab = LabChild(options.lab_scale, options.assume)
    try:
        yield lab
    finally:
        lab.stop()
        _set_state(state)


async def _script(use: _Use, staging: Staging) -> Exit:
    from console.model.ask import Nobody
    from console.plain.run import run_script

    session, stage = _session(use), await staging()
    async with session.live(stage, Nobody(), on_demand=True) as live:
        return await run_script(use.options, live, stage.fleet)


async def _replayed_script(use: _Use) -> Exit:
    from console.plain.run import run_script

    replay = open_replay(use.options.replay)
    return await run_script(use.options, replay, replay.fleet())


async def _replay(use: _Use) -> Exit:
    """The screen first: what is slow to load comes once it is there."""
    from console.ui.run import run

    async with AsyncExitStack() as stack:

        async def opening() -> Replay:
            replay = open_replay(use.options.replay)
            replay.player.playing = True
            stack.push_async_callback(_end, asyncio.create_task(replay.run()))
            return replay

        return await run(opening, SystemClock(), use.settings, _theme(use))


async def _end(task: asyncio.Task[None]) -> None:
    """End it; a defect that ended it before is raised here."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _interactive(
    use: _Use, staging: Callable[[Dialogs], Awaitable[Stage]], *, first_run: bool = False
) -> Exit:
    """The screen first: what is slow to load comes once it is there."""
    from console.ui.ask import Dialogs
    from console.ui.run import run

    sizes: list[Callable[[], int | None]] = []
    dialogs = Dialogs()
    async with AsyncExitStack() as stack:

        async def opening() -> Live:
            session = _session(use)
            sizes.append(session.recorded)
            live = session.live(await staging(dialogs), dialogs, on_demand=False)
            return await stack.enter_async_context(live)

        def recorded() -> int | None:
            return sizes[0]() if sizes else None

        theme = _theme(use)
        clock = SystemClock()
        return await run(
            opening, clock, use.settings, theme, dialogs, recorded, first_run=first_run
        )


def _session(use: _Use) -> LiveSession:
    from console.control.live_session import LiveSession

    session = LiveSession(use.options, use.settings.pace)
    use.masks = session.masks
    return session


async def _scene(lab: LabChild) -> Stage:
    """The demo's fleet, and what to look at first."""
    from console.control.live_session import Stage
    from console.store.fleet import load_fleet

    try:
        scene = await lab.ready()
    except NoLab as error:
        raise NotStarted(Exit.STEP, str(error)) from error
    # What the demo keeps lies in the lab's own folder: that goes however either of them ends.
    _set_state(str(Path(scene.fleet).parent / "console-state"))
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


def _theme(use: _Use) -> Theme:
    from console.store.theme import load_theme

    return load_theme(use.options.theme or use.settings.theme)


def _set_state(folder: str | None) -> None:
    if folder is None:
        os.environ.pop(STATE_VARIABLE, None)
    else:
        os.environ[STATE_VARIABLE] = folder


def _tell(text: str) -> None:
    print(f"spec-console: {text}", file=sys.stderr)
