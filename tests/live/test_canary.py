"""Secrets pushed through every path into the console: none comes out of any of its paths.

They stand in the server's command line, its environment, its log, what it tells of itself, the
header of each request, an address in the log, and an error. Looked at: session, standard output
and error, JUnit and Markdown, every export, the audit, crash reports, screen and clipboard.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.model.mask import Masks
from console.store.crash import write_report
from console.ui.clipboard import Copied
from tests.lab.simulated import Simulated, simulated
from tests.live.fleets import ROOT
from tests.live.screens import PACE, shown

pytestmark = pytest.mark.rig

KEY = "Canary-api-key-5f1c77e0a9"
TOKEN = "hf_CanaryTokenInEnviron0123456789abcd"
PASSWORD = "canary-password-in-url-88"
BEARER = "CanaryBearerInTheLog.0123456789abcdef"
LATER = "sk-canary0123456789abcdefghijklmnopqr"
ALL = (KEY, TOKEN, PASSWORD, BEARER, LATER)
LINES = (
    f"downloading with HF_TOKEN={TOKEN}",
    f"mirror https://me:{PASSWORD}@mirror.example/kimi",
    f'request headers: {{"Authorization": "Bearer {BEARER}"}}',
    f"ERROR: 401 for key {LATER}",
    f"the key again, bare: {KEY}",
)
SCRIPT = """
schema = "script/1"
targets = ["kimi-base"]
on_fail = "continue"
[[step]]
id = "up"
wait = { until = "idle", every = "100ms" }
timeout = "60s"
[[step]]
env = { match = "*" }
[[step]]
env = { read = "launcher" }
[[step]]
id = "last"
tail = { lines = 2000 }
[[step]]
health = { path = "/nosuch" }
[[step]]
note = "last: ${last.last}"
[[step]]
save = "SAVED"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    folder = tmp_path_factory.mktemp("lab")
    env = {"HF_TOKEN": TOKEN, "NCCL_DEBUG": "INFO"}
    with simulated(folder / "host", "--api-key", KEY, scale=40.0, env=env, past=True) as running:
        running.ready()
        with running.log_path.open("a") as log:
            log.write("".join(f"{line}\n" for line in LINES))
        yield running


def fleet_of(folder: Path, server: Simulated) -> Path:
    path = folder / "fleet.toml"
    path.write_text(
        'schema = "fleet/1"\n[[host]]\nname = "box"\nlocal = true\n'
        f'[[slot]]\nname = "box:1"\nhost = "box"\nport = {server.port}\n'
        '[[server]]\nname = "kimi-base"\nslot = "box:1"\narm = "baseline"\nengine = "sglang"\n'
        f'url = "http://127.0.0.1:{server.port}"\nlog = "{server.log_path}"\n'
        'api_key_env = "CANARY_KEY"\n'
    )
    return path


def found_in(name: str, text: str) -> list[str]:
    return [f"{secret} in {name}" for secret in ALL if secret in text]


def test_nothing_that_a_script_leaves_behind_holds_one(server: Simulated, tmp_path: Path) -> None:
    state = tmp_path / "state"
    environment = {**os.environ, "CANARY_KEY": KEY, "SPEC_CONSOLE_STATE": str(state)}

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "console", *words],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    script, night, saved = tmp_path / "s.toml", tmp_path / "night.toml", tmp_path / "saved.toml"
    script.write_text(SCRIPT.replace("SAVED", str(saved)))
    files = ("--junit", tmp_path / "j.xml", "--summary", tmp_path / "s.md")
    fleet = fleet_of(tmp_path, server)
    done = run("--fleet", fleet, "--script", script, "--record", night, *files, "--json")
    assert '"exit": 0' in done.stdout, done.stderr
    told = {"standard output": done.stdout, "standard error": done.stderr}
    for path in (night, saved, tmp_path / "j.xml", tmp_path / "s.md"):
        told[path.name] = path.read_text()
    for form in ("jsonl", "csv", "markdown", "svg"):
        told[form] = run("session", "export", night, "--as", form).stdout
    for verb in ("info", "to-script", "follow"):
        more = ("--all",) if verb == "follow" else ()
        told[verb] = run("session", verb, night, *more).stdout
    told["truth"] = run("env", "truth", "kimi-base", "--fleet", fleet).stdout
    for path in state.rglob("*"):
        if path.is_file():
            told[f"state/{path.name}"] = path.read_text(errors="replace")
    assert not [one for name, text in told.items() for one in found_in(name, text)]
    # They did come by: what stands in their place does.
    assert night.read_text().count("<masked>") >= len(LINES)
    assert "downloading with HF_TOKEN=<masked>" in told["jsonl"]
    assert all(told.values()), [name for name, text in told.items() if not text]


async def test_neither_screen_nor_clipboard_nor_a_crash_shows_one(
    server: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(tmp_path / "state"))
    fleet = fleet_of(tmp_path, server)
    copied: list[str] = []

    def keep(text: str, *_: object) -> Copied:
        copied.append(text)
        return Copied("to the test")

    monkeypatch.setattr("console.ui.panes.log_acts.copy", keep)
    pace = replace(PACE, health_up_s=30.0, metrics_s=30.0)
    async with shown(fleet, tmp_path / "s.toml", pace=pace) as screen:
        await screen.wait_for("idle", "following")
        with server.log_path.open("a") as log:
            log.write("".join(f"{line}\n" for line in LINES))
        await screen.wait_for("the key again, bare: <masked>")
        seen = [screen.text()]
        for key in ("2", "3", "D", "1", "question_mark", "escape"):
            await screen.pilot.press(key)
            await screen.pilot.pause()
            seen.append(screen.text())
        await screen.pilot.press("2")
        for _ in LINES:
            await screen.pilot.press("K", "v", "K", "y")
            await screen.pilot.pause()
            seen.append(screen.text())
    assert copied
    assert not [one for text in (*seen, *copied) for one in found_in("the screen", text)]
    masks = Masks()
    masks.learn(KEY)
    report = write_report(ValueError(f"{KEY} {LINES}"), masks, datetime.now(UTC))
    with report.open() as file:
        assert found_in("the report", file.read()) == []
