"""Bad days in a script: each a clear word, a documented exit code, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.fleets import ROOT, console, environment, fleet_file, script_file
from tests.rig.http import (
    BROKEN,
    SSH_BANNER,
    TEN_MEGABYTES,
    UNAUTHORIZED,
    Behaviour,
    Endless,
    ScriptedHttp,
)
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd
from tests.rig.waiting import until

pytestmark = pytest.mark.rig

HEALTH = 'health = {}\ntimeout = "3s"'


def ended(done: subprocess.CompletedProcess[str], *said: str) -> int:
    """The exit code of what said all this, and no traceback."""
    for words in said:
        assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done.returncode


@pytest.mark.parametrize(
    ("behaviour", "code", "said"),
    [
        (BROKEN, 1, "/health 500 in"),
        (UNAUTHORIZED, 1, "/health 401 in"),
        (SSH_BANNER, 3, "not HTTP"),
        (Endless(every_s=0.1), 5, "health: not within 3 s"),
        (TEN_MEGABYTES, 0, "body longer than 65,536 bytes"),
        (Endless(), 0, "body longer than 65,536 bytes"),
    ],
    ids=["500", "401", "not-http", "slowly-endless", "ten-megabytes", "endless"],
)
def test_what_a_server_answers(
    scripted_http: ScriptedHttp, tmp_path: Path, behaviour: Behaviour, code: int, said: str
) -> None:
    scripted_http.default = behaviour
    fleet = fleet_file(tmp_path, scripted_http.url, None)
    done = console(tmp_path, "--fleet", fleet, "--script", script_file(tmp_path, HEALTH))
    assert ended(done, said) == code


def test_a_refused_port(tmp_path: Path) -> None:
    fleet = fleet_file(tmp_path, f"http://127.0.0.1:{free_port()}", None)
    done = console(tmp_path, "--fleet", fleet, "--script", script_file(tmp_path, HEALTH))
    assert ended(done, "/health refused after") == 4


def test_an_unknown_and_a_changed_host_key_are_told_apart(
    sshd: Sshd, scripted_http: ScriptedHttp, tmp_path: Path
) -> None:
    fleet = fleet_file(tmp_path, scripted_http.url, None, sshd)
    script = script_file(tmp_path, HEALTH)
    known = sshd.fingerprint
    sshd.forget_host()
    unknown = console(tmp_path, "--fleet", fleet, "--script", script)
    assert ended(unknown, "host key unknown", known) == 4
    sshd.trust_host()
    sshd.new_host_key()
    changed = console(tmp_path, "--fleet", fleet, "--script", script)
    assert ended(changed, "host key changed", known, sshd.fingerprint) == 4
    assert scripted_http.requests == []


def test_sshd_that_is_not_there(sshd: Sshd, scripted_http: ScriptedHttp, tmp_path: Path) -> None:
    fleet = fleet_file(tmp_path, scripted_http.url, None, sshd)
    sshd.stop()
    done = console(tmp_path, "--fleet", fleet, "--script", script_file(tmp_path, HEALTH))
    assert ended(done, "refused") == 4


@pytest.mark.parametrize("way", ["local", "ssh"])
def test_a_missing_and_an_unreadable_log(
    request: pytest.FixtureRequest, scripted_http: ScriptedHttp, tmp_path: Path, way: str
) -> None:
    sshd = request.getfixturevalue("sshd") if way == "ssh" else None
    script = script_file(tmp_path, "tail = {}")
    missing = fleet_file(tmp_path, scripted_http.url, tmp_path / "none.log", sshd)
    done = console(tmp_path, "--fleet", missing, "--script", script)
    assert ended(done, "none.log: ") == 3
    folder = fleet_file(tmp_path, scripted_http.url, tmp_path, sshd)
    done = console(tmp_path, "--fleet", folder, "--script", script)
    assert ended(done, f"{tmp_path}: ") == 3
    without = fleet_file(tmp_path, scripted_http.url, None, sshd)
    done = console(tmp_path, "--fleet", without, "--script", script)
    assert ended(done, "tiny has no log in the fleet file") == 3


def test_sshd_killed_mid_tail_is_said_and_nothing_is_lost(
    sshd: Sshd, scripted_http: ScriptedHttp, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text("one\n")
    fleet = fleet_file(tmp_path, scripted_http.url, log, sshd)
    wait = 'wait = {{ until = "log:/{}/", every = "50ms" }}\ntimeout = "30s"'
    script = script_file(
        tmp_path, wait.format("^one$"), wait.format("^two$"), 'id = "all"\ntail = { lines = 9 }'
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "console", "--fleet", fleet, "--script", script],
        cwd=ROOT, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert run.stderr is not None
    told = []
    for line in run.stderr:
        told.append(line)
        if "step1" in line and "passed" in line:
            assert until(sshd.kill_sessions, 10) >= 1
            with log.open("a") as more:
                more.write("two\n")
    out = run.stdout.read() if run.stdout else ""
    assert run.wait(30) == 0, "".join(told)
    assert out == "one\ntwo\n"
    assert any("link lost" in line for line in told)
    assert any("0 lost" in line for line in told)


def test_a_signal_ends_a_script_in_order(tmp_path: Path) -> None:
    fleet = fleet_file(tmp_path, f"http://127.0.0.1:{free_port()}", None)
    script = script_file(tmp_path, 'wait = { until = "health", every = "20ms" }\ntimeout = "60s"')
    run = subprocess.Popen(
        [sys.executable, "-m", "console", "--fleet", fleet, "--script", script],
        cwd=ROOT, env=environment(tmp_path), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None
    assert "until health" in run.stderr.readline()
    until(lambda: any((tmp_path / "state" / "sessions").glob("*.toml")), 10)
    run.terminate()
    told = run.stderr.read()
    assert run.wait(20) == 130
    assert "interrupted; tiny" in told
    assert "session: " in told
    (session,) = (tmp_path / "state" / "sessions").glob("*.toml")
    assert "closed    in order" in console(tmp_path, "session", "info", session).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fleet", "none.toml"], "none.toml:1:1: no such file"),
        ([], "no fleet.toml here or in the configuration folder"),
    ],
)
def test_no_fleet_file(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = console(tmp_path, *arguments, "--script", script_file(tmp_path, HEALTH))
    assert ended(done, said) == 2


def test_a_session_that_cannot_be_written(scripted_http: ScriptedHttp, tmp_path: Path) -> None:
    fleet = fleet_file(tmp_path, scripted_http.url, None)
    script = script_file(tmp_path, HEALTH)
    taken = tmp_path / "taken.toml"
    taken.write_text("mine")
    done = console(tmp_path, "--fleet", fleet, "--script", script, "--record", taken)
    assert ended(done, "file exists") == 2
    assert taken.read_text() == "mine"
    (tmp_path / "state").write_text("a file where the folder should be")
    done = console(tmp_path, "--fleet", fleet, "--script", script)
    assert ended(done, "going on without a recording") == 0
    assert os.path.isfile(tmp_path / "state")
