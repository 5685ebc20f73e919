"""A real server and its real log on screen, in a script and in a session, here and over SSH."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.text import plain
from console.session.journal import Journal
from console.session.player import Player
from console.stream.fact import Standing
from console.stream.fold import fold_all
from console.stream.server_events import HealthSeen, LogAdvanced, StandingChanged
from console.stream.state import Item, Jump, State
from tests.live.fleets import ROOT, console, environment, fleet_file, script_file
from tests.live.screens import PACE, shown
from tests.rig.llama import LlamaServer
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig


@pytest.fixture(params=["local", "ssh"])
def through(request: pytest.FixtureRequest) -> Sshd | None:
    """The way to the box: none for this machine itself, or a real sshd."""
    return request.getfixturevalue("sshd") if request.param == "ssh" else None


@pytest.fixture
def slow_server(llama_slow_folder: Path, tmp_path: Path) -> Iterator[LlamaServer]:
    """A server that is not started yet, whose load can be watched."""
    server = LlamaServer(llama_slow_folder, tmp_path / "server.log")
    yield server
    server.stop()


def test_a_script_sees_refused_503_200_and_the_log(
    through: Sshd | None, slow_server: LlamaServer, tmp_path: Path
) -> None:
    fleet = fleet_file(tmp_path, slow_server.url, slow_server.log, through)
    wait = 'wait = {{ until = "{}", every = "10ms" }}\ntimeout = "30s"'
    script = script_file(
        tmp_path,
        'id = "down"\n' + wait.format("down"),
        'id = "loading"\n' + wait.format("starting"),
        'id = "up"\n' + wait.format("alive"),
        'id = "ready"\nwait = { until = "log:/listening on/" }\ntimeout = "10s"',
        'id = "last"\ntail = { lines = 2 }',
        f'save = "{tmp_path / "saved.toml"}"',
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "console", "--fleet", fleet, "--script", script, "--json"],
        cwd=ROOT, env=environment(tmp_path), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    records = []
    for line in run.stdout:
        records.append(json.loads(line))
        if records[-1].get("step") == "down" and "exit" in records[-1]:
            slow_server.start()
    assert run.wait(60) == 0
    steps = {record["step"]: record for record in records if record["event"] == "step"}
    assert steps["down"]["results"]["failure"] == "refused"
    assert steps["loading"]["results"]["code"] == 503
    assert steps["up"]["results"]["code"] == 200
    assert steps["last"]["lines"] == slow_server.log.read_text().splitlines()[-2:]
    check_replay(tmp_path / "saved.toml", Path(records[-1]["session"]), tmp_path)


def check_replay(saved: Path, session: Path, tmp_path: Path) -> None:
    """The session, replayed headless, ends in the same State, event for event."""
    journal = Journal(session)
    assert not journal.losses()
    assert journal.closed
    assert session.stat().st_mode & 0o777 == 0o600
    assert session.read_bytes().startswith(saved.read_bytes())
    written = list(journal.events(bulk=True))
    codes = [event.code for event in written if isinstance(event, HealthSeen)]
    assert codes == sorted(codes, key=[None, 503, 200].index)
    assert {None, 503, 200} == set(codes)
    standings = [event.standing for event in written if isinstance(event, StandingChanged)]
    order = [Standing.DOWN, Standing.STARTING, Standing.ALIVE, Standing.GENERATING, Standing.IDLE]
    assert list(dict.fromkeys(standings)) == order[: len(dict.fromkeys(standings))]
    assert Standing.ALIVE in standings
    items: list[Item] = []
    player = Player(journal, items.append, lambda _: None)
    player.advance(journal.length_us)
    bare = [replace(e, lines=()) if isinstance(e, LogAdvanced) else e for e in written]
    assert items == bare
    player.seek(journal.length_us // 2)
    jump = items[-1]
    assert isinstance(jump, Jump)
    assert jump.state == fold_all(State(), [e for e in bare if e.t_us <= jump.at_us])
    script = script_file(
        tmp_path,
        'wait = { until = "health" }\ntimeout = "60s"',
        'wait = { until = "log:/listening on/" }\ntimeout = "60s"',
        "tail = { lines = 2 }",
    )
    again = console(tmp_path, "--script", script, "--replay", session)
    assert again.returncode == 0, again.stderr


async def test_the_screen_shows_standing_and_log_lines(
    through: Sshd | None, slow_server: LlamaServer, tmp_path: Path
) -> None:
    fleet = fleet_file(tmp_path, slow_server.url, slow_server.log, through)
    pace = replace(PACE, health_starting_s=0.01)
    async with shown(fleet, tmp_path / "s.toml", pace=pace) as screen:
        await screen.wait_for("down", "the log does not exist")
        slow_server.start()
        await screen.wait_for("◔")
        await screen.wait_for("idle", "listening on http://")
        slow_server.kill()
        await screen.wait_for("○ down")
    lines = [
        plain(line)
        for event in Journal(tmp_path / "s.toml").events(bulk=True)
        if isinstance(event, LogAdvanced)
        for line in event.lines
    ]
    assert lines == slow_server.log.read_text().splitlines()


async def test_a_script_has_a_real_server_make_one_token(
    llama_server: Callable[..., LlamaServer], tmp_path: Path
) -> None:
    server = llama_server()
    await server.ready()
    fleet = fleet_file(tmp_path, server.url, None)
    script = script_file(tmp_path, 'id = "token"\ngenerate = {}')
    run = await asyncio.to_thread(console, tmp_path, "--fleet", fleet, "--script", script, "--json")
    assert run.returncode == 0, run.stderr
    step = next(
        record
        for record in map(json.loads, run.stdout.splitlines())
        if record["event"] == "step" and "exit" in record
    )
    assert step["results"]["path"] == "/v1/completions"
    assert step["results"]["wait_us"] > 0
    server.kill()
    run = await asyncio.to_thread(console, tmp_path, "--fleet", fleet, "--script", script)
    assert run.returncode == 4
    assert "no token: connection refused" in run.stdout + run.stderr
