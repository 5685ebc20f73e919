"""What a busy screen costs: bytes to the terminal, a core, and how long the loop is held."""

from __future__ import annotations

import asyncio
import statistics
import time

from console.model.clock import SystemClock
from console.model.text import Clean
from console.stream.server_events import LogAdvanced
from tests.benchmarks.lag import lateness
from tests.ui.measure import busy_load
from tests.ui.stage import Stage, story

BURST_LINES_S = 20_000
BURST_S = 5.0
BATCH_S = 0.02


async def loop_lag_ms() -> dict[str, float]:
    """Milliseconds a 5 ms sleep comes late while 20,000 log lines a second reach the screen."""
    stage = story(Stage(clock=SystemClock()))
    count = round(BURST_LINES_S * BATCH_S)
    line = "[2026-02-24 17:05:41 TP0] Decode batch, #running-req: 1, gen throughput: 62.9"
    lines = tuple(Clean(f"{line} {number}") for number in range(count))
    async with stage.app().run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        async with lateness() as late:
            begun, sent = time.perf_counter(), 0
            while (passed := time.perf_counter() - begun) < BURST_S:
                while sent < passed * BURST_LINES_S:
                    name = Clean("kimi-base")
                    stage.emit(LogAdvanced(name, 10**6 + sent, count, lines=lines))
                    sent += count
                await asyncio.sleep(BATCH_S)
    return {
        "lines_per_s": round(sent / passed),
        "p50": round(statistics.median(late), 2),
        "p95": round(late[round(len(late) * 0.95)], 2),
        "max": round(late[-1], 2),
    }


def figures() -> dict[str, object]:
    """A log of 50 lines a second on a 120x40 terminal, and a burst."""
    load = busy_load()
    return {
        "kib_per_s_at_50_lines_per_s": round(load.bytes_s / 1024, 1),
        "core_at_50_lines_per_s": round(load.core, 3),
        "burst_loop_lag_ms": asyncio.run(loop_lag_ms()),
    }
