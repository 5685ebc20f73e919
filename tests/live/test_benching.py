"""Both arms of a real server measured in a script, compared, and compared again in the replay."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.session.journal import Journal
from console.stream.run_events import RunMeasured
from tests.bench import real
from tests.live.fleets import ROOT, environment
from tests.rig.llama import LlamaServer
from tests.rig.sshd import Sshd

pytestmark = [pytest.mark.rig, pytest.mark.alone]

PROMPT = '{"id": "ships-1", "kind": "chat", "text": "A lighthouse keeper counts the ships"}\n'
BENCH = 'bench = {{ tokens = 120, runs = 6, prompts = "{prompts}", depth = "as is" }}'


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
    if through is not None:
        real.favoured(through.pid)
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
        '[[step]]\nassert = ["${cmp.low} > 1", "${s.accept_len} > 1.5", "${b.runs} == 6"]\n'
    )
    run = favoured_console(tmp_path, "--fleet", fleet, "--script", script, "--json")
    assert run.returncode == 0, run.stderr + run.stdout
    assert re.search(r"note: the benchmark takes (under a|about \d+) minute", run.stderr)
    told = r"  b +bench tiny-baseline  run 3 of 6 · [\d.]+ m?s · about [\d.]+ m?s left"
    assert re.search(told, run.stderr), run.stderr
    records = [json.loads(line) for line in run.stdout.splitlines()]
    far = [r["text"] for r in records if r["event"] == "progress" and r["step"] == "s"]
    assert any(text.startswith("run 6 of 6 · ") for text in far)
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


def test_two_servers_that_are_up_are_measured_by_turns(
    llama_server: Callable[..., LlamaServer], tmp_path: Path
) -> None:
    urls = {}
    for arm, spec in (("baseline", False), ("speculative", True)):
        server = llama_server(spec=spec)
        server.wait_ready()
        real.favoured(server.pid)
        urls[arm] = server.url
    fleet = fleet_of(tmp_path, urls, None)
    prompts = tmp_path / "ships.jsonl"
    prompts.write_text(PROMPT)
    saved = tmp_path / "s.toml"
    run = favoured_console(
        tmp_path, "bench", "tiny-baseline", "--against", "tiny-speculative", "--fleet", fleet,
        "--tokens", "120", "--runs", "4", "--prompts", prompts, "--depth", "as is",
        "--save", saved, "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (told["bench"], told["against"]["bench"]) == ("b1", "s2")
    order = [
        event.bench[0]
        for event in Journal(saved).events()
        if isinstance(event, RunMeasured) and not event.warm_up
    ]
    assert "".join(order) == "bssbbssb"
    compared = favoured_console(tmp_path, "compare", saved, saved)
    assert compared.stdout.startswith("FASTER by "), compared.stdout
    assert "the arms ran one after the other" not in compared.stdout
    wrong = favoured_console(
        tmp_path, "bench", "tiny-baseline", "--against", "tiny-basline", "--fleet", fleet
    )
    assert wrong.returncode == 2
    assert 'against: no other server "tiny-basline" (tiny-speculative)' in wrong.stderr


def test_a_deadline_keeps_the_runs_and_ends_with_its_code(
    llama_server: Callable[..., LlamaServer], tmp_path: Path
) -> None:
    server = llama_server()
    server.wait_ready()
    fleet = fleet_of(tmp_path, {"baseline": server.url}, None)
    prompts = tmp_path / "ships.jsonl"
    prompts.write_text(PROMPT)
    script = tmp_path / "script.toml"
    script.write_text(
        'schema = "script/1"\nname = "s"\n[[step]]\ntarget = "tiny-baseline"\ntimeout = "3s"\n'
        f'bench = {{ tokens = 20, runs = 100, prompts = "{prompts}", depth = "as is" }}\n'
    )
    saved = tmp_path / "s.toml"
    run = favoured_console(
        tmp_path, "--fleet", fleet, "--script", script, "--record", saved, "--json"
    )
    assert run.returncode == 5, run.stderr
    journal = Journal(saved)
    (bench,) = journal.state_before(len(journal.index)).benches.values()
    assert bench.finished is not None
    assert bench.finished.why.startswith("cancelled; ")
    assert len(bench.runs) > 3
