"""How many lines of a log are read in a second, by the grammar and by all that follows from it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from console.engines.grammar import parse_line
from console.model.clock import ManualClock, Pace
from console.model.fleet import Arm, Server
from console.model.mask import Masks
from console.model.text import Clean
from console.services.reading import Reading
from console.stream.fact import FeedState
from console.stream.server_events import LogAdvanced, LogFeedChanged
from console.stream.timeline import Timeline

LINES = 50_000
BATCH = 200
DECODE = (
    "[2026-02-24 17:{:02d}:{:02d} TP0] Decode batch, #running-req: 1, #token: {}, token usage: "
    "0.{:02d}, accept len: {:.2f}, accept rate: 0.{:02d}, cuda graph: True, gen throughput "
    "(token/s): {:.2f}, #queue-req: 0"
)
PREFILL = (
    "[2026-02-24 17:{:02d}:{:02d} TP0] Prefill batch, #new-seq: 1, #new-token: {}, #cached-token: "
    "64, token usage: 0.00, #running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, "
    "input throughput (token/s): 940.12"
)
ACCESS = '[2026-02-24 17:{:02d}:{:02d}] INFO:     10.0.0.7:{} - "GET /health HTTP/1.1" 200 OK'
STATS = (
    "(APIServer pid=4101) INFO 11-02 10:{:02d}:{:02d} [loggers.py:351] Engine 000: Avg prompt "
    "throughput: 21.3 tokens/s, Avg generation throughput: {}.8 tokens/s, Running: 1 reqs, "
    "Waiting: 0 reqs, GPU KV cache usage: 0.4%, Prefix cache hit rate: 0.0%"
)


def decode_lines(count: int = LINES) -> list[str]:
    """Lines as a server writes them with a log interval of one: about forty a second, no two
    alike."""
    return [
        DECODE.format(
            n // 2400 % 60, n // 40 % 60, n, n % 100, 1 + n % 300 / 100, n % 97, 60 + n % 9000 / 100
        )
        for n in range(count)
    ]


def rate(work: Callable[[Sequence[str]], None], lines: Sequence[str], times: int = 5) -> int:
    """Lines a second of processor time, the median of a few passes."""
    took = []
    for _ in range(times):
        began = time.process_time()
        work(lines)
        took.append(time.process_time() - began)
    return round(len(lines) / statistics.median(took))


def _parse(lines: Sequence[str]) -> None:
    for line in lines:
        parse_line(line)


def _read(lines: Sequence[str]) -> None:
    """Through loads, failures, tokens and conditions, as a followed log is read."""
    clock, pace, masks = ManualClock(), Pace(), Masks()
    server = Server("base", "slot", Arm.BASELINE, "http://127.0.0.1:8000")
    timeline = Timeline(clock)
    reading = Reading(server, timeline, clock, pace, masks)
    name = Clean("base")
    reading.take(LogFeedChanged(name, FeedState.MISSING))
    for first in range(0, len(lines), BATCH):
        batch = tuple(Clean(line) for line in lines[first : first + BATCH])
        clock.advance(0.05)
        for event in reading.take(LogAdvanced(name, first, len(batch), lines=batch)):
            timeline.emit(event)


def figures() -> dict[str, object]:
    """Lines a second on one core."""
    decode = decode_lines()
    fewer = range(LINES // 5)
    return {
        "decode_lines_parsed_per_s": rate(_parse, decode),
        "decode_lines_read_per_s": rate(_read, decode),
        "prefill_lines_parsed_per_s": rate(
            _parse, [PREFILL.format(n // 2400 % 60, n // 40 % 60, n) for n in fewer]
        ),
        "access_lines_parsed_per_s": rate(
            _parse, [ACCESS.format(n // 2400 % 60, n // 40 % 60, n) for n in fewer]
        ),
        "vllm_statistics_parsed_per_s": rate(
            _parse, [STATS.format(n // 60 % 60, n % 60, n) for n in fewer]
        ),
    }
