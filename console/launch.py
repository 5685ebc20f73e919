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
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.lab.child import LabChild, NoLab
from console.model.clock import SystemClock
from console.model.exits import Exit, NotStarted
from console.plain.dumb import draws_nothing
from console.store.folders import keep_state_in, state_restored
from console.store.preferences import Settings
from console.store.settings import load_settings
from console.store.toml import BadFile
from console.ui.ask import Dialogs

if TYPE_CHECKING:
    from console.control.live import Live
    from console.control.live_session import LiveSession, Stage
    from console.control.port import Control
    from console.control.replay import Replay
    from console.model.mask import Masks
    from console.plain.prompts import Prompts

    Asker = Dialogs | Prompts
    Staging = Callable[[], Awaitable[Stage]]

DEMO_HINT = (
    "simulated: I imports {plan}, six NCCL variables that kimi-base runs without;"
    " 3 then shows what is lost, b measures"
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
    # Any kind: nothing stands behind this, and a person gets a line and a report, no traceback.
    except Exception as error:  # noqa: BLE001 - the last resort, see above
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
    from console.store.crash import told

    _tell(told(error, masks or Masks(), SystemClock().utc()))
    return Exit.INTERNAL


async def _chosen(use: _Use) -> Exit:
    asyncio.get_running_loop().set_exception_handler(use.note)
    options = use.options
    settings = load_settings()
    use.settings = replace(settings, pace=settings.pace.scaled(options.lab_scale))
    if options.replay is not None:
        return await (_replayed_script(use) if options.script else _replay(use))
    if options.demo:
        with _lab(options) as lab:
            return await _live(use, lambda: _scene(lab))
    from console.store.fleet import find_fleet

    if options.script is None and find_fleet(options.fleet) is None:
        return await _first_run(use)
    return await _live(use, lambda: _fleet(options))


async def _live(use: _Use, staging: Staging) -> Exit:
    if use.options.script is not None:
        return await _script(use, staging)
    return await _interactive(use, lambda _asker: staging())


async def _first_run(use: _Use) -> Exit:
    """Ask what is wanted where there is no fleet file: the demo, or a server to be added."""
    from console.control.first_run import Chosen, FirstRun

    with ExitStack() as stack:

        async def staging(asker: Asker) -> Stage:
            from console.model.mask import Masks

            settings = use.settings
            first = FirstRun(asker, asker.tell, SystemClock(), settings.pace, Masks())
            match await first.run():
                case Chosen.DEMO:
                    return await _scene(stack.enter_context(_lab(use.options)))
                case Chosen.ADDED:
                    hint = f"{first.path} is written: the other arm is added there"
                    return replace(await _fleet(use.options), hints=(hint,))
                case Chosen.LEAVE:
                    raise NotStarted(Exit.OK, "")

        return await _interactive(use, staging, first_run=True)


@contextmanager
def _lab(options: Namespace) -> Iterator[LabChild]:
    """The demo's lab; what the console keeps of it goes with it."""
    lab = LabChild(options.lab_scale, options.assume)
    with state_restored(), closing(lab):
        yield lab


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
    async with AsyncExitStack() as stack:

        async def opening() -> Replay:
            replay = open_replay(use.options.replay)
            replay.player.playing = True
            stack.push_async_callback(_end, asyncio.create_task(replay.run()))
            return replay

        return await _shown(use, opening, _asker())


async def _end(task: asyncio.Task[None]) -> None:
    """End it; a defect that ended it before is raised here."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _interactive(
    use: _Use, staging: Callable[[Asker], Awaitable[Stage]], *, first_run: bool = False
) -> Exit:
    """The screen first: what is slow to load comes once it is there."""
    sizes: list[Callable[[], int | None]] = []
    asker = _asker()
    async with AsyncExitStack() as stack:

        async def opening() -> Live:
            session = _session(use)
            sizes.append(session.recorded)
            live = session.live(await staging(asker), asker, on_demand=False)
            return await stack.enter_async_context(live)

        def recorded() -> int | None:
            return sizes[0]() if sizes else None

        return await _shown(use, opening, asker, recorded, first_run=first_run)


def _asker() -> Asker:
    """Who asks a person: lines where nothing can be drawn, else dialogs."""
    if draws_nothing():
        from console.plain.prompts import Prompts

        return Prompts()
    return Dialogs()


async def _shown(
    use: _Use,
    opening: Callable[[], Awaitable[Control]],
    asker: Asker,
    recorded: Callable[[], int | None] | None = None,
    *,
    first_run: bool = False,
) -> Exit:
    """On the screen, or in lines, as the one who asks does."""
    clock, settings = SystemClock(), use.settings
    if not isinstance(asker, Dialogs):
        from console.plain.watching import watch

        return await watch(opening, clock, settings.pace, settings.zone, asker)
    from console.store.theme import load_theme
    from console.ui.run import run

    theme = load_theme(use.options.theme or settings.theme)
    return await run(opening, clock, settings, theme, asker, recorded, first_run=first_run)


def _session(use: _Use) -> LiveSession:
    from console.control.live_session import LiveSession

    session = LiveSession(use.options, use.settings.pace, use.settings.zone)
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
    keep_state_in(Path(scene.fleet).parent / "console-state")
    fleet = replace(load_fleet(scene.fleet), name="demo (simulated)")
    return Stage(fleet, "simulated", (DEMO_HINT.format(plan=scene.plan),))


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
    """A control over a saved session; NotStarted for a file that is none."""
    from console.control.replay import Replay
    from console.model.mask import Masks
    from console.session.files import NotASession
    from console.session.journal import Journal

    try:
        return Replay(Journal(path), SystemClock(), Masks())
    except NotASession as error:
        raise NotStarted(Exit.USAGE, str(error)) from error


def _tell(text: str) -> None:
    print(f"spec-console: {text}", file=sys.stderr)
