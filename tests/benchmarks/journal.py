"""Writing, opening and seeking session files."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

from console.model.clock import ManualClock
from console.model.text import Clean
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.session.player import Player
from console.session.recorder import Recorder
from console.stream.server_events import HealthSeen, LogAdvanced
from console.stream.timeline import Timeline

LINE = (
    "[2026-02-24 17:05:{:02d} TP0] Decode batch, #running-req: 1, #token: {}, token usage: 0.01, "
    "cuda graph: True, gen throughput (token/s): 62.9, #queue-req: 0"
)
SIZE = 100_000_000


def write(path: Path, size: int, batch: int = 20) -> dict[str, float]:
    """A session of that size: batches of log lines, a health answer every 50 batches."""
    clock = ManualClock()
    timeline = Timeline(clock)
    recorder = Recorder(path, timeline.emit)
    timeline.subscribe(recorder.take)
    name = Clean("kimi-base")
    lines = tuple(Clean(LINE.format(n % 60, n)) for n in range(batch))
    first = batches = 0
    start = time.perf_counter()
    while recorder.size < size:
        clock.advance(0.05)
        timeline.emit(LogAdvanced(name, first, batch, (1, 2), (first, first + 1), lines))
        first += batch
        batches += 1
        if batches % 50 == 0:
            timeline.emit(HealthSeen(name, Clean("/health"), 1000, 200))
        if batches % 200 == 0:
            recorder.flush()
    recorder.close()
    took = time.perf_counter() - start
    return {"lines": first, "lines_per_s": round(first / took), "mb": recorder.size / 1e6}


def seeks(player: Player, count: int = 60) -> Sequence[float]:
    """Milliseconds of seeks to random times."""
    chance = random.Random(1)
    took = []
    for _ in range(count):
        start = time.perf_counter()
        player.seek(chance.randrange(player.length_us))
        took.append((time.perf_counter() - start) * 1e3)
    return took


def figures() -> dict[str, object]:
    """Append rate, open time, seek time and memory of a 100 MB session."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.toml"
        written = write(path, SIZE)
        opened = []
        for _ in range(5):
            start = time.perf_counter()
            journal = Journal(path)
            opened.append(time.perf_counter() - start)
        start = time.perf_counter()
        JournalLogs(journal)
        indexed = time.perf_counter() - start
        tracemalloc.start()
        player = Player(Journal(path), lambda _: None, lambda _: None)
        took = sorted(seeks(player))
        memory = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    return {
        "append": written,
        "open_s": {"median": round(statistics.median(opened), 3), "worst": round(max(opened), 3)},
        "log_index_s": round(indexed, 3),
        "seek_ms": {"median": round(statistics.median(took), 1), "worst": round(took[-1], 1)},
        "python_memory_mb": round(memory, 1),
    }
