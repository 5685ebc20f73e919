"""The console at a terminal that cannot be drawn on: what happens, a line each, until ctrl+c.

Sends no escape sequence. Everything a screen could start is left to scripts, and that is said.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from console.control.port import Control
from console.model.clock import Clock, Pace
from console.model.exits import Exit
from console.model.text import Clean, plain
from console.model.waiting import sleep_or
from console.plain.prompts import Prompts
from console.plain.telling import Telling

NOTE = (
    'spec-console: TERM is "{}": nothing can be drawn, so what happens is told in lines; '
    "ctrl+c leaves. Measuring and changing: --script FILE"
)


async def watch(
    opening: Callable[[], Awaitable[Control]],
    clock: Clock,
    pace: Pace,
    zone: str,
    prompts: Prompts,
    out: TextIO | None = None,
) -> Exit:
    """Tell what happens until the person leaves or a replay is over.

    Args:
        opening: makes the control; awaited once.
        prompts: the Ask port that services are given: nothing is written while it asks.

    Raises:
        What `opening` raised.
    """
    shown = out or sys.stdout
    with suppress(AttributeError):
        shown.reconfigure(errors="replace")  # type: ignore[union-attr]
    print(NOTE.format(plain(Clean(os.environ.get("TERM", "")))), file=sys.stderr, flush=True)
    ended = asyncio.Event()
    with _left_by_signals(ended) as code, _echo_kept():
        control = await _opened(opening, ended)
        if control is None:
            return code[0]
        telling = Telling(control.timeline, zone)
        telling.begin()
        control.timeline.subscribe(telling.take)
        while not ended.is_set() and not _over(control):
            _write(shown, telling, prompts)
            await sleep_or(clock, pace.screen_s, ended)
        _write(shown, telling, prompts)
        return code[0]


async def _opened(
    opening: Callable[[], Awaitable[Control]], ended: asyncio.Event
) -> Control | None:
    """The control, or None when the person left before it was there."""
    task = asyncio.ensure_future(opening())
    leaving = asyncio.ensure_future(ended.wait())
    await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if task.done():
        return task.result()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return None


def _over(control: Control) -> bool:
    """Whether a replay has reached its end."""
    playback = control.playback
    return (
        playback is not None
        and not playback.playing
        and control.timeline.now_us >= playback.length_us
    )


def _write(out: TextIO, telling: Telling, prompts: Prompts) -> None:
    if prompts.asking:
        return
    lines = telling.drain()
    if lines:
        out.write("\n".join(lines) + "\n")
        out.flush()


@contextmanager
def _left_by_signals(ended: asyncio.Event) -> Iterator[list[Exit]]:
    """ctrl+c is how one leaves; any other polite signal ends it as interrupted."""
    loop, code = asyncio.get_running_loop(), [Exit.OK]

    def told(exit_code: Exit) -> None:
        code[0] = exit_code
        ended.set()

    signals = {
        signal.SIGINT: Exit.OK,
        signal.SIGTERM: Exit.INTERRUPTED,
        signal.SIGHUP: Exit.INTERRUPTED,
    }
    for number, exit_code in signals.items():
        loop.add_signal_handler(number, told, exit_code)
    try:
        yield code
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


@contextmanager
def _echo_kept() -> Iterator[None]:
    """Leave the terminal as it was: a secret half typed has turned its echo off."""
    try:
        kept = termios.tcgetattr(0)
    except termios.error:
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, kept)
