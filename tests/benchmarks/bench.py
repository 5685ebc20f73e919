"""Measuring measured: the rate against the server's own, the worker's cost, its stamps while a
screen is busy, what charts take.

Ratios come from one run. Where there are two cores the worker and its server have one and the
screen another; where not, the figures say so.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from console.bench.answer import Answer
from console.bench.job import read_record
from console.bench.metrics import Figures, measure, quantile
from console.model.clock import SystemClock
from console.model.fleet import Arm
from console.model.text import Clean
from console.render import charts
from console.stream.run_events import BenchStarted, CircumstancesTaken, RunMeasured
from console.stream.server_events import TokenSeen
from tests.bench import real, working
from tests.bench.cost import measured, pin
from tests.bench.scripted import Scripted, event, paced
from tests.benchmarks.lag import lateness
from tests.render.charting import cpu_ms, worst_inputs
from tests.rig import llama
from tests.rig.llama import LlamaServer
from tests.rig.terminal import Terminal
from tests.rig.waiting import until
from tests.ui.stage import Stage, story

ROOT = Path(__file__).parents[2]
CHUNKS, EVERY_S = 600, 0.005
TOKENS, RUNS = 120, 9
LAG_S = 12.0


def decode_rate() -> dict[str, object]:
    """Median difference to the rate that llama.cpp itself tells of the same request, in percent."""
    apart = []
    with tempfile.TemporaryDirectory() as folder, real.a_worker() as worker:
        models = llama.made_once(Path(folder))
        with LlamaServer(models, Path(folder) / "log") as server:
            server.wait_ready()
            real.favoured(worker.child.pid, server.pid)
            for _ in range(RUNS):
                answer = worker.ask(server, TOKENS)
                found = measure(answer, TOKENS)
                assert isinstance(found, Figures)
                own = float(str(answer.timings["predicted_per_second"]))
                apart.append(100 * abs(found.decode_tok_s / own - 1))
    return {"median_percent": round(statistics.median(apart), 3), "worst": round(max(apart), 3)}


def cost() -> dict[str, object]:
    """CPU per chunk and chunks/s of one core, and how many times less than httpx takes."""
    found = measured(10_000, 7)
    base = found["httpx aiter_lines + json"]
    return {
        name: {
            "us_per_chunk": round(us, 2),
            "chunks_per_s": round(1e6 / us),
            "times_less_than_httpx": round(base / us, 1),
        }
        for name, us in found.items()
    }


def serve_paced(cores: tuple[int, ...], told: Connection) -> None:
    """One answer of chunks at a steady pace; tells the address, then when each was sent (ns)."""
    pin(cores)
    pieces = []
    for number in range(1, CHUNKS + 1):
        finish = "length" if number == CHUNKS else None
        choice = {"text": " word", "finish_reason": finish}
        usage = {"prompt_tokens": 3, "completion_tokens": number}
        pieces.append(event({"choices": [choice], "usage": usage}))
    with Scripted(paced([*pieces, b"data: [DONE]\n\n"], EVERY_S)) as server:
        told.send(server.url)
        told.recv()
        told.send(server.sent_ns)


def gap_errors_us(mine: tuple[int, ...]) -> list[float]:
    """How far each gap as stamped is from the gap as sent, in us, smallest first."""
    ours, theirs = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=serve_paced, args=(mine, theirs))
    server.start()
    try:
        job = working.job(ours.recv(), "completions", CHUNKS)
        child = working.start()
        if mine:
            os.sched_setaffinity(child.pid, mine)
        out, _ = child.communicate(job.line(), timeout=60)
        records = [read_record(line) for line in out.decode().splitlines()]
        ours.send("over")
        sent = ours.recv()[1 : CHUNKS + 1]  # the head went first
    finally:
        server.kill()
        server.join()
    (answer,) = [record for record in records if isinstance(record, Answer)]
    received = [chunk.t_ns for chunk in answer.bearing()]
    pairs = zip(pairwise(received), pairwise(sent), strict=True)
    return sorted(abs((b - a) - (d - c)) / 1e3 for (a, b), (c, d) in pairs)


@contextmanager
def busy_screen(cores: tuple[int, ...]) -> Iterator[None]:
    """The dashboard on a terminal of 120x40 with a log of 50 lines a second."""
    argv: Sequence[str] = [sys.executable, "-m", "tests.ui.busy", "50"]
    terminal = Terminal(argv, cols=120, rows=40, cwd=ROOT)
    try:
        until(lambda: "kimi-base" in terminal.screen, 120, "the dashboard")
        for thread in Path(f"/proc/{terminal.pid}/task").iterdir() if cores else ():
            os.sched_setaffinity(int(thread.name), cores)
        yield
    finally:
        terminal.stop()


def gaps() -> dict[str, object]:
    """p50 and p99 of the gap error at 200 chunks/s, with nobody else and with a busy screen."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    theirs, mine = ((cores[0],), (cores[1],)) if len(cores) > 1 else ((), ())
    quiet = gap_errors_us(mine)
    with busy_screen(theirs):
        busy = gap_errors_us(mine)
    figures = {
        name: {"p50": round(quantile(found, 0.5)), "p99": round(quantile(found, 0.99))}
        for name, found in (("alone_us", quiet), ("screen_busy_us", busy))
    }
    placed = "worker and server on one core, the screen on another" if mine else "all on one core"
    return {**figures, "placed": placed}


async def loop_lag_ms() -> dict[str, float]:
    """How late a sleep of 5 ms comes while the screen of benchmarks is refreshed at 1 Hz."""
    stage = story(Stage(clock=SystemClock()))
    name, workload = Clean("b1"), ((Clean("runs"), Clean("500")),)
    begun = (name, Clean("kimi-base"), Arm.BASELINE, 1, Clean("look"), workload)
    taken = CircumstancesTaken(name, Clean("env"), Clean("d"), ())
    stage.emit(BenchStarted(*begun, Clean("here")), taken)
    async with stage.app().run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await pilot.pause()
        async with lateness() as late:
            for number in range(1, round(LAG_S) + 1):
                stage.emit(RunMeasured(name, number, 500, 310_000, 62.0 + number % 3))
                stage.emit(TokenSeen(Clean("kimi-base"), Clean("bench"), 62.0))
                await asyncio.sleep(1.0)
    return {
        "p50": round(statistics.median(late), 2),
        "p95": round(quantile(late, 0.95), 2),
        "max": round(late[-1], 2),
    }


def drawing() -> dict[str, object]:
    """CPU ms of charts of 100x30 from usual and worst input, the best of five, in a child."""
    code = "import json; from tests.benchmarks.bench import chart_ms; print(json.dumps(chart_ms()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def chart_ms() -> dict[str, float]:
    """The same in this process."""
    charts.load()
    return {name: cpu_ms(draw) for name, draw in worst_inputs().items()}


def figures() -> dict[str, object]:
    """All of it."""
    return {
        "decode_rate_against_the_servers_own": decode_rate(),
        "cost": cost(),
        "gap_error": gaps(),
        "chart_build_ms_at_100x30": drawing(),
        "loop_lag_ms_at_1_hz": asyncio.run(loop_lag_ms()),
    }
