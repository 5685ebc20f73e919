"""Log lines that pass through a running console leave its memory as it was."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console.model.text import Clean
from console.session.recorder import Recorder
from console.stream.server_events import LogAdvanced
from console.ui.app import ConsoleApp
from tests.ui.stage import Stage, press, staged, story, text

HELD = 20_000
BATCH = 1_000
PUMPED = 180_000
FLAT_BYTES = 3 * 1024 * 1024
"""Less than a tenth of what these lines take."""


def line(number: int) -> Clean:
    """A line of the length that decode lines have, no two alike."""
    second = number // 50 % 60
    head = f"[2026-02-24 17:05:{second:02} TP0] Decode batch. #running-req: 1, #token: {number}, "
    return Clean(
        f"{head}token usage: 0.00, cuda graph: True, "
        f"gen throughput (token/s): 62.9{number % 10}, #queue-req: 0"
    )


async def pump(app: ConsoleApp, pilot: Pilot[Any], stage: Stage, recorder: Recorder, n: int) -> int:
    """Let that many lines come in, a look of the screen after each batch; bytes held then."""
    for _ in range(n // BATCH):
        first = stage.timeline.state.logs["kimi-base"].mark.end
        lines = tuple(line(number) for number in range(first, first + BATCH))
        stage.emit(LogAdvanced(Clean("kimi-base"), first, BATCH, (2049, 77), (0, 1), lines))
        stage.manual.advance(1)
        recorder.flush()
        app.follow.look()
        await pilot.pause()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_180_000_lines_leave_memory_flat(tmp_path: Path) -> None:
    stage = story(Stage(most_lines=HELD))
    recorder = Recorder(tmp_path / "night.toml", stage.emit)
    stage.timeline.subscribe(recorder.take)
    async with staged(stage, (120, 40)) as (app, pilot):
        find = app.dashboard.log_pane.find
        find.want(exclude=find.pattern("nothing of that"))
        tracemalloc.start()
        try:
            before = await pump(app, pilot, stage, recorder, 2 * HELD)
            after = await pump(app, pilot, stage, recorder, PUMPED)
        finally:
            tracemalloc.stop()
        await press(app, pilot)
        last = stage.timeline.state.logs["kimi-base"].mark.end
        assert last > PUMPED + 2 * HELD
        assert f"#token: {last - 1}," in text(app)
    recorder.close()
    assert not recorder.stopped or recorder.size > PUMPED * 100
    assert after - before < FLAT_BYTES, f"{(after - before) / 2**20:.1f} MiB more"
