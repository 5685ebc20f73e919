"""The six variables of the story, lost and restored, on the simulated fleet: seen from outside
with commands, a script and a search, over real SSH connections."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.running import Lab, lab
from tests.live.fleets import ROOT
from tests.live.screens import shown
from tests.rig.waiting import until

pytestmark = pytest.mark.rig

SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    with lab(tmp_path / "lab") as running:
        night = Night(running)
        night.until_ready()
        yield night


class Night:
    """The lab and a console beside it that keeps its state in the lab's folder."""

    def __init__(self, running: Lab) -> None:
        self.lab = running
        self.fleet = Path(running.ready["fleet"])
        self.base = next(s for s in running.fleet["server"] if s["name"] == "kimi-base")

    def console(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        state = {"SPEC_CONSOLE_STATE": str(self.fleet.parent / "console-state")}
        return subprocess.run(
            [sys.executable, "-m", "console", *arguments],
            cwd=ROOT,
            env={**os.environ, **state},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def env(self, *arguments: str, code: int = 0) -> str:
        done = self.console("env", *arguments, "--fleet", str(self.fleet))
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def truth(self, code: int) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.env("truth", "kimi-base", "--json", code=code))
        return told

    def ssh(self, command: str) -> str:
        config = self.lab.ready["ssh_config"]
        argv = ["ssh", "-F", config, "-o", "StrictHostKeyChecking=no", "gpu8", command]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
        return done.stdout

    def ready(self) -> bool:
        url = f"http://127.0.0.1:{self.lab.port}/health"
        script = f"import urllib.request as u; print(u.urlopen({url!r}, timeout=5).status)"
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        return done.stdout == "200\n"

    def until_ready(self) -> None:
        until(self.ready, 30, "the simulated server is ready")

    def relaunch(self, pid: int, env: dict[str, str]) -> None:
        """End the launcher and start its recipe again, with these variables before it."""
        self.ssh(f"kill -9 {pid}")
        recipe = self.base["recipe"]
        words = [*(f"{name}={value}" for name, value in env.items()), *recipe["argv"]]
        given = f"env $(cat {shlex.quote(recipe['env_file'])}) {shlex.join(words)}"
        log = shlex.quote(self.base["log"])
        self.ssh(f"cd {shlex.quote(recipe['cwd'])}; setsid nohup {given} >{log} 2>&1 </dev/null &")
        self.until_ready()


def verdicts(told: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["verdict"] for row in told["rows"] if row["name"] in SIX}


def test_lost_and_restored(night: Night) -> None:
    plan = night.lab.ready["plan"]
    night.env("import", plan, "--save", "llring", "--server", "kimi-base")

    lost = night.truth(code=1)
    assert verdicts(lost) == dict.fromkeys(SIX, "lost")
    whole = {one["source"]: one["completeness"] for one in lost["sources"]}
    assert whole["tracker"] == "whole"
    assert {whole[f"rank {n}"] for n in range(8)} == {"partly"}
    assert lost["decides"] == "tracker"
    assert lost["nccl"] == "2.27.7"
    assert lost["all_reduce"]["path"] == "NCCL"
    assert "PCIe-only" in lost["all_reduce"]["proof"]
    assert {one["severity"] for one in lost["findings"]} == {"note"}

    night.relaunch(lost["pid"], SIX)
    same = night.truth(code=0)
    assert verdicts(same) == dict.fromkeys(SIX, "same")
    night.env("drift", "kimi-base", "--accept")
    assert night.env("drift") == (
        "kimi-base: as in the last good run\n"
        f"kimi-eagle3: not read: not loaded: port {night.lab.port} is held by the other arm,"
        " by its arguments\n"
    )

    night.relaunch(same["pid"], {})
    told = night.env("drift", "kimi-base", code=1)
    assert "server restarted" in told
    assert "NCCL_PROTO, NCCL_ALGO and 4 more lost" in told
    table = night.env("truth", "kimi-base", code=1)
    assert table.count("✗ lost") == 6
    assert "✗ server restarted" in table


async def test_unasked_on_the_screen_and_in_the_session(
    night: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(night.fleet.parent / "console-state"))
    night.env("import", night.lab.ready["plan"], "--save", "llring", "--server", "kimi-base")
    night.relaunch(night.truth(code=1)["pid"], SIX)
    night.env("drift", "kimi-base", "--accept")
    night.relaunch(night.truth(code=0)["pid"], {})
    record = tmp_path / "s.toml"
    async with shown(night.fleet, record) as screen:
        await screen.wait_for("NCCL_PROTO, NCCL_ALGO and 4 more lost")
        await screen.pilot.press("3")
        await screen.wait_for(*(f"{name} " for name in SIX), "✗ lost", "source: resource_tracker")
        assert screen.text().count("✗ lost") == 6
    events = [block.partition("\n")[0] for block in record.read_text().split("\n[[")]
    assert any(head.startswith("drift]]") for head in events)
    assert any(head.startswith("process]]") for head in events)


def test_a_script_sees_it_and_stops(night: Night, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(
        'schema = "script/1"\nname = "env"\ntargets = ["kimi-base"]\n'
        f'[[step]]\nid = "new"\nplan = "{night.lab.ready["plan"]}"\n'
        '[[step]]\nassert = "${new.count} == 6"\n'
        '[[step]]\nid = "now"\nenv = { match = "NCCL_*" }\n'
        '[[step]]\nassert = "${now.whole} == yes"\n'
        '[[step]]\nid = "same"\nenv = { same_as = "${new.env}" }\n'
    )
    session = tmp_path / "s.toml"
    arguments = ["--fleet", str(night.fleet), "--script", str(script), "--record", str(session)]
    done = night.console(*arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NCCL_PROTO is lost" in done.stdout + done.stderr
    again = night.console("--replay", str(session), "--script", str(script))
    assert again.returncode == 1
    assert "NCCL_PROTO is lost" in again.stdout + again.stderr


def test_the_search_on_the_host_finds_the_plan(night: Night) -> None:
    plan = Path(night.lab.ready["plan"])
    out = night.env("find", str(plan.parent), "--on", "gpu8")
    assert f"{plan}:212: NCCL_PROTO=LL\n" in out
    assert f"{plan}:213: NCCL_NTHREADS=512\n" in out
