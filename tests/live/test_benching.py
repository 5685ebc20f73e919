"""Both arms of a real server measured in a script, compared, and compared again in the replay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench import real
from tests.live.fleets import ROOT, environment
from tests.rig.llama import LlamaServer
from tests.rig.sshd import Sshd

pytestmark = [pytest.mark.rig, pytest.mark.xdist_group("measure")]

PROMPT = '{"id": "ships-1", "kind": "chat", "text": "A lighthouse keeper counts the ships"}\n'
BENCH = 'bench = {{ protocol = "story", tokens = 80, prompts = "{prompts}", depth = "as is" }}'


@pytest.fixture(params=["local", "ssh"])
def through(request: pytest.FixtureRequest) -> Sshd | None:
    return request.getfixturevalue("sshd") if request.param == "ssh" else None


def fleet_of(folder: Path, urls: dict[str, str], sshd: Sshd | None) -> Path:
    """Both arms, each in a slot of its own, on one host."""
    host = "local = true"
    if sshd is not None:
        host = f'ssh = "{sshd.alias}"\nssh_config = "{sshd.ssh_config}"'
    text = f'schema = "fleet/1"\n[[host]]\nname = "box"\n{host}\n'
    for arm, url in urls.items():
        text += (
            f'[[slot]]\nname = "box:{arm}"\nhost = "box"\nport = {url.rpartition(":")[2]}\n'
            f'[[server]]\nname = "tiny-{arm}"\nslot = "box:{arm}"\narm = "{arm}"\n'
            f'engine = "llama.cpp"\nurl = "{url}"\n'
        )
    path = folder / "fleet.toml"
    path.write_text(text)
    return path


def favoured_console(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A run of the console at the priority its servers have here."""

    def first() -> None:
        real.favoured(os.getpid())

    return subprocess.run(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT, env=environment(folder), capture_output=True, text=True, check=False, timeout=90,
        preexec_fn=first,
    )  # fmt: skip


def test_a_script_measures_compares_and_the_replay_says_the_same(
    through: Sshd | None, llama_server: Callable[..., LlamaServer], tmp_path: Path
) -> None:
    urls = {}
    for arm, spec in (("baseline", False), ("speculative", True)):
        server = llama_server(spec=spec)
        server.wait_ready()
        real.favoured(server.pid)
        urls[arm] = server.url
    fleet = fleet_of(tmp_path, urls, through)
    prompts = tmp_path / "ships.jsonl"
    prompts.write_text(PROMPT)
    steps = [
        f'[[step]]\nid = "{arm[0]}"\ntarget = "tiny-{arm}"\ntimeout = "60s"\n'
        + BENCH.format(prompts=prompts)
        for arm in urls
    ]
    script = tmp_path / "script.toml"
    script.write_text(
        'schema = "script/1"\nname = "s"\n' + "\n".join(steps) + "\n"
        '[[step]]\nid = "believed"\nassume = { tok_s = 90.5, source = "a chat" }\n'
        '[[step]]\nid = "wrong"\n'
        'compare = { baseline = "believed", expect = "not comparable" }\n'
        '[[step]]\nid = "cmp"\ncompare = { expect = "FASTER" }\n'
        '[[step]]\nassert = ["${cmp.low} > 1", "${s.accept_len} > 1.5", "${b.runs} == 5"]\n'
    )
    run = favoured_console(tmp_path, "--fleet", fleet, "--script", script, "--json")
    assert run.returncode == 0, run.stderr + run.stdout
    records = [json.loads(line) for line in run.stdout.splitlines()]
    steps_done = {r["step"]: r for r in records if r["event"] == "step"}
    wrong = "NOT COMPARABLE: baseline was assumed, not measured (90.5 tok/s, a chat)"
    assert steps_done["wrong"]["results"]["line"] == wrong
    line = steps_done["cmp"]["results"]["line"]
    assert line.startswith("FASTER by ")
    replay = tmp_path / "replay.toml"
    replay.write_text('schema = "script/1"\nname = "r"\n[[step]]\nid = "cmp"\ncompare = {}\n')
    again = favoured_console(
        tmp_path, "--script", replay, "--replay", records[-1]["session"], "--json"
    )
    (told,) = [json.loads(row) for row in again.stdout.splitlines() if '"cmp"' in row]
    assert told["results"] == steps_done["cmp"]["results"]
