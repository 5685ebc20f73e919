"""Scripts without a screen: golden output, exit codes, standard output kept apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORY = ROOT / "sample_sessions" / "story.toml"
CHECK = ROOT / "sample_sessions" / "scripts" / "check.toml"
GOLDEN = Path(__file__).parent / "golden"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def golden(name: str, text: str) -> None:
    """Compare with a committed file; UPDATE_GOLDEN=1 writes it anew."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_the_deciding_step_of_the_story() -> None:
    done = run("--script", CHECK, "--replay", STORY)
    golden("check.out", done.stdout)
    golden("check.err", done.stderr)
    assert done.returncode == 0
    assert not [char for char in done.stdout + done.stderr if ord(char) < 32 and char != "\n"]


def test_json_lines() -> None:
    done = run("--script", CHECK, "--replay", STORY, "--json", "--quiet")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    ready = next(record for record in records if record.get("step") == "ready" and "exit" in record)
    assert ready["results"]["code"] == 200
    assert ready["utc"] == "2026-02-24T17:01:13.819829+00:00"
    assert records[-1] == {
        "event": "end", "exit": 0, "passed": 3, "failed": 0, "left_out": 0, "session": "",
        "t_us": 763819829, "utc": "2026-02-24T17:01:13.819829+00:00",
    }  # fmt: skip
    assert done.stderr == ""


def script(tmp_path: Path, *steps: str) -> Path:
    path = tmp_path / "s.toml"
    head = 'schema = "script/1"\nname = "s"\ntargets = ["kimi-base"]\n'
    path.write_text(head + "".join(f"[[step]]\n{step}\n" for step in steps))
    return path


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        ("health = {}", 4, "/health refused after 0.000 s: connection refused"),
        ('health = { path = "/nosuch" }', 3, "kimi-base: no /nosuch answer in this recording"),
        ('target = "kimi-eagle3"\ntail = {}', 3, "kimi-eagle3: no log in this recording"),
        ('wait = { until = "stalled" }\ntimeout = "2h"', 5, "the recording ends before it holds"),
        (
            'target = "kimi-eagle3"\nwait = { until = "stalled" }\ntimeout = "60s"',
            5,
            "not within 60 s",
        ),
        ('wait = { until = "alive" }\ntimeout = "300s"', 0, "but it moves: loading: weights"),
        ('marker = "x"', 6, "this is a replay: nothing new can be recorded"),
        ('assert = ["1 == 2"]', 1, "1 == 2 fails: 1 == 2"),
        ('id = "w"\nwait = { until = "log:/fired up and ready/" }\ntimeout = "900s"', 0, "passed"),
        ("helth = {}", 2, 's.toml:5:1: "helth" is no verb (did you mean "health"?)'),
    ],
)
def test_exit_codes(tmp_path: Path, step: str, code: int, said: str) -> None:
    done = run("--script", script(tmp_path, step), "--replay", STORY)
    assert said in done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_a_failed_step_stops_the_rest_but_what_always_runs(tmp_path: Path) -> None:
    target = tmp_path / "copy.toml"
    path = script(
        tmp_path,
        'id = "a"\nassert = ["1 == 2"]',
        'id = "b"\nhealth = {}',
        f'id = "c"\nalways = true\nsave = "{target}"',
        'id = "d"\nassert = ["${b.code} == 200"]\nalways = true',
    )
    done = run("--script", path, "--replay", STORY)
    assert done.returncode == 1
    assert "b          health: left out  a step before it failed" in done.stderr
    assert "${b.code} fails" not in done.stdout
    assert "${b.code} has no value" in done.stderr
    assert target.exists()
    assert "1 passed, 2 failed, 1 left out  exit 1: an assertion failed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--script", "none.toml", "--replay", str(STORY)], "none.toml:1:1: no such file"),
        (["--script", str(CHECK), "--replay", "none.toml"], "none.toml: no such file"),
        (["--script", str(CHECK), "--replay", str(CHECK)], "not a session file"),
        (["--nosuch"], "unrecognized arguments: --nosuch"),
        (["--script", str(CHECK), "--replay", str(STORY), "--var", "x"], "NAME=VALUE was expected"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) <= 2


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    path = script(
        tmp_path, *['wait = { until = "health" }\ntimeout = "900s"', "tail = { lines = 40 }"]
    )
    piped = f"{sys.executable} -m console --script {path} --replay {STORY} | true"
    done = subprocess.run(
        ["sh", "-c", piped], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


def test_without_a_terminal_the_console_names_the_script_option() -> None:
    done = run("--replay", STORY)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "--script" in done.stderr
    assert done.stdout == ""


def test_a_dry_run_looks_and_leaves_out_what_would_be_waited_for(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        'id = "up"\nwait = { until = "alive" }\ntimeout = "900s"',
        'assert = ["${up.code} == 200", "1 == 1"]',
        'save = "${run.id}.toml"',
    )
    done = run("--script", path, "--replay", STORY, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("not done: dry run") == 2
    assert "3 passed, 0 failed" in done.stderr
    said = "1 held; ${up.code} == 200 not looked at: ${up.code} has no value"
    assert f"assert: passed  {said}" in done.stderr
    wrong = script(tmp_path, 'assert = ["1 == 2"]')
    assert run("--script", wrong, "--replay", STORY, "--dry-run").returncode == 1


def test_fail_fast_and_stall_in_a_recording(tmp_path: Path) -> None:
    wait = 'wait = { until = "health", every = "10s" }\ntimeout = "900s"\n'
    path = script(tmp_path, wait + 'fail_fast = ["log:/fired up/"]')
    done = run("--script", path, "--replay", STORY)
    assert done.returncode == 3
    assert "wait ended: log:/fired up/ in kimi-base: " in done.stderr
    path = script(tmp_path, wait + 'stall = "20s"')
    done = run("--script", path, "--replay", STORY)
    assert done.returncode == 5
    assert "wait ended: nothing moved for 20 s" in done.stderr
