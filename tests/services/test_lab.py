"""A simulated server from its launch to its end, watched as a real one would be."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from console.model.clock import Pace
from console.model.fleet import Arm, LogId
from console.stream.fact import Standing
from console.stream.logs import lines
from console.stream.server_events import (
    ArmSeen,
    LoadAdvanced,
    LoadEnded,
    TokenSeen,
)
from tests.lab.simulated import EAGLE, simulated
from tests.rig.waiting import auntil
from tests.services.lab_watching import SCALE, generate, watching


async def test_from_launch_over_tokens_and_a_stuck_scheduler_to_the_end(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE) as server:
        async with watching(server) as (watch, seen):
            await auntil(lambda: seen.standing() is Standing.IDLE, 20, "idle")
            loads = [e for e in seen.items if isinstance(e, LoadAdvanced)]
            phases = list(dict.fromkeys(str(e.phase) for e in loads))
            # What stands in the log before it is followed comes at once, as its newest phase.
            assert phases[0] in ("arguments", "distributed")
            assert "weights" in phases
            assert any(e.total for e in loads)
            (ended,) = [e for e in seen.items if isinstance(e, LoadEnded)]
            assert ended.ready
            await auntil(
                lambda: any(isinstance(e, ArmSeen) and e.server == "base" for e in seen.items)
            )
            arms = {e.server: e.arm for e in seen.items if isinstance(e, ArmSeen)}
            assert arms == {"spec": Arm.SPECULATIVE, "base": None}
            await auntil(lambda: "not loaded" in seen.why("base"))
            assert seen.why("base").startswith("not loaded: the slot runs EAGLE3")

            assert await generate(server, 400) == 200
            assert Standing.GENERATING in seen.standings("spec")
            tokens = [e for e in seen.items if isinstance(e, TokenSeen)]
            assert {e.source for e in tokens} == {"/metrics"}
            assert any(e.decode_tok_s for e in tokens)
            assert any(e.accept_len and e.accept_len > 1.5 for e in tokens)

            server.switch(stuck=True)
            asking = asyncio.create_task(generate(server, 100))
            await auntil(lambda: seen.standing() is Standing.STALLED, 20, "stalled")
            assert "no token" in seen.why()
            server.switch(stuck=False)
            assert await asking == 200
            await auntil(
                lambda: seen.standing() in (Standing.GENERATING, Standing.IDLE), 20, "well again"
            )

            await watch.pause("base")
            asked = seen.timeline.seq
            count = server.log.count("GET /")
            assert await generate(server, 100) == 200
            assert server.log.count("GET /") == count
            assert seen.timeline.seq > asked
            watch.resume("spec")

            running = asyncio.create_task(generate(server, 3000))
            await auntil(lambda: seen.standing() is Standing.GENERATING, 20, "generating")
            os.kill(server.process.pid, signal.SIGTERM)
            await auntil(lambda: seen.standing() is Standing.DRAINING, 20, "draining")
            assert await running == 200
            await auntil(lambda: seen.standing() is Standing.DOWN, 20, "down")


async def test_out_of_memory_while_loading_ends_it_with_its_reason(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, fault="cuda-oom") as server:
        async with watching(server) as (_, seen):
            await auntil(lambda: "CUDA out of memory" in seen.why(), 20, "the reason")
            assert seen.standing() is Standing.DOWN
            end = seen.timeline.state.servers["spec"].load_end
            assert end is not None
            assert end.first_line is not None
            held = lines(
                seen.timeline.logs, LogId("spec"), end.first_line, end.first_line + end.line_count
            )
            assert any("torch.OutOfMemoryError" in line for line in held)


async def test_a_rank_that_is_killed_while_serving_is_named(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=SCALE, dies_after_s=20.0) as server:
        async with watching(server) as (_, seen):
            await auntil(lambda: seen.standing() is Standing.DOWN and "exit code" in seen.why(), 25)
            assert "scheduler_0" in seen.why()
            assert Standing.IDLE in seen.standings("spec")


async def test_a_load_that_stands_still_stalls(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, scale=200.0, never_ready="graphs") as server:
        async with watching(server, Pace().scaled(200)) as (_, seen):
            await auntil(lambda: seen.standing() is Standing.STALLED, 25, "stalled")
            assert seen.why().startswith("loading: no progress for over 5 min in ")
