"""Timing all-reduces: with a stand-in torch that takes known times, hangs, fails; and refused while
the GPUs are in use. Without a GPU every line says so."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from console.nccl.timing import NO_GPU, Size, Timing, lines, ranked
from console.services.allreduce import read_timing
from console.services.allreduce_script import look_argv, model_of, program_of
from tests.live.fleets import ROOT
from tests.rig import stand_in_torch
from tests.rig.ports import free_port
from tests.rig.waiting import until

pytestmark = pytest.mark.rig

PROFILES = """\
schema = "profiles/1"
[[profile]]
name = "low"
[profile.env]
NCCL_PROTO = "LL"
[[profile]]
name = "simple"
[profile.env]
NCCL_PROTO = "Simple"
"""


class Box:
    """This machine as a host with one slot, and a console that times all-reduces on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.pids = folder / "pids"
        self.pids.mkdir()
        (folder / "model").mkdir()
        config = {"text_config": {"hidden_size": 512}, "vision_config": {"hidden_size": 64}}
        (folder / "model" / "config.json").write_text(json.dumps(config))
        (folder / "profiles.toml").write_text(PROFILES)
        url = f"http://127.0.0.1:{self.port}"
        launch = [sys.executable, "-m", "sglang.launch_server", "--model-path", "model"]
        drafts = [*launch, "--speculative-num-draft-tokens", "2"]
        (folder / "fleet.toml").write_text(
            'schema = "fleet/1"\n[[host]]\nname = "box"\nlocal = true\n'
            f'[[slot]]\nname = "s"\nhost = "box"\ngpus = [0, 1]\nport = {self.port}\n'
            '[[server]]\nname = "base"\nslot = "s"\narm = "baseline"\nengine = "sglang"\n'
            f'url = "{url}"\nrecipe = {{ argv = {json.dumps(launch)}, cwd = "{folder}" }}\n'
            '[[server]]\nname = "spec"\nslot = "s"\narm = "speculative"\nengine = "sglang"\n'
            f'url = "{url}"\nrecipe = {{ argv = {json.dumps(drafts)}, cwd = "{folder}" }}\n'
        )

    def command(self, *arguments: str) -> list[str]:
        fleet = str(self.folder / "fleet.toml")
        argv = [sys.executable, "-m", "console", "probe", "allreduce", "base", *arguments]
        return [*argv, "--fleet", fleet]

    def environment(self, stand_in: str, path: str = "") -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(Path(stand_in_torch.__file__).parent),
            "STAND_IN": stand_in,
            "STAND_IN_PIDS": str(self.pids),
            "NCCL_PROTO": "Simple",
            "PATH": path + os.environ["PATH"],
        }

    def probe(
        self, *arguments: str, stand_in: str = "", path: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env=self.environment(stand_in, path),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def running(self) -> list[str]:
        """Ranks that started and still run."""
        return [one.name for one in self.pids.iterdir() if Path("/proc", one.name).exists()]


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_profiles_are_ranked_by_the_time_of_an_all_reduce(box: Box) -> None:
    took = "LL=200,Simple=2000,=800"
    done = box.probe("low", "simple", "--seconds", "0.4", stand_in=took)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert all(row.startswith(NO_GPU) for row in (*rows, *done.stderr.splitlines()))
    assert "tok/s" not in done.stdout + done.stderr
    order = [row.removeprefix(NO_GPU).split() for row in rows[-4:-1]]
    assert [words[1] for words in order] == ["low", "no", "simple"]
    assert rows[-1].startswith(f"{NO_GPU}base: low is fastest, 2")
    assert "512 x 2 bytes x 1…2 tokens" in done.stderr
    assert [row.count("(1,024 B)") for row in rows].count(1) == 3
    assert [row.count("(2,048 B)") for row in rows].count(1) == 3
    assert "2 ranks, torch 0.0+standin" in rows[0]


def test_a_hang_ends_at_the_limit_and_leaves_nothing(box: Box) -> None:
    done = box.probe("--limit", "2", "--json", stand_in="hang")
    assert done.returncode == 5, done.stderr
    told = json.loads(done.stdout)
    assert "stopped at its limit of 2 s" in told["text"]
    assert len(list(box.pids.iterdir())) == 2
    assert box.running() == []


def test_why_a_rank_failed_is_told(box: Box) -> None:
    done = box.probe(stand_in="fail")
    assert done.returncode == 3
    assert "rank 1 failed: RuntimeError: no interface has that name" in done.stderr
    assert box.running() == []


def test_ranks_end_with_a_console_that_is_killed(box: Box) -> None:
    argv, env = box.command("--limit", "5"), box.environment("hang")
    with subprocess.Popen(argv, cwd=ROOT, env=env, start_new_session=True) as console:
        until(lambda: len(box.running()) == 2, 30, "both ranks run")
        os.killpg(console.pid, signal.SIGKILL)
    assert console.returncode == -signal.SIGKILL
    until(lambda: box.running() == [], 30, "no rank is left")


def test_it_is_refused_while_a_server_uses_the_gpus(box: Box) -> None:
    with socket.create_server(("127.0.0.1", box.port)):
        done = box.probe()
    assert done.returncode == 6
    assert f"a server uses the GPUs: something listens on port {box.port}" in done.stderr
    tool = box.folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "--query-gpu=*) echo 0, GPU-a, 10; echo 1, GPU-b, 9000;;\n"
        "--query-compute-apps=*) echo GPU-b, 4321, python, 8990;;\nesac\n"
    )
    tool.chmod(0o755)
    done = box.probe(path=f"{tool.parent}:")
    assert done.returncode == 6
    assert "GPU 1 is in use by process 4321" in done.stderr
    assert list(box.pids.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nowhere"], 2, 'no profile is named "nowhere"'),
        (["--tokens", "900"], 2, "tokens: a number from 0 to 64 was expected, not 900"),
        (["--python", "/no/such/python"], 6, "there is no /no/such/python on the host"),
        (["--python", "/bin/true"], 6, "/bin/true is no Python program"),
    ],
)
def test_what_cannot_be_timed(box: Box, arguments: list[str], code: int, told: str) -> None:
    done = box.probe(*arguments)
    assert done.returncode == code
    assert told in done.stderr


def test_a_script_times_and_uses_the_fastest(box: Box) -> None:
    script = box.folder / "s.toml"
    script.write_text(
        'schema = "script/1"\nname = "p"\ntargets = ["base"]\n'
        '[[step]]\nid = "fast"\n'
        'probe = { what = "allreduce", profiles = "low simple", seconds = 0.2 }\n'
        '[[step]]\nassert = "${fast.fastest} == low"\n'
        '[[step]]\nassert = "${fast.backend} == gloo"\n'
    )
    argv = [sys.executable, "-m", "console", "--script", str(script), "--no-record"]
    done = subprocess.run(
        [*argv, "--fleet", str(box.folder / "fleet.toml")],
        cwd=ROOT,
        env=box.environment("LL=200,Simple=2000,=800"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("argv", "program", "model"),
    [
        ("python3 -m vllm.entrypoints.openai.api_server --model /m", "python3", "/m"),
        ("env A=b -u C numactl --cpunodebind=0 /v/bin/python x.py -m /m", "/v/bin/python", "/m"),
        ("vllm serve --model=/m", "vllm", "/m"),
        ("sglang serve --model-path /m --tp 8", "sglang", "/m"),
        ("NCCL_PROTO=LL python -m sglang.launch_server", "python", ""),
        ("", "", ""),
    ],
)
def test_program_and_model_of_a_recipe(argv: str, program: str, model: str) -> None:
    assert (program_of(argv.split()), model_of(argv.split())) == (program, model)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (f"#!{sys.executable}", f"@python {sys.executable}"),
        ("#!/usr/bin/env python3", "@python /"),
        ("#!/bin/sh", "@none "),
        ("\x7fELF\x02\x01\0\0", "@none "),
    ],
)
def test_the_python_of_a_program_is_in_its_first_line(
    tmp_path: Path, first: str, told: str
) -> None:
    program = tmp_path / "vllm"
    program.write_text(f"{first}\nx\n")
    program.chmod(0o755)
    argv = look_argv([str(program), "serve"], "", "")
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(told)
    assert done.stdout.endswith("@end\n")


def timing(profile: str, *medians: float, why: str = "", gpu: bool = True) -> Timing:
    sizes = tuple(Size(n, n * 14_336, m, m * 0.9, m * 1.1, 100) for n, m in enumerate(medians, 1))
    return Timing(profile, gpu, 8, "2.8", "2.27.7", sizes, why)


def test_the_order_is_by_the_geometric_mean_and_says_what_is_no_difference() -> None:
    given = [timing("a", 100, 400), timing("b", 90, 90), timing("c", 1, why="hung")]
    given.append(timing("d", 95, 90))
    assert [one.profile for one in ranked(given)] == ["b", "d", "a"]
    told = lines(given)
    assert "3. a" in told[-1]
    assert "200.0 us  +122.2%" in told[-1]
    assert "within its spread" not in told[-1]
    assert "within its spread" in told[-2]
    assert any(line == "c: 8 ranks, torch 2.8, NCCL 2.27.7: hung" for line in told)


def test_what_is_no_record_is_passed_over() -> None:
    blank = Timing("p", True, 8)
    size = {"kind": "size", "tokens": 1, "bytes": 2, "median_us": 3, "p10_us": 2, "p90_us": 4}
    rows = ["NCCL version 2.27.7", "{", "[1]", json.dumps(size), json.dumps(size | {"calls": 9})]
    found = read_timing(blank, "\n".join([*rows, '{"kind": "end"}']).encode(), "exit 0")
    assert (len(found.sizes), found.why) == (1, "")
    cut = read_timing(blank, "\n".join(rows).encode(), "exit 137")
    assert (len(cut.sizes), cut.why) == (1, "exit 137")
    assert read_timing(blank, b'{"kind": "end"}', "").why == "no size was timed"
