"""Every switch of the lab, as the console's own services see a server on which it is thrown."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from dataclasses import fields
from pathlib import Path

from console.lab.premises import lay_host
from console.lab.switches import Switches
from console.model.clock import Pace
from console.stream.fact import Standing
from console.stream.host_events import GpuHeld
from console.stream.server_events import HealthSeen, LoadAdvanced, LoadEnded, TokenSeen
from tests.lab.simulated import EAGLE, alive, make_site, simulated
from tests.rig.waiting import auntil
from tests.services.lab_watching import SCALE, Seen, generate, watching

LATE_S = 30.0


async def standing(seen: Seen, *wanted: Standing) -> None:
    await auntil(lambda: seen.standing() in wanted, LATE_S, f"{wanted} in {seen.standings()}")


async def test_fault(tmp_path: Path) -> None:
    """One that ends a running server; every other one is in test_reading and tests/lab."""
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True) as server:
        async with watching(server) as (_, seen):
            await standing(seen, Standing.IDLE, Standing.ALIVE)
            server.switch(fault="illegal-access")
            await standing(seen, Standing.DOWN)
            assert "illegal memory access" in seen.why()


async def load_took_us(folder: Path, load: str, weights_s: float = 0.0) -> int:
    await asyncio.to_thread(folder.mkdir)
    with simulated(folder, *EAGLE, scale=10.0, tp=1, load=load, weights_s=weights_s) as server:
        async with watching(server, Pace().scaled(10)) as (_, seen):
            await auntil(lambda: seen.of(LoadEnded), LATE_S, "the end of the load")
            (ended,) = seen.of(LoadEnded)
            assert ended.ready
            return ended.took_us


async def test_load(tmp_path: Path) -> None:
    """Cold weights take three times as long: 23 s of a real server more, here two, by the stamps
    of its log, which are whole seconds."""
    warm_us = await load_took_us(tmp_path / "warm", "warm")
    cold_us = await load_took_us(tmp_path / "cold", "cold")
    assert cold_us - warm_us >= 1e6


async def test_weights_s(tmp_path: Path) -> None:
    """Weights of 60 s in place of warm ones of a dozen: here five more, by whole seconds."""
    warm_us = await load_took_us(tmp_path / "warm", "warm")
    slow_us = await load_took_us(tmp_path / "slow", "warm", 60.0)
    assert slow_us - warm_us >= 3e6


async def test_never_ready(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=200.0, tp=2, never_ready="graphs") as server:
        async with watching(server, Pace().scaled(200)) as (_, seen):
            await standing(seen, Standing.STALLED)
            assert seen.why().startswith("loading: no progress for over 5 min in ")
            assert not seen.of(LoadEnded)


async def test_dies_after_s(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True, dies_after_s=40.0) as server:
        async with watching(server) as (_, seen):
            await standing(seen, Standing.DOWN)
            await auntil(lambda: "scheduler_0" in seen.why(), LATE_S, "which one died")


async def test_stuck(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True) as server:
        async with watching(server) as (_, seen):
            await standing(seen, Standing.IDLE)
            server.switch(stuck=True)
            await standing(seen, Standing.STALLED)
            assert re.search(r"no token came back for 2\d s \(503\)", seen.why())
            server.switch(stuck=False)
            await standing(seen, Standing.IDLE, Standing.ALIVE)


async def test_slow_rank(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=4, slow_rank=1) as server:
        async with watching(server) as (_, seen):
            await auntil(lambda: seen.of(LoadEnded), LATE_S, "the end of the load")
            slowest = [event.slowest for event in seen.of(LoadAdvanced) if event.slowest]
            assert "target 3/4 ranks, waiting for TP1" in slowest


async def test_slowdown(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True) as server:
        async with watching(server) as (_, seen):

            async def rate() -> float:
                before = len(seen.of(TokenSeen))
                assert await generate(server, 1500) == 200
                await auntil(
                    lambda: any(event.decode_tok_s for event in seen.of(TokenSeen)[before:]),
                    LATE_S,
                    "a rate",
                )
                rates = [e.decode_tok_s for e in seen.of(TokenSeen)[before:] if e.decode_tok_s]
                return max(rates)

            await standing(seen, Standing.IDLE)
            fast = await rate()
            server.switch(slowdown=4.0)
            await auntil(lambda: _slower(rate, fast), LATE_S, "less than half the rate")


async def _slower(rate: Callable[[], Awaitable[float]], fast: float) -> bool:
    return await rate() < fast / 2


async def test_foreign_probe_s(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True, foreign_probe_s=2.0) as server:
        async with watching(server) as (_, seen):
            await standing(seen, Standing.IDLE)
            await auntil(lambda: server.log.count("10.0.0.7:") >= 3, LATE_S, "its probes")
            assert seen.standing() is Standing.IDLE  # its tokens are nobody's work


async def test_other_process(tmp_path: Path) -> None:
    make_site(tmp_path, SCALE)
    tools = lay_host(make_site(tmp_path / "tools", SCALE)) / "bin"
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True, other_process=True) as server:
        (tmp_path / "tools" / "control.json").write_text((tmp_path / "control.json").read_text())
        async with watching(server, tools=tools) as (_, seen):
            await auntil(
                lambda: any(
                    event.gpu == 3 and "91022" in str(event.held) for event in seen.of(GpuHeld)
                ),
                LATE_S,
                "who holds GPU 3",
            )


async def test_orphans(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True, orphans=True) as server:
        ranks = [pid for title, pid in server.ready().children().items() if "sglang" in title]
        try:
            async with watching(server) as (_, seen):
                await standing(seen, Standing.IDLE)
                os.kill(server.process.pid, signal.SIGKILL)
                # The port is held by those left: it takes a connection and says nothing.
                await standing(seen, Standing.DEGRADED, Standing.STALLED)
                assert all(map(alive, ranks))
        finally:
            for pid in ranks:
                os.kill(pid, signal.SIGKILL)


async def test_static_health(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, tp=2, past=True, static_health=True) as server:
        async with watching(server) as (_, seen):
            await standing(seen, Standing.IDLE)
            assert "this path does not ask the engine" in seen.why()
            assert all(e.wait_us * SCALE < 1e6 for e in seen.of(HealthSeen) if e.code == 200)


def test_every_switch_has_a_case() -> None:
    assert [field.name for field in fields(Switches) if f"test_{field.name}" not in globals()] == []
