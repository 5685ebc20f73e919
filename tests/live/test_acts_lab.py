"""Acts on the lab's servers: eight ranks, GPU memory, simulated faults, over its own SSH."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from console.lab.switches import set_switches
from console.model.clock import Pace
from console.model.exits import Exit
from console.stream.run_events import ActAdvanced
from tests.lab.running import Lab, lab
from tests.live.acting import acting
from tests.rig.process import runs
from tests.services.launching import cmdline, environ

pytestmark = pytest.mark.xdist_group("acts")

SCALE = 40.0
# What is killed is waited for on the machine's own time: a stand-in for nvidia-smi takes a while.
PACE = replace(Pace().scaled(SCALE), kill_grace_s=15.0)
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
            before = ranks(running)
            assert len(before) == 8
            # Loads take longer than that: a deadline only warns while something moves.
            again = await console.do(
                "restart", "kimi-base", env=PLAN, see="ranks nccl", ready_within=10
            )
            assert again.exit is Exit.OK, again.text
            assert not any(map(runs, before))
            now = ranks(running)
            assert len(now) == 8
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
