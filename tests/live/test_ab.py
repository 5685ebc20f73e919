"""The A/B script that comes along, on two real llama.cpp servers behind a real sshd."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from console.session.journal import Journal
from tests.bench import real
from tests.live.fleets import ROOT
from tests.live.test_benching import PROMPT, favoured_console
from tests.rig.llama import LlamaServer
from tests.rig.sshd import Sshd

pytestmark = [pytest.mark.rig, pytest.mark.xdist_group("measure")]

AB = ROOT / "sample_sessions" / "scripts" / "ab.toml"


def two_servers(folder: Path, servers: Mapping[str, LlamaServer], way: str) -> Path:
    """A fleet of both arms under the names that the script has."""
    text = f'schema = "fleet/1"\n[[host]]\nname = "box"\n{way}\n'
    for name, server in servers.items():
        arm = "baseline" if name.endswith("base") else "speculative"
        text += (
            f'[[slot]]\nname = "box:{arm}"\nhost = "box"\nport = {server.port}\n'
            f'[[server]]\nname = "{name}"\nslot = "box:{arm}"\narm = "{arm}"\n'
            f'engine = "llama.cpp"\nurl = "{server.url}"\nlog = "{server.log}"\n'
        )
    path = folder / "fleet.toml"
    path.write_text(text)
    return path


def started(make: Callable[..., LlamaServer]) -> dict[str, LlamaServer]:
    found = {"kimi-base": make(spec=False), "kimi-eagle3": make(spec=True)}
    for server in found.values():
        server.wait_ready()
        real.favoured(server.pid)
    return found


def test_the_ab_script_says_faster_over_ssh_and_its_replay_and_its_script_say_so_too(
    sshd: Sshd, llama_server: Callable[..., LlamaServer], tmp_path: Path
) -> None:
    real.favoured(sshd.pid)
    way = f'ssh = "{sshd.alias}"\nssh_config = "{sshd.ssh_config}"'
    fleet = two_servers(tmp_path, started(llama_server), way)
    prompts = tmp_path / "ships.jsonl"
    prompts.write_text(PROMPT)
    given = (
        "--var",
        "protocol=story",
        "--var",
        f"prompts={prompts}",
        "--var",
        "depth=as is",
        "--var",
        "tokens=120",
    )
    page, xml = tmp_path / "verdict.md", tmp_path / "verdict.xml"
    run = favoured_console(
        tmp_path, "--fleet", fleet, "--script", AB, *given, "--json",
        "--summary", page, "--junit", xml, "--record", tmp_path / "night.toml",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr + run.stdout
    records = [json.loads(line) for line in run.stdout.splitlines()]
    steps = {record["step"]: record for record in records if record["event"] == "step"}
    assert steps["verdict"]["results"]["verdict"] == "FASTER"
    assert steps["spec"]["results"]["accept_len"] > 1.5
    assert page.read_text().splitlines()[0] == "## ab: passed"
    assert "**FASTER**" in page.read_text()
    assert 'failures="0" errors="0"' in xml.read_text()

    night = Journal(tmp_path / "night.toml")
    assert not night.losses()
    again = tmp_path / "again.toml"
    told = favoured_console(tmp_path, "session", "to-script", tmp_path / "night.toml", "-o", again)
    assert told.returncode == 0, told.stderr
    second = favoured_console(tmp_path, "--fleet", fleet, "--script", again, "--json")
    assert second.returncode == 0, second.stderr + again.read_text()
    lines = [json.loads(line) for line in second.stdout.splitlines()]
    redone = {record["step"]: record for record in lines if record["event"] == "step"}
    assert redone["verdict"]["results"]["verdict"] == "FASTER"
    assert [record["verb"] for record in redone.values()] == [r["verb"] for r in steps.values()]
