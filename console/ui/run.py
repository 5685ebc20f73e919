"""Starting the interactive screen and ending it: the only entry for whoever launches it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from console.control.port import Control
from console.model.clock import Clock, Pace
from console.model.exits import Exit
from console.store.theme import Theme
from console.ui.app import ConsoleApp
from console.ui.ask import Dialogs
from console.ui.theme import safe

NO_TERMINAL = "spec-console needs a terminal; without one use: spec-console --script FILE"


def on_terminal() -> bool:
    """Whether keys can be read and the screen be drawn (which happens on standard error)."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return all(stream is not None and stream.isatty() for stream in streams)


async def run(
    control: Control,
    clock: Clock,
    pace: Pace,
    theme: Theme,
    dialogs: Dialogs | None = None,
    recorded: Callable[[], int | None] | None = None,
    on_ready: Callable[[], None] | None = None,
) -> Exit:
    """Show the screen until the person leaves.

    Args:
        dialogs: the Ask port that services were given; its questions appear here.
        recorded: how many bytes are recorded so far.
        on_ready: called once after the first paint: the time to start what is slow to import.
    """
    if not on_terminal():
        print(NO_TERMINAL, file=sys.stderr)
        return Exit.USAGE
    app = ConsoleApp(control, clock, pace, theme, dialogs, recorded, on_ready)
    await app.run_async(mouse=False)
    if app.defect is not None:
        told = safe(f"{type(app.defect).__name__}: {app.defect}")
        print(f"spec-console stopped because of a defect: {told}", file=sys.stderr)
        return Exit.INTERNAL
    return Exit.OK
