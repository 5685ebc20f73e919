"""Acts on the lab's servers: eight ranks, GPU memory, simulated faults, over its own SSH."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from console.control.port import Argument
from console.lab.switches import set_switches
from console.model.clock import Pace
from console.model.exits import Exit
from console.stream.fact import Standing
from console.stream.run_events import ActAdvanced
from tests.lab.running import Lab, lab
from tests.live.acting import Console, Person, acting
from tests.rig.process import runs
from tests.rig.waiting import auntil
from tests.services.launching import cmdline, environ

pytestmark = pytest.mark.xdist_group("acts")

SCALE = 40.0
PACE = Pace().scaled(SCALE)
PLAN = "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_MAX_NCHANNELS=16"
YES = ("--apply", "--yes-target", "kimi-base", "--yes-target", "kimi-eagle3")


def ranks(running: Lab) -> list[int]:
    """The ranks of every server of the lab."""
    found = []
    for pid in running.processes():
        try:
            title = cmdline(pid)[:1]
        except OSError:
            continue
        if title and title[0].startswith("sglang::scheduler"):
            found.append(pid)
    return found


def tracker(running: Lab) -> dict[str, str]:
    """The environment in effect: that of the one child which shows it whole."""
    for pid in running.processes():
        if any("resource_tracker" in word for word in cmdline(pid)):
            return environ(pid)
    raise AssertionError("no resource tracker runs")


def plan_of(held: dict[str, str]) -> list[str]:
    """The variables of the plan as they are there, in its order."""
    return [f"{name}={held.get(name)}" for name in (pair.split("=")[0] for pair in PLAN.split())]


async def test_the_variables_of_the_plan_come_back_into_every_rank_and_the_arms_change(
    tmp_path: Path,
) -> None:
    with lab(tmp_path / "lab", scale=SCALE) as running:
        fleet = Path(running.ready["fleet"])
        async with acting(fleet, *YES, pace=PACE) as console:
            # A rank takes its name a moment after it has begun to work.
            await auntil(lambda: len(ranks(running)) == 8)
            before = ranks(running)
            # Loads take longer than that: a deadline only warns while something moves.
            again = await console.do(
                "restart", "kimi-base", env=PLAN, see="ranks nccl", ready_within=10
            )
            assert again.exit is Exit.OK, again.text
            assert not any(map(runs, before))
            await auntil(lambda: len(ranks(running)) == 8)
            now = ranks(running)
            assert PLAN.split() == plan_of(tracker(running))
            assert all(PLAN.split() == plan_of(environ(pid)) for pid in now)
            assert tracker(running)["HF_HUB_OFFLINE"] == "1"
            # What NCCL wrote into files of its own is what the truth table has for its log.
            said = console.live.timeline.state.servers["kimi-base"].envs["nccl log"]
            assert said.pid in now
            assert PLAN.split() == plan_of({str(n): str(v) for n, v in said.values})
            session = {os.getsid(pid) for pid in now}
            assert session == {again.results["pid"]}
            loads = [item.text for item in console.items if isinstance(item, ActAdvanced)]
            assert any(text.startswith("weights") for text in loads)
            assert sum("but it moves: " in text for text in loads) == 1

            refused = await console.do("launch", "kimi-eagle3")
            assert refused.exit is Exit.GUARD
            assert "kimi-base is up in this slot" in refused.text

            set_switches(tmp_path / "lab", "kimi-eagle3", fault="cuda-oom")
            back = await console.do("swap", "kimi-eagle3", on_fail="rollback")
            assert back.exit is Exit.ROLLED_BACK, back.text
            assert "CUDA out of memory on GPU" in back.text
            assert "rolled back: kimi-base runs as before" in back.text
            assert any("CUDA out of memory" in line for line in back.lines)
            now = ranks(running)
            assert len(now) == 8
            assert PLAN.split() == plan_of(tracker(running))

            set_switches(tmp_path / "lab", "kimi-eagle3", fault="")
            swapped = await console.do("swap", "kimi-eagle3")
            assert swapped.exit is Exit.OK, swapped.text
            stopped = await console.do("stop", "kimi-eagle3")
            assert stopped.exit is Exit.OK, stopped.text
            assert stopped.text.endswith("GPU memory released")
            assert ranks(running) == []


async def test_orphans_of_a_killed_launcher_are_ended_before_anything_is_launched(
    tmp_path: Path,
) -> None:
    with lab(tmp_path / "lab", "--switch", "kimi-base.orphans=on", scale=SCALE) as running:
        fleet = Path(running.ready["fleet"])
        async with acting(fleet, *YES, pace=PACE) as console:
            first = await console.do("restart", "kimi-base")
            assert first.exit is Exit.OK, first.text
            os.kill(int(first.results["pid"]), 9)
            refused = await console.do("launch", "kimi-base")
            assert refused.exit is Exit.GUARD, refused.text
            assert len(ranks(running)) == 8
            again = await console.do("restart", "kimi-base", kill_after=30)
            assert again.exit is Exit.OK, again.text
            assert len(ranks(running)) == 8
            assert {os.getsid(pid) for pid in ranks(running)} == {again.results["pid"]}


async def test_a_cold_load_of_25_minutes_goes_on_as_long_as_it_moves_and_outlives_its_console(
    tmp_path: Path,
) -> None:
    scale = 150.0
    # A busy machine may hold everything up for longer than two of its own seconds.
    pace = replace(Pace().scaled(scale), stall_s=15.0)
    with lab(tmp_path / "lab", scale=scale) as running:
        fleet = Path(running.ready["fleet"])
        set_switches(tmp_path / "lab", "kimi-base", weights_s=1_500.0)
        async with acting(fleet, *YES, pace=pace) as console:
            cold = await console.do("restart", "kimi-base", on_fail="rollback")
            assert cold.exit is Exit.OK, cold.text
            assert int(cold.results["ready_us"]) > 1_500 / scale * 1e6
            loads = [item.text for item in console.items if isinstance(item, ActAdvanced)]
            (late,) = [text for text in loads if "but it moves: " in text]
            assert late.startswith("not ready after 6 s, but it moves: weights ")
            asked = asyncio.ensure_future(console.do("restart", "kimi-base"))
            await auntil(lambda: str(far(console)).startswith("weights"), 30, "loading")
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            outcome, text = console.ends()[-1]
            assert outcome == "interrupted"
            pid = int(text.split("process ")[1].split()[0])
            assert text == f"left in phase load: process {pid} was started and goes on"
        set_switches(tmp_path / "lab", "kimi-base", weights_s=0.0)
        person = Person(lambda _question: None)
        async with acting(fleet, "--apply", ask=person, pace=pace) as again:
            state = again.live.timeline.state
            await auntil(
                lambda: again.live.timeline.state.standing("kimi-base") is Standing.STARTING,
                20,
                "found in the middle of its load",
            )
            state = again.live.timeline.state
            load = state.servers["kimi-base"].load
            assert load is not None
            assert (load.phase, load.total) == ("weights", 64)
            refused = await again.do("launch", "kimi-base")
            assert refused.exit is Exit.GUARD
            assert "kimi-base still loads in this slot" in refused.text
            assert runs(pid)


async def test_the_guard_of_a_step_is_held_against_what_runs_before_anything_is_changed(
    tmp_path: Path,
) -> None:
    with lab(tmp_path / "lab", "--switch", "kimi-base.slowdown=50", scale=SCALE) as running:
        await auntil(lambda: len(ranks(running)) == 8)
        before = ranks(running)
        async with acting(Path(running.ready["fleet"]), *YES, pace=PACE) as console:
            idle: dict[str, Argument] = {"guard.idle": 1}
            when = datetime.now(UTC) + timedelta(hours=2)
            window = f"{when:%H:%M}-{when + timedelta(hours=1):%H:%M}"
            late = await console.live.do("restart", "kimi-base", {"guard.window": window})
            assert late.exit is Exit.GUARD
            assert f"UTC, outside its window {window}" in late.text
            await auntil(lambda: answers(console), 30, "the server")
            body = {"text": "a", "sampling_params": {"max_new_tokens": 4000, "ignore_eos": True}}
            base = f"http://127.0.0.1:{running.port}"
            async with httpx.AsyncClient(timeout=60) as client:
                asked = asyncio.ensure_future(client.post(f"{base}/generate", json=body))
                await auntil(lambda: busy(client, base), 30, "a request that runs")
                for given in (idle, {"guard.max_running": 0}):
                    refused = await console.live.do("restart", "kimi-base", given)
                    assert refused.exit is Exit.GUARD, refused.text
                    assert re.search("guard: (not idle: )?1 requests run", refused.text)
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
            assert ranks(running) == before
            assert "requested" not in [text for _, text in console.ends()]


async def answers(console: Console) -> bool:
    """Whether it is up."""
    return (await console.do("health", "kimi-base")).ok


async def busy(client: httpx.AsyncClient, base: str) -> bool:
    """Whether the server's own figures say that something runs."""
    said = (await client.get(f"{base}/metrics")).text
    return re.search(r"^sglang:num_running_reqs\{[^}]*\} 1", said, re.M) is not None


def far(console: Console) -> str:
    """What was said last of an act."""
    said = [item.text for item in console.items if isinstance(item, ActAdvanced)]
    return str(said[-1]) if said else ""
