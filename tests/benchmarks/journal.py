"""Writing, opening and seeking session files."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from console.control.replay import Replay
from console.engines.metrics import Worker, read_metrics
from console.model.clock import ManualClock, Pace, SystemClock, utc_text
from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import Clean
from console.services.figures import Polls, Reading
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.session.recorder import Recorder
from console.session.segments import following
from console.stream.logs import last_lines
from console.stream.server_events import HealthSeen, LogAdvanced
from console.stream.session_events import ClockPaired
from console.stream.timeline import Timeline
from tests.benchmarks.lag import lateness
from tests.benchmarks.startup import first_paint_s

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "engines" / "captures"
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


def seeks(replay: Replay, count: int = 60) -> Sequence[float]:
    """Milliseconds of seeks to random times, with the lines a screen shows there."""
    chance = random.Random(1)
    _shown(replay)
    took = []
    for _ in range(count):
        start = time.perf_counter()
        replay.player.seek(chance.randrange(replay.player.length_us))
        _shown(replay)
        took.append((time.perf_counter() - start) * 1e3)
    return took


def hour(lines_at_once: int) -> dict[str, object]:
    """Bytes of one recorded hour: 5 log lines a second of one busy server, figures of two.

    The figures are those of a real exposition, whose counters go on as at 62.9 tok/s; health is
    asked every half minute. Ends with the largest kinds.
    """
    exposition = (CAPTURES / "sglang-busy-metrics.txt").read_text()
    worker = read_metrics(200, exposition).workers[0]
    clock = ManualClock()
    timeline = Timeline(clock)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "s.toml", timeline.emit)
        timeline.subscribe(recorder.take)
        polls = {name: Polls([name], set(), Masks()) for name in ("kimi-base", "kimi-eagle3")}
        for tick in range(0, 5 * 3600, lines_at_once):
            clock.advance(0.2 * lines_at_once)
            at = range(tick, tick + lines_at_once)
            lines = tuple(Clean(LINE.format(n // 5 % 60, n)) for n in at)
            byte = (tick * 180, (tick + lines_at_once) * 180)
            name = Clean("kimi-base")
            timeline.emit(LogAdvanced(name, tick, lines_at_once, (2049, 7712), byte, lines))
            if tick % 10 == 0:
                for server, poll in polls.items():
                    now = Reading(clock.now_us(), "/metrics", _later(worker, tick / 5), None)
                    for event in poll.take(now):
                        timeline.emit(event)
                    if tick % 150 == 0:
                        timeline.emit(HealthSeen(Clean(server), Clean("/health"), 1_003_211, 200))
            if tick % 300 == 0:
                timeline.emit(ClockPaired(Clean(utc_text(clock.utc()))))
            recorder.flush(clock.now_us())
        recorder.close()
        journal = Journal(recorder.path)
        index = journal.index
        sizes: Counter[str] = Counter()
        for number in range(len(index)):
            sizes[index.kind_of(number)] += index.length[number]
    kinds = {kind: round(size / 1e6, 2) for kind, size in sizes.most_common(4)}
    return {"mb": round(recorder.size / 1e6, 2), "of_it_mb": kinds}


RECORDED_S = 60.0
RECORDED_LINES_S = 20_000
_BATCH_S = 0.02


async def recording(seconds: float = RECORDED_S) -> dict[str, float]:
    """20,000 log lines a second into a file, in real time: what is lost, and how late the loop is.

    Lag is how much later than 5 ms a sleep of 5 ms ends, in milliseconds.
    """
    clock = SystemClock()
    timeline = Timeline(clock)
    count = round(RECORDED_LINES_S * _BATCH_S)
    lines = tuple(Clean(LINE.format(n % 60, n)) for n in range(count))
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "s.toml", timeline.emit)
        timeline.subscribe(recorder.take)
        writing = asyncio.create_task(recorder.run(clock, Pace()))
        async with lateness() as late:
            begun, sent = time.perf_counter(), 0
            while (passed := time.perf_counter() - begun) < seconds:
                while sent < passed * RECORDED_LINES_S:
                    timeline.emit(LogAdvanced(Clean("kimi-base"), sent, count, lines=lines))
                    sent += count
                await asyncio.sleep(_BATCH_S)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        recorder.close()
        journal = Journal(recorder.path)
        held = sum(event.count for event in journal.events() if isinstance(event, LogAdvanced))
        files = journal.index.part[-1] + 1
    return {
        "seconds": seconds,
        "lines": sent,
        "lost": sent - held,
        "files": files,
        "lag_p50_ms": round(statistics.median(late), 2),
        "lag_p95_ms": round(late[round(len(late) * 0.95)], 2),
        "lag_max_ms": round(late[-1], 2),
    }


def _later(worker: Worker, seconds: float) -> Worker:
    """The same server, its counters further on."""
    figures = {
        name: value + (62.9 * seconds if name.endswith("_total") else 0.0)
        for name, value in worker.figures.items()
    }
    return replace(worker, figures=figures)


_MEMORY = """
import sys
def resident():
    with open("/proc/self/status") as file:
        told = dict(line.split(":", 1) for line in file)
    return [int(told[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon")]
from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.mask import Masks
from console.session.journal import Journal
empty = resident()
if len(sys.argv) > 1:
    replay = Replay(Journal(sys.argv[1]), ManualClock(), Masks())
    for place in range(0, 100, 7):
        replay.player.seek(replay.player.length_us * place // 100)
        for log in replay.timeline.state.logs:
            replay.timeline.logs.reach(log)
    replay.player.notches()
print([round(now - before) for now, before in zip(resident(), empty)])
"""


def memory_mib(path: Path) -> dict[str, int]:
    """Memory that a replay takes beyond its modules: all pages, and those that are its own.

    The difference are pages of the file itself, which the system takes back when it needs them.
    """
    command = [sys.executable, "-c", _MEMORY, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    resident, own = json.loads(done.stdout)
    return {"resident": resident, "own": own}


def _shown(replay: Replay) -> None:
    """Read the lines a screen shows."""
    state = replay.timeline.state
    for log, seen in state.logs.items():
        last_lines(replay.timeline.logs, LogId(log), 50, seen.mark.end)


def first_screen(path: Path) -> dict[str, object]:
    """Seconds until what the first screen shows is known, beside parsing the whole file as TOML.

    Also until the last screen is known with 50 lines of each log, and from the start of the program
    to its first paint, which does not wait for the file.
    """
    parse = "import sys, tomli; [tomli.load(open(path, 'rb')) for path in sys.argv[1:]]"
    files = [str(path), *map(str, following(path))]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", parse, *files], check=True)
    parsed_s = time.perf_counter() - start
    known, known_at_end = [], []
    for _ in range(5):
        start = time.perf_counter()
        replay = Replay(Journal(path), ManualClock(), Masks())
        _shown(replay)
        known.append(time.perf_counter() - start)
        replay.player.seek(replay.player.length_us)
        _shown(replay)
        known_at_end.append(time.perf_counter() - start)
    console = [sys.executable, "-m", "console", "--replay", str(path)]
    return {
        "known_s": round(statistics.median(known), 3),
        "last_screen_known_s": round(statistics.median(known_at_end), 3),
        "tomli_load_s": round(parsed_s, 2),
        "times_sooner": round(parsed_s / statistics.median(known), 1),
        "first_paint_s": round(statistics.median(first_paint_s(console) for _ in range(5)), 2),
    }


def figures() -> dict[str, object]:
    """Append rate, open time, seek time, memory, first screen of 100 MB; bytes of an hour."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.toml"
        written = write(path, SIZE)
        opened = []
        for _ in range(5):
            start = time.perf_counter()
            journal = Journal(path)
            opened.append(time.perf_counter() - start)
        start = time.perf_counter()
        JournalLogs(journal).reach(LogId("kimi-base"))
        indexed = time.perf_counter() - start
        took = sorted(seeks(Replay(Journal(path), ManualClock(), Masks())))
        memory, screen = memory_mib(path), first_screen(path)
    return {
        "append": written,
        "open_s": {"median": round(statistics.median(opened), 3), "worst": round(max(opened), 3)},
        "log_index_s": round(indexed, 3),
        "seek_ms": {"median": round(statistics.median(took), 1), "worst": round(took[-1], 1)},
        "memory_mib": memory,
        "first_screen": screen,
        "recording": asyncio.run(recording()),
        "hour": {"one line a block": hour(1), "five lines a block": hour(5)},
    }
