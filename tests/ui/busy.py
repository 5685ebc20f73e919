"""The screen at work in a program of its own: the story's servers, one log growing at a rate.

`python -m tests.ui.busy RATE`: lines a second, in batches as a tail delivers them.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from console.model.clock import Clock, Pace, SystemClock
from console.model.exits import Exit
from console.store.preferences import Settings
from console.store.theme import load_theme
from console.ui.run import run

if TYPE_CHECKING:
    from console.control.port import Control
    from tests.ui.stage import Stage

_LINE = (
    "[2026-02-24 17:05:{second:02} TP0] Decode batch. #running-req: 1, #token: {number}, token "
    "usage: 0.00, cuda graph: True, gen throughput (token/s): 62.9{digit}, #queue-req: 0"
)


async def main(word: str) -> Exit:
    """Run until somebody quits. The words `refused` and `broken` show bad ends."""
    clock, pace = SystemClock(), Pace()
    growing: list[asyncio.Task[None]] = []

    async def opening() -> Control:
        from tests.ui.stage import Broken, Stage, story

        if word == "refused":
            raise PermissionError("nothing to open")
        stage = story(Stage(clock=clock))
        if word == "broken":
            stage.control.timeline = Broken(stage.timeline)
        rate = int(word) if word.isdecimal() else 0
        if rate:
            growing.append(asyncio.create_task(_grow(stage, rate, clock, pace)))
        return stage.control

    return await run(opening, clock, Settings(), load_theme("dark"))


async def _grow(stage: Stage, rate: int, clock: Clock, pace: Pace) -> None:
    start_us = clock.now_us()
    number = 0
    while True:
        await asyncio.sleep(pace.tail_batch_s)
        due = (clock.now_us() - start_us) * rate // 1_000_000
        texts = [
            _LINE.format(second=n // rate % 60, number=n, digit=n % 10) for n in range(number, due)
        ]
        number = due
        if texts:
            stage.lines("kimi-base", *texts)


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(sys.argv[1])))
    except PermissionError as error:
        sys.exit(f"refused: {error}")
    except ValueError as error:
        from console.launch import defect

        sys.exit(defect(error))
