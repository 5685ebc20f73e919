"""`bench` and `compare` as a person runs them, on a real server with and without its draft."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench import real
from tests.live.fleets import ROOT, environment
from tests.rig.llama import LlamaServer
from tests.rig.ports import free_port

pytestmark = [pytest.mark.rig, pytest.mark.alone]


def start(folder: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=lambda: real.favoured(os.getpid()),
    )  # fmt: skip


def run(folder: Path, *arguments: str | Path) -> tuple[int, str, str]:
    child = start(folder, *arguments)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


@pytest.fixture
def ships(tmp_path: Path) -> Path:
    path = tmp_path / "ships.jsonl"
    path.write_text('{"id": "s", "kind": "chat", "text": "A lighthouse keeper counts the ships"}\n')
    return path


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_server_is_asked_as_clients_of_openai_ask(
    llama_server: Callable[..., LlamaServer], tmp_path: Path, ships: Path, api: str
) -> None:
    server = llama_server()
    server.wait_ready()
    real.favoured(server.pid)
    fields = ["--tokens", "60", "--runs", "2", "--protocol", "look", "--depth", "as is"]
    code, out, err = run(
        tmp_path, "bench", server.url, *fields, "--prompts", ships, "--api", api, "--json"
    )
    assert code == 0, err + out
    told = json.loads(out)
    assert [one["tokens"] for one in told["runs"]] == [60, 60, 60]


def test_two_arms_measured_saved_and_compared(
    llama_server: Callable[..., LlamaServer], tmp_path: Path, ships: Path
) -> None:
    common: list[str | Path] = ["--tokens", "80", "--prompts", ships, "--depth", "as is"]
    for arm, spec in (("baseline", False), ("speculative", True)):
        server = llama_server(spec=spec)
        server.wait_ready()
        real.favoured(server.pid)
        saved: list[str | Path] = ["--save", tmp_path / f"{arm}.toml"]
        form = ["--json"] if spec else []
        code, out, err = run(tmp_path, "bench", server.url, "--arm", arm, *common, *saved, *form)
        server.stop()
        assert code == 0, err + out
        assert "run 5 of 5" in err
        assert "about" in err
        if spec:
            told = json.loads(out)
            assert [r["tokens"] for r in told["runs"]] == [80] * 6
            assert told["figures"]["accept_len"] > 1.5
            assert told["circumstances"]["gpu"]["uuids"]
        else:
            lines = out.splitlines()
            assert lines[0].startswith("baseline: one prompt, five runs, 80 tokens")
            assert lines[1].split() == ["RUN", "TOK/S", "TTFT", "TOKENS", "ACCEPT"]
            assert [line.split()[-2] for line in lines[2:8]] == ["80"] * 6
            assert any("tok/s [" in line and "5 runs" in line for line in lines)
            assert "timed on this machine, beside the server" in lines
    files = [tmp_path / "baseline.toml", tmp_path / "speculative.toml"]
    code, out, err = run(tmp_path, "compare", *files)
    assert code == 0, err + out
    first = out.splitlines()[0]
    assert first.startswith("FASTER by ")
    code, told_out, _ = run(tmp_path, "compare", f"{files[0]}#b1", f"{files[1]}#s1", "--json")
    assert code == 0
    told = json.loads(told_out)
    assert told["lines"] == out.splitlines()
    assert told["ratio"][1] > 1
    code, page, _ = run(tmp_path, "compare", *files, "--markdown")
    assert code == 0
    assert page.startswith("## FASTER by ")
    assert page.count("\n| baseline | 5 |") == page.count("\n| speculative | 5 |") == 1
    swapped, out, _ = run(tmp_path, "compare", files[1], files[0])
    assert swapped == 0
    assert out.startswith("SLOWER by ")


def test_an_interrupt_keeps_what_was_measured(
    llama_server: Callable[..., LlamaServer], tmp_path: Path, ships: Path
) -> None:
    server = llama_server()
    server.wait_ready()
    child = start(
        tmp_path, "bench", server.url, "--tokens", "80", "--prompts", ships, "--depth", "as is",
        "--runs", "50", "--save", tmp_path / "s.toml",
    )  # fmt: skip
    assert child.stderr is not None
    assert child.stdout is not None
    for line in child.stderr:
        if "run 3 of 50" in line:
            child.send_signal(signal.SIGINT)
            break
    code = child.wait(30)
    out = child.stdout.read()
    child.stdout.close()
    child.stderr.close()
    assert code == 130
    assert "not valid: cancelled; " in out
    assert " of 50 runs count" in out
    compared, said, _ = run(tmp_path, "compare", tmp_path / "s.toml", tmp_path / "s.toml")
    assert compared in (0, 1)
    assert said


def test_a_label_is_not_believed(llama_server: Callable[..., LlamaServer], tmp_path: Path) -> None:
    server = llama_server(spec=True)
    server.wait_ready()
    code, out, err = run(tmp_path, "bench", server.url)
    assert (code, out) == (6, "")
    assert "what answers is no baseline arm: speculative" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["bench", "http://127.0.0.1:{port}"], 4, "refused"),
        (["bench", "nobody"], 2, '"nobody" is no address, and there is no fleet.toml'),
        (["bench", "http://127.0.0.1:{port}", "--depth", "9k"], 2, 'depth: "9k" is none of'),
        (["bench", "http://127.0.0.1:{port}", "--arm", "fast"], 2, "invalid choice"),
        (["compare", "none.toml", "none.toml"], 2, "none.toml: no such file"),
        (["compare", "{night}", "{night}", "--what-if", "lenght=2"], 2, '"lenght=2"'),
        (["bench", "nobody", "--launches", "x"], 2, "invalid int"),
        (["compare", "{story}#b9", "{story}"], 2, 'no benchmark, server or assumption "b9"'),
    ],
)
def test_usage_and_unreachable(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    story = ROOT / "sample_sessions" / "story.toml"
    night = ROOT / "sample_sessions" / "lab-night.toml"
    words = [word.format(port=free_port(), story=story, night=night) for word in arguments]
    got, out, err = run(tmp_path, *words)
    assert (got, out) == (code, "")
    assert said in err


def test_the_story_compares_without_circumstances_as_not_comparable(tmp_path: Path) -> None:
    story = ROOT / "sample_sessions" / "story.toml"
    code, out, _ = run(tmp_path, "compare", story, story)
    assert code == 1
    assert out.startswith("NOT COMPARABLE: ")


def test_what_ifs_of_a_recorded_night_say_what_they_are(tmp_path: Path) -> None:
    night = ROOT / "sample_sessions" / "lab-night.toml"
    asked = ["--what-if", "restored=90", "--what-if", "verify=27"]
    code, out, err = run(tmp_path, "compare", night, night, *asked)
    assert code == 0, err
    told = [line for line in out.splitlines() if line.endswith("(projection, not a measurement)")]
    assert any(
        line.startswith("if both arms ran where the baseline makes 90 tok/s: ") for line in told
    )
    assert told[-1].startswith("a draft that costs nothing: ")
