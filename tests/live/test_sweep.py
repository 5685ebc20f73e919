"""The sweep that comes along on the simulated box, through the public command line: from its
estimate to what ran before, and interrupted in the middle and gone on with."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.session.journal import Journal
from console.stream.run_events import ActRequested, BenchFinished
from console.stream.server_events import EnvRead
from tests.lab.running import Lab, lab
from tests.live.fleets import ROOT
from tests.live.simulated import at_scale
from tests.rig.waiting import until
from tests.services.launching import cmdline, environ

pytestmark = pytest.mark.rig

SCALE = 40.0
SAMPLE = ROOT / "sample_sessions" / "scripts" / "sweep.toml"
PROFILES = """\
schema = "profiles/1"
[[profile]]
name = "ll"
[profile.env]
NCCL_PROTO = "LL"
NCCL_ALGO = "Ring"
"""
ITEMS = """\
over = [
    { name = "low latency", profile = "ll" },
    { name = "eight at most", args = "--max-running-requests 8" },
]
"""
LL = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}
ENV = ("env", "NCCL_PROTO=LL NCCL_ALGO=Ring")
ARGS = ("args", "--max-running-requests 8")
READY = ("ready_within", "1800s")
RESTART, BENCH = "restart", "bench"
Did = tuple[str, dict[str, str]]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Lab]:
    with lab(tmp_path / "lab", scale=SCALE) as running:
        Path(running.ready["fleet"]).with_name("profiles.toml").write_text(PROFILES)
        until(lambda: up(running), what="the server of the box")
        yield running


def up(box: Lab) -> tuple[list[str], dict[str, str]] | None:
    """How the one server that runs was started: its command line, its variables of NCCL."""
    for pid in box.processes():
        words = cmdline(pid)
        if "serve" in words and any(word.endswith("/sglang") for word in words):
            held = environ(pid)
            return words, {name: held[name] for name in held if name.startswith("NCCL_")}
    return None


def sweep(box: Lab, folder: Path, *more: str | Path) -> subprocess.Popen[str]:
    """The sweep of two items under way."""
    script = folder / "sweep.toml"
    text, found = re.subn(r"over = \[\n.*?^\]\n", ITEMS, SAMPLE.read_text(), flags=re.M | re.S)
    assert found == 1
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "console", "--fleet", box.ready["fleet"], "--script", script,
         "--lab-scale", str(SCALE), "--apply", "--yes-target", "kimi-base",
         "--var", "protocol=look", *more],
        cwd=ROOT, env=at_scale(SCALE, folder),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def did(session: Path) -> list[Did]:
    """Acts with what they were given, and benchmarks with what the launcher of their server had."""
    found: list[Did] = []
    held: dict[str, str] = {}
    for event in Journal(session).events():
        match event:
            case EnvRead(source="launcher"):
                held = {str(name): str(value) for name, value in event.values}
            case ActRequested():
                found.append((str(event.verb), {str(k): str(v) for k, v in event.arguments}))
            case BenchFinished(valid=True):
                found.append((BENCH, {k: v for k, v in held.items() if k.startswith("NCCL_")}))
    return found


def test_each_is_launched_and_measured_and_what_ran_before_runs_again(
    box: Lab, tmp_path: Path
) -> None:
    before = up(box)
    night = tmp_path / "night.toml"
    out, err = (process := sweep(box, tmp_path, "--record", night)).communicate(timeout=200)
    assert process.returncode == 0, err
    lines = err.splitlines()
    assert re.search("2 rounds, .* for 3 loads and 2 benchmarks.*how long kimi-base", lines[0])
    *rounds, last = did(night)
    assert rounds == [
        ("adopt", {}),
        (RESTART, dict([ENV, READY])),
        (BENCH, LL),
        (RESTART, dict([ARGS, READY])),
        (BENCH, {}),
    ]
    assert last[0] == RESTART
    assert last[1]["recipe"].endswith(".recipe")
    assert up(box) == before
    told = out.splitlines()
    assert [re.sub(r"[\d.]+ (tok/s .*|s)$", "", line) for line in told] == [
        "1. low latency: b1: kimi-base (baseline) ",
        "2. eight at most: b2: kimi-base (baseline) ",
        "kimi-base again as before: ready after ",
    ]


def test_interrupted_in_the_middle_it_goes_on_and_does_nothing_twice(
    box: Lab, tmp_path: Path
) -> None:
    before = up(box)
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    process = sweep(box, tmp_path, "--record", first)
    assert process.stderr is not None
    begun = (line for line in process.stderr if re.search("load  process .* was started", line))
    next(begun), next(begun)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert re.search(r"left in phase load: process \d+ was started and goes on$", err, re.M)
    assert "interrupted; kimi-base " in err
    assert "what ran before is not running again yet: --resume goes on" in err
    assert f"go on with: --resume {first}" in err
    assert up(box) != before
    done = did(first)
    assert done[1:] == [(RESTART, dict([ENV, READY])), (BENCH, LL), (RESTART, dict([ARGS, READY]))]
    process = sweep(box, tmp_path, "--record", second, "--resume", first)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert re.search(
        r"1 round, 1 done before, .* minute for 2 loads and 1 benchmark$",
        err.splitlines()[0],
    )
    *rounds, last = did(second)
    assert rounds == [(RESTART, dict([ARGS, READY])), (BENCH, {})]
    assert last[0] == RESTART
    assert last[1]["recipe"].endswith(".recipe")
    assert up(box) == before
    assert "(done before)" in out.splitlines()[0]
