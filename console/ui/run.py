"""Starting the interactive screen and ending it: the only entry for whoever launches it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

from console.model.clock import Clock
from console.model.exits import Exit
from console.store.preferences import Settings
from console.store.theme import Theme
from console.ui.app import ConsoleApp
from console.ui.ask import Dialogs
from console.ui.terminal import TerminalDriver
from console.ui.theme import safe

if TYPE_CHECKING:
    from console.control.port import Control

NO_TERMINAL = "the screen needs a terminal; without one use: spec-console --script FILE"


def has_terminal() -> bool:
    """Keys are read from standard input, and the screen is drawn on standard error."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return all(stream is not None and stream.isatty() for stream in streams)


async def run(
    opening: Callable[[], Awaitable[Control]],
    clock: Clock,
    settings: Settings,
    theme: Theme,
    dialogs: Dialogs | None = None,
    recorded: Callable[[], int | None] | None = None,
    *,
    first_run: bool = False,
) -> Exit:
    """Show the screen until the person leaves.

    Args:
        opening: makes the control; awaited once, right after the first paint, so that this is the
            time to import and start what is slow.
        dialogs: the Ask port that services are given; its questions appear here.
        recorded: how many bytes are recorded so far.
        first_run: there is no fleet yet; `opening` asks for one.

    Raises:
        What `opening` raised, or whatever defect ended the screen; the terminal is restored by
        then.
    """
    if not has_terminal():
        print(f"spec-console: {NO_TERMINAL}", file=sys.stderr)
        return Exit.USAGE
    app = ConsoleApp(opening, clock, settings, theme, dialogs, recorded, first_run=first_run)
    if app.driver_class is LinuxDriver:
        app.driver_class = TerminalDriver
    with _ended_by_signals(app.exit) as ended:
        await app.run_async(mouse=settings.mouse)
    if app.defect is not None:
        raise app.defect
    if app.parting:
        print(f"spec-console: {safe(app.parting)}", file=sys.stderr)
    return Exit.INTERRUPTED if ended.is_set() else Exit.OK


@contextmanager
def _ended_by_signals(end: Callable[[], object]) -> Iterator[asyncio.Event]:
    """A polite signal ends the screen in order: terminal restored, session closed."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def told() -> None:
        ended.set()
        end()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, told)
    try:
        yield ended
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
