"""What the log pane costs: a line's way into it, beside the toolkit's own logs; memory; searching.

Figures are processor time unless they say otherwise, so that neighbours on the machine disturb
them little.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widget import Widget
from textual.widgets import Log as PlainLog
from textual.widgets import RichLog

from console.model.clock import Pace, SystemClock
from console.model.fleet import LogId
from console.model.text import Clean
from console.render.header import Mode
from console.render.pattern import Pattern
from console.store.theme import load_theme
from console.stream.logs import Ring
from console.stream.server_events import LogAdvanced
from console.ui.panes.log import Log
from console.ui.panes.log_find import Find
from console.ui.sight import Sight
from console.ui.theme import Ink
from console.ui.window import Window
from tests.ui.stage import Stage

LINE = (
    "[2026-02-24 17:{minute:02}:{second:02} TP0] Decode batch. #running-req: 1, #token: {number}, "
    "token usage: 0.00, cuda graph: True, gen throughput (token/s): 62.9{digit}, #queue-req: 0"
)
BATCH = 400
BATCH_S = 0.02
"""20,000 lines a second."""
ROOT = Path(__file__).parents[2]


def texts(first: int, count: int) -> tuple[Clean, ...]:
    """Lines as a server writes them, every one another."""
    return tuple(
        Clean(
            LINE.format(minute=n // 60 % 60, second=n % 60, number=n, digit=n % 10)
            if n % 20
            else f'INFO:     10.8.0.{n % 250}:{50000 + n % 9999} - "GET /health HTTP/1.1" 200 OK'
        )
        for n in range(first, first + count)
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time for a line, append and paint, in microseconds."""

    pane_us: float
    log_us: float
    rich_log_us: float


async def cost(batches: int = 100) -> Cost:
    """The pane, Log and RichLog, fed the same batches one after another."""
    made = [texts(n * BATCH, BATCH) for n in range(batches)]
    rich = made[: batches // 10]
    return Cost(await _pane(made), await _log(made), await _rich(rich))


async def _pane(made: list[tuple[Clean, ...]]) -> float:
    stage = Stage(clock=SystemClock())
    stage.host("gpu8")
    stage.server("base")
    pane = Log(Ink(load_theme("dark")), stage.clock)
    end = 0

    def write(lines: tuple[Clean, ...]) -> None:
        nonlocal end
        stage.emit(LogAdvanced(Clean("base"), end, len(lines), lines=lines))
        end += len(lines)

    def look() -> None:
        line = stage.timeline
        pane.show(Sight(line.state, line.now_us, line.logs, line.series, Mode(), "base"))

    return await _fed(pane, write, look, made)


async def _log(made: list[tuple[Clean, ...]]) -> float:
    log = PlainLog()
    return await _fed(log, log.write_lines, lambda: None, made)


async def _rich(made: list[tuple[Clean, ...]]) -> float:
    log = RichLog()

    def write(lines: tuple[Clean, ...]) -> None:
        for line in lines:
            log.write(line)

    return await _fed(log, write, lambda: None, made)


async def _fed(
    log: Widget,
    write: Callable[[tuple[Clean, ...]], object],
    look: Callable[[], None],
    made: list[tuple[Clean, ...]],
) -> float:
    """Microseconds for a line, once what is imported and compiled first is there.

    Batches come as a tail delivers them, and each log paints as it does at work: the toolkit's
    after every write, the pane at the beat of the screen.
    """

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield log

    pace = Pace()
    async with Bare().run_test(size=(120, 40)) as pilot:
        write(texts(10**6, 100))
        look()
        await pilot.pause()
        begun, looked = time.process_time(), time.monotonic()
        for lines in made:
            write(lines)
            if time.monotonic() - looked >= pace.screen_s:
                looked = time.monotonic()
                look()
            await asyncio.sleep(BATCH_S)
        look()
        await pilot.pause()
        return (time.process_time() - begun) / sum(map(len, made)) * 1e6


def memory_mib(lines: int = 100_000) -> float:
    """How much a program grows by lines held and searched, in a program of its own."""
    argv = [sys.executable, "-m", "tests.ui.measure_logs", "memory", str(lines)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _grown_mib(lines: int) -> float:
    ring, find, window = Ring(), Find(SystemClock()), Window()
    _feed(ring, 0, 1000)
    window.look(find.source(ring, LogId("base"), 1000, 1000), 1000, 40)
    before = _resident_kib()
    for end in range(2000, lines + 1001, 1000):
        _feed(ring, end - 1000, 1000)
        window.look(find.source(ring, LogId("base"), end, end), end, 40)
    return (_resident_kib() - before) / 1024


def _resident_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _feed(ring: Ring, first: int, count: int) -> None:
    ring.take(LogAdvanced(Clean("base"), first, count, lines=texts(first, count)))


@dataclass(frozen=True, slots=True)
class Search:
    """A filter over many lines, wall time.

    Attributes:
        first_s: until the window was full of hits.
        whole_s: until every line was searched.
        lag_p95_ms: how late a sleep of 5 ms came while it was searched.
        idle_p95_ms: the same while nothing was, which is what the machine's other work costs.
        slice_p95_ms: processor time that one turn of the search took.
    """

    lines: int
    hits: int
    first_s: float
    whole_s: float
    lag_p95_ms: float
    lag_max_ms: float
    idle_p95_ms: float
    slice_p95_ms: float


async def search(
    lines: int = 1_000_000, pattern: str = r"token: \d*77\b", height: int = 38
) -> Search:
    """Filter a log of many lines as the pane does it, a slice at a time."""
    clock = SystemClock()
    ring = Ring(lines, 1 << 40)
    for first in range(0, lines, 500):
        _feed(ring, first, min(500, lines - first))
    window, find = Window(), Find(clock)
    log = LogId("base")
    window.look(find.source(ring, log, lines, lines), lines, height)
    late: list[float] = []
    probing = asyncio.create_task(_probe(late))
    await asyncio.sleep(1.0)
    idle = _p95(late)
    late.clear()
    turns: list[float] = []
    begun = time.perf_counter()
    find.want(include=Pattern(pattern))
    window.rest()
    first_s = 0.0
    while True:
        turn = time.thread_time()
        window.look(find.source(ring, log, lines, lines), lines, height)
        if not first_s and len(window.lines) >= height:
            first_s = time.perf_counter() - begun
        if not find.more:
            break
        find.slice()
        turns.append((time.thread_time() - turn) * 1e3)
        await asyncio.sleep(0)
    whole_s = time.perf_counter() - begun
    probing.cancel()
    hits = len(find.sieve.hits) if find.sieve is not None else 0
    return Search(
        *(lines, hits, first_s or whole_s, whole_s),
        *(_p95(late), max(late), idle, _p95(turns)),
    )


def _p95(values: list[float]) -> float:
    return sorted(values)[round((len(values) - 1) * 0.95)]


async def _probe(late: list[float]) -> None:
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(0.005)
        late.append((time.perf_counter() - begun - 0.005) * 1e3)


def figures() -> dict[str, object]:
    """Everything, as numbers by name."""
    line = asyncio.run(cost())
    found = asyncio.run(search())
    return {
        "cpu_us_per_line": round(line.pane_us, 2),
        "cpu_of_log": round(line.pane_us / line.log_us, 3),
        "cpu_of_rich_log": round(line.pane_us / line.rich_log_us, 4),
        "memory_mib_per_100k_lines": round(memory_mib(), 1),
        "filter_lines": found.lines,
        "filter_hits": found.hits,
        "filter_first_hits_s": round(found.first_s, 3),
        "filter_whole_s": round(found.whole_s, 2),
        "filter_loop_lag_p95_ms": round(found.lag_p95_ms, 1),
        "filter_loop_lag_max_ms": round(found.lag_max_ms, 1),
        "idle_loop_lag_p95_ms": round(found.idle_p95_ms, 1),
        "filter_turn_cpu_p95_ms": round(found.slice_p95_ms, 1),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        print(_grown_mib(int(sys.argv[2])))
    else:
        for name, value in figures().items():
            print(f"{name} = {value}")
